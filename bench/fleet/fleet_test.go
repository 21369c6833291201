package main

import (
	"strings"
	"testing"
)

// What a run shows can be worked out by hand.
func TestAFleetIsAsFastAsItsFirstLimit(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		setting       setting
		least, most   float64 // messages a second
		isThrottled   bool
		requests      float64 // a message, at most
		hasDuplicates bool
	}{
		"handlers, of one message at a time": {setting{10, 1, warm, 0}, 85, 100, false, 2.05, false},
		"handlers, of ten at a time":         {setting{10, 10, warm, 0}, 800, 1000, false, 1.2, false},
		"the partitions of a new table":      {setting{200, 10, cold, 0}, 1900, 4100, true, 6, false},
		"popular keys":                       {setting{10, 10, warm, 0.2}, 800, 1300, false, 1.2, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			f := simulate(c.setting, 1)
			if f.rate < c.least || f.rate > c.most || (f.throttled > 0) != c.isThrottled || f.requests > c.requests || (f.duplicates > 0) != c.hasDuplicates || f.failed > 0 {
				t.Errorf("got %+v", f)
			}

			if again := simulate(c.setting, 1); again != f {
				t.Errorf("the same seed gave %+v, then %+v", f, again)
			}
		})
	}
}

func TestTheReportHasEachRun(t *testing.T) {
	t.Parallel()

	all := []figures{{setting: setting{10, 10, warm, 0}, rate: 900, requests: 0.9, units: 2}, {setting: setting{100, 10, warm, 0}, rate: 9000}}
	if got := table(all); strings.Count(got, "\n") != 4 || !strings.Contains(got, "| 10 | 10 | 0 % | 200000 | 900 | 0.90 | 2.00 |") {
		t.Errorf("the table is\n%s", got)
	}

	if got := draw(all); !strings.Contains(got, `class="b10" points="80.0,203.4 260.0,128.4 "`) || !strings.Contains(got, "prefers-color-scheme:dark") {
		t.Errorf("the plot is\n%s", got)
	}
}
