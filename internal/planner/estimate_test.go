package planner

import (
	"testing"
	"time"
)

func TestTIsTheMedianOfTheLastFlights(t *testing.T) {
	t.Parallel()

	const ms = time.Millisecond

	many := func(n int, took time.Duration) []time.Duration {
		list := make([]time.Duration, n)
		for i := range list {
			list[i] = took
		}

		return list
	}

	for name, c := range map[string]struct {
		took []time.Duration
		want time.Duration
	}{
		"5 ms before a flight was answered":                  {nil, 5 * ms},
		"that of the only one":                               {many(1, 9*ms), 9 * ms},
		"the median, in whichever order they came":           {[]time.Duration{30 * ms, ms, 7 * ms}, 7 * ms},
		"one that took long changes nothing":                 {append(many(14, 4*ms), time.Hour), 4 * ms},
		"each counts as at most 100 ms":                      {many(1, time.Second), 100 * ms},
		"the last fifteen count":                             {append(many(15, 2*ms), many(8, 50*ms)...), 50 * ms},
		"and the older ones until they are the smaller half": {append(many(15, 2*ms), many(7, 50*ms)...), 2 * ms},
		"it is at least 1 ms":                                {many(1, 0), ms},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var e estimate
			for _, took := range c.took {
				e.add(took)
			}

			if got := e.t(); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestOnlyAnsweredFlightsCountForT(t *testing.T) {
	t.Parallel()

	s := newStage(t)
	s.p.times[statements] = estimate{}
	s.run("a comes, +40ms, a is lost")

	if got := s.p.times[statements].t(); got != firstT {
		t.Errorf("after a flight without an answer: got %v, want %v", got, firstT)
	}

	s.run("b comes, +40ms, b lands")

	if got := s.p.times[statements].t(); got != 40*time.Millisecond {
		t.Errorf("after a flight of 40 ms: got %v", got)
	}
}
