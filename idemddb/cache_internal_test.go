package idemddb

import (
	"strconv"
	"testing"

	"github.com/idemddb/go-idemddb/internal/record"
)

// ending returns a record whose retention ends then.
func ending(end int64) *record.Stored { return &record.Stored{Expires: end} }

func TestACacheKeepsItsSize(t *testing.T) {
	t.Parallel()

	c := newCache(3)
	check := func(step string, want int) {
		t.Helper()

		if len(c.byKey) != want || c.used.Len() != want {
			t.Errorf("%s: %d keys, %d records, want %d of each", step, len(c.byKey), c.used.Len(), want)
		}
	}

	for range 2 {
		c.add("k", ending(1))
	}

	check("one record added twice", 1)

	for i := range 5 {
		c.add(strconv.Itoa(i), ending(1))
	}

	check("more records than its size", 3)

	if found := c.get("4", 1); found != nil {
		t.Errorf("got %+v, whose retention has ended", found)
	}

	check("a record whose retention has ended", 2)

	c.add("3", ending(2))
	check("a record that is replaced", 2)

	if found := c.get("3", 0); found == nil || found.Expires != 2 {
		t.Errorf("got %+v, want the newer record", found)
	}
}

func TestTheRecordThatWasUsedLeastRecentlyIsDropped(t *testing.T) {
	t.Parallel()

	c := newCache(2)

	c.add("a", ending(1))
	c.add("b", ending(1))
	c.get("a", 0)
	c.add("c", ending(1))

	for key, want := range map[string]bool{"a": true, "b": false, "c": true} {
		if found := c.get(key, 0); (found != nil) != want {
			t.Errorf("%s: found %+v, want one: %t", key, found, want)
		}
	}
}

func TestACacheOfNoSizeKeepsNothing(t *testing.T) {
	t.Parallel()

	c := newCache(0)
	c.add("k", ending(1))

	if found := c.get("k", 0); found != nil || len(c.byKey) > 0 {
		t.Error("it kept a record")
	}
}
