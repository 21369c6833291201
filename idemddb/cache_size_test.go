package idemddb

import (
	"strconv"
	"testing"
	"time"
)

func TestACacheKeepsItsSize(t *testing.T) {
	t.Parallel()

	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	c := newCache(3)
	check := func(step string, want int) {
		t.Helper()

		if len(c.byKey) != want || c.used.Len() != want {
			t.Errorf("%s: %d keys, %d records, want %d of each", step, len(c.byKey), c.used.Len(), want)
		}
	}

	for range 2 {
		c.add("k", &Record{Result: []byte("old"), ExpiresAt: now.Add(time.Hour)}, nil)
	}

	check("one record added twice", 1)

	for i := range 5 {
		c.add(strconv.Itoa(i), &Record{ExpiresAt: now.Add(time.Hour)}, nil)
	}

	check("more records than its size", 3)

	if rec, _ := c.get("4", "4", now.Add(time.Hour)); rec != nil {
		t.Errorf("got %+v, past its retention", rec)
	}

	check("a record past its retention", 2)

	fingerprint := "f"
	c.add("3", &Record{Result: []byte("new"), ExpiresAt: now.Add(time.Hour)}, &fingerprint)
	check("a record that is replaced", 2)

	if rec, got := c.get("3", "3", now); rec == nil || string(rec.Result) != "new" || got != fingerprint {
		t.Errorf("got %+v with fingerprint %q, want the newer record", rec, got)
	}
}
