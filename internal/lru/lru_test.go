package lru

import (
	"strconv"
	"testing"
)

func TestACacheKeepsItsSize(t *testing.T) {
	t.Parallel()

	c := New[string](3)
	valid := func(string) bool { return true }
	check := func(step string, want int) {
		t.Helper()

		if len(c.byKey) != want || c.used.Len() != want {
			t.Errorf("%s: %d keys, %d values, want %d of each", step, len(c.byKey), c.used.Len(), want)
		}
	}

	for range 2 {
		c.Add("k", "old")
	}

	check("one value added twice", 1)

	for i := range 5 {
		c.Add(strconv.Itoa(i), "")
	}

	check("more values than its size", 3)

	if found, ok := c.Get("4", func(string) bool { return false }); ok || found != "" {
		t.Errorf("got %q, which is not valid any more", found)
	}

	check("a value that is not valid any more", 2)

	c.Add("3", "new")
	check("a value that is replaced", 2)

	if found, ok := c.Get("3", valid); !ok || found != "new" {
		t.Errorf("got %q, %t, want the newer value", found, ok)
	}
}

func TestTheValueThatWasUsedLeastRecentlyIsDropped(t *testing.T) {
	t.Parallel()

	c := New[int](2)
	valid := func(int) bool { return true }

	c.Add("a", 1)
	c.Add("b", 2)
	c.Get("a", valid)
	c.Add("c", 3)

	for key, want := range map[string]bool{"a": true, "b": false, "c": true} {
		if _, ok := c.Get(key, valid); ok != want {
			t.Errorf("%s: found %t, want %t", key, ok, want)
		}
	}
}

func TestACacheOfNoSizeKeepsNothing(t *testing.T) {
	t.Parallel()

	c := New[int](0)
	c.Add("k", 1)

	if _, ok := c.Get("k", func(int) bool { return true }); ok || len(c.byKey) > 0 {
		t.Error("it kept a value")
	}
}
