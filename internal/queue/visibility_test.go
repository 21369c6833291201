package queue

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The least and the most that rand.N returns.
func least(int32) int32 { return 0 }

func most(n int32) int32 { return n - 1 }

func TestBackoff(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		receives int
		from, to int32
	}{
		{math.MinInt, 1, 2},
		{-1, 1, 2},
		{0, 1, 2},
		{1, 1, 2},
		{2, 2, 4},
		{3, 4, 8},
		{4, 8, 16},
		{9, 256, 512},
		{10, 450, 900},
		{11, 450, 900},
		{63, 450, 900}, // a shift by 62 and more overflows
		{64, 450, 900},
		{65, 450, 900},
		{math.MaxInt, 450, 900},
	} {
		if from, to := backoff(c.receives, least), backoff(c.receives, most); from != c.from || to != c.to {
			t.Errorf("backoff(%d) is %d to %d s, want %d to %d", c.receives, from, to, c.from, c.to)
		}
	}
}

func TestBackoffProperties(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		receives := rapid.OneOf(rapid.IntRange(-2, 20), rapid.Int()).Draw(t, "receives")

		switch s := Backoff(receives); {
		case s < 1, s > backoffCap:
			t.Fatalf("Backoff(%d) = %d: not 1 s to %d s", receives, s, backoffCap)
		case s < backoff(receives, least), s > backoff(receives, most):
			t.Fatalf("Backoff(%d) = %d: out of bounds", receives, s)
		}

		if receives < math.MaxInt &&
			(backoff(receives+1, least) < backoff(receives, least) || backoff(receives+1, most) < backoff(receives, most)) {
			t.Fatalf("a later delivery than the %dth waits less", receives)
		}
	})
}

func TestBackoffIsSpread(t *testing.T) {
	t.Parallel()

	seen := map[int32]int{}
	for range 3000 {
		seen[Backoff(2)]++
	}

	for _, s := range []int32{2, 3, 4} {
		if seen[s] < 800 { // about 1000 are expected, and 800 is more than seven standard deviations away
			t.Errorf("%d s was drawn %d times of 3000", s, seen[s])
		}
	}

	if len(seen) != 3 {
		t.Errorf("drawn: %v", seen)
	}
}

// The documentation of lambdawrap.VisibilityAPI says when the fifth and the tenth delivery come.
func TestBackoffAddsUp(t *testing.T) {
	t.Parallel()

	until := func(delivery int, random func(int32) int32) (sum int32) {
		for receives := 1; receives < delivery; receives++ {
			sum += backoff(receives, random)
		}

		return sum
	}

	got := []int32{until(5, least), until(5, most), until(10, least), until(10, most)}
	if want := []int32{15, 30, 511, 1022}; !cmp.Equal(got, want) {
		t.Errorf("the fifth and the tenth delivery come after %v s, want %v", got, want)
	}
}

func TestHiddenFor(t *testing.T) {
	t.Parallel()

	const s, longest = time.Second, 41400 // 11.5 h

	for name, c := range map[string]struct {
		left time.Duration
		want int32
	}{
		"a lease that goes on":                       {30500 * time.Millisecond, 31},
		"a whole number of seconds: it must be over": {30 * s, 31},
		"a millisecond less":                         {30*s - time.Millisecond, 30},
		"a nanosecond less, the lease is kept in ms": {30*s - 1, 31},
		"a short one":                                {1500 * time.Millisecond, 2},
		"ends now":                                   {0, 1},
		"ends in a second":                           {s, 2},
		"ends in a millisecond less than a second":   {s - time.Millisecond, 1},
		"over":                            {-1, 1},
		"over for long":                   {-time.Hour, 1},
		"a past out of bounds":            {math.MinInt64, 1},
		"the most, but for a second":      {maxHidden - s, longest},
		"the most, but for a millisecond": {maxHidden - time.Millisecond, longest},
		"the most":                        {maxHidden, longest},
		"more than the most":              {12 * time.Hour, longest},
		"out of bounds":                   {math.MaxInt64, longest},
	} {
		if got := HiddenFor(c.left); got != c.want {
			t.Errorf("%s: %d s, want %d", name, got, c.want)
		}
	}
}

func TestSeconds(t *testing.T) {
	t.Parallel()

	const s, longest = time.Second, 41400 // 11.5 h

	for name, c := range map[string]struct {
		pause time.Duration
		want  int32
	}{
		"whole seconds":        {30 * s, 30},
		"a nanosecond more":    {30*s + 1, 31},
		"less than a second":   {1, 1},
		"none":                 {0, 1},
		"negative":             {-time.Hour, 1},
		"a past out of bounds": {math.MinInt64, 1},
		"the most":             {maxHidden, longest},
		"more than the most":   {maxHidden + 1, longest},
		"out of bounds":        {math.MaxInt64, longest},
	} {
		if got := Seconds(c.pause); got != c.want {
			t.Errorf("%s: %d s, want %d", name, got, c.want)
		}
	}
}

func TestHiddenForProperties(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		left := time.Duration(rapid.Int64Range(-int64(time.Minute), int64(11*time.Hour+time.Minute)).Draw(t, "left"))
		got := HiddenFor(left)
		back := time.Duration(got) * time.Second

		if got < 1 || got > 43200 {
			t.Fatalf("SQS does not take %d s", got)
		}

		if back <= left {
			t.Fatalf("comes back after %v, the lease is over after %v", back, left)
		}

		if late := back - left; got > 1 && late > time.Second+time.Millisecond {
			t.Fatalf("comes back %v late", late)
		}

		if later := HiddenFor(left + time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "more"))); later < got {
			t.Fatalf("a longer lease: %d s instead of %d", later, got)
		}
	})
}
