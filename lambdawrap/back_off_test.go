package lambdawrap

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestReceiveCount(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]int{
		"1": 1, "2": 2, "1000": 1000, "": 1, "0": 1, "-7": 1, "many": 1, "1.5": 1, "2nd": 1, "99999999999999999999": 1,
	} {
		if got := receiveCount(events.SQSMessage{Attributes: map[string]string{"ApproximateReceiveCount": text}}); got != want {
			t.Errorf("receiveCount of %q = %d, want %d", text, got, want)
		}
	}

	if got := receiveCount(events.SQSMessage{}); got != 1 {
		t.Errorf("receiveCount without attributes = %d, want 1", got)
	}
}

// The least and the most that rand.N returns.
func least(time.Duration) time.Duration { return 0 }

func most(d time.Duration) time.Duration { return d - 1 }

func TestBackoff(t *testing.T) {
	t.Parallel()

	const s = time.Second

	for _, c := range []struct {
		count    int
		from, to time.Duration
	}{
		{math.MinInt, 1 * s, 2 * s},
		{-1, 1 * s, 2 * s},
		{0, 1 * s, 2 * s},
		{1, 1 * s, 2 * s},
		{2, 2 * s, 4 * s},
		{3, 4 * s, 8 * s},
		{4, 8 * s, 16 * s},
		{9, 256 * s, 512 * s},
		{10, 450 * s, 900 * s},
		{11, 450 * s, 900 * s},
		{63, 450 * s, 900 * s}, // a shift by 62 and more overflows
		{64, 450 * s, 900 * s},
		{65, 450 * s, 900 * s},
		{math.MaxInt, 450 * s, 900 * s},
	} {
		if from, to := backoff(c.count, least), backoff(c.count, most); from != c.from || to != c.to {
			t.Errorf("backoff(%d) is %v to %v, want %v to %v", c.count, from, to, c.from, c.to)
		}
	}
}

func TestBackoffProperties(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		count := rapid.OneOf(rapid.IntRange(-2, 20), rapid.Int()).Draw(t, "count")
		random := rapid.SampledFrom([]func(time.Duration) time.Duration{
			rand.N[time.Duration], least, most,
			func(time.Duration) time.Duration { return math.MaxInt64 }, // whatever it returns
			func(time.Duration) time.Duration { return math.MinInt64 },
		}).Draw(t, "random")
		d := backoff(count, random)

		switch {
		case d < time.Second, d > backoffCap, d%time.Second != 0:
			t.Fatalf("backoff(%d) = %v: not whole seconds from 1 s to %v", count, d, backoffCap)
		case d < backoff(count, least), d > backoff(count, most):
			t.Fatalf("backoff(%d) = %v: out of bounds", count, d)
		case time.Duration(wholeSeconds(d))*time.Second != d:
			t.Fatalf("wholeSeconds(%v) = %d", d, wholeSeconds(d))
		}

		if count < math.MaxInt && (backoff(count+1, least) < backoff(count, least) || backoff(count+1, most) < backoff(count, most)) {
			t.Fatalf("a later delivery than the %dth waits less", count)
		}
	})
}

func TestBackoffIsSpread(t *testing.T) {
	t.Parallel()

	seen := map[time.Duration]int{}
	for range 3000 {
		seen[backoff(2, rand.N[time.Duration])]++
	}

	for _, d := range []time.Duration{2 * time.Second, 3 * time.Second, 4 * time.Second} {
		if seen[d] < 800 { // of about 1000, over seven standard deviations away
			t.Errorf("%v was drawn %d times of 3000", d, seen[d])
		}
	}

	if len(seen) != 3 {
		t.Errorf("drawn: %v", seen)
	}
}

// The documentation of VisibilityAPI says when the fifth and the tenth delivery come.
func TestBackoffAddsUp(t *testing.T) {
	t.Parallel()

	until := func(delivery int, random func(time.Duration) time.Duration) (sum time.Duration) {
		for count := 1; count < delivery; count++ {
			sum += backoff(count, random)
		}

		return sum
	}

	got := []time.Duration{until(5, least), until(5, most), until(10, least), until(10, most)}
	if want := []time.Duration{15 * time.Second, 30 * time.Second, 511 * time.Second, 1022 * time.Second}; !cmp.Equal(got, want) {
		t.Errorf("the fifth and the tenth delivery come after %v, want %v", got, want)
	}
}

func TestUntilVisible(t *testing.T) {
	t.Parallel()

	const (
		s    = time.Second
		most = 41400 // 11.5 h
	)

	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

	for name, c := range map[string]struct {
		until time.Time
		extra time.Duration
		want  int32
	}{
		"a lease that goes on":                       {now.Add(29500 * time.Millisecond), s, 31},
		"a whole number of seconds: it must be over": {now.Add(29 * s), s, 31},
		"a millisecond less":                         {now.Add(29*s - time.Millisecond), s, 30},
		"a nanosecond less, the lease is kept in ms": {now.Add(29*s - 1), s, 31},
		"no skew":                        {now.Add(1500 * time.Millisecond), 0, 2},
		"a negative skew counts as none": {now.Add(1500 * time.Millisecond), -time.Hour, 2},
		"ends now":                       {now, 0, 1},
		"ends now, and the skew":         {now, s, 2},
		"over, but not the skew":         {now.Add(-500 * time.Millisecond), 2 * s, 2},
		"over":                           {now.Add(-s), s, 1},
		"over for long":                  {now.Add(-time.Hour), s, 1},
		"no time at all":                 {time.Time{}, s, 1},
		"the epoch":                      {time.Unix(0, 0), s, 1},
		"the most":                       {now.Add(maxHidden - time.Second), 0, most},
		"more than the most":             {now.Add(12 * time.Hour), 0, most},
		"a skew that is out of bounds":   {now, math.MaxInt64, most},
		"both out of bounds":             {now.Add(math.MaxInt64), math.MaxInt64, most},
		"a past out of bounds":           {now.Add(math.MinInt64), math.MaxInt64, 1},
		"the end of time":                {time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), s, most},
		"the beginning of time":          {time.Date(-9999, 1, 1, 0, 0, 0, 0, time.UTC), s, 1},
		"as far as DynamoDB's numbers":   {time.UnixMilli(math.MaxInt64), s, most},
		"and as far back":                {time.UnixMilli(math.MinInt64), s, 1},
	} {
		if got := untilVisible(c.until, c.extra, now); got != c.want {
			t.Errorf("%s: %d s, want %d", name, got, c.want)
		}
	}
}

func TestUntilVisibleProperties(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		var (
			now   = time.UnixMilli(rapid.Int64Range(0, 4e12).Draw(t, "now"))
			left  = time.Duration(rapid.Int64Range(-int64(time.Minute), int64(11*time.Hour)).Draw(t, "left"))
			extra = time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "extra"))
			got   = untilVisible(now.Add(left), extra, now)
			back  = now.Add(time.Duration(got) * time.Second)
			over  = now.Add(left).Add(extra)
		)

		if got < 1 || got > 43200 {
			t.Fatalf("SQS does not take %d s", got)
		}

		if !back.After(over) {
			t.Fatalf("comes back at %v, the lease is over after %v", back, over)
		}

		if late := back.Sub(over); got > 1 && late > time.Second+time.Millisecond {
			t.Fatalf("comes back %v late", late)
		}

		if later := untilVisible(now.Add(left+time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "more"))), extra, now); later < got {
			t.Fatalf("a longer lease: %d s instead of %d", later, got)
		}
	})
}

func TestWholeSeconds(t *testing.T) {
	t.Parallel()

	for d, want := range map[time.Duration]int32{
		math.MinInt64: 0, -1: 0, 0: 0, 1: 1, time.Second: 1, time.Second + 1: 2, backoffCap: 900,
		maxHidden - 1: 41400, maxHidden: 41400, math.MaxInt64: 41400,
	} {
		if got := wholeSeconds(d); got != want {
			t.Errorf("wholeSeconds(%v) = %d, want %d", d, got, want)
		}
	}
}
