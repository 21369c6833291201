package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// What a run shows can be worked out by hand.
func TestAFleetIsAsFastAsItsFirstLimit(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		setting       setting
		least, most   float64 // messages a second
		isThrottled   bool
		requests      float64 // a message, at most
		units         float64 // a message, about
		hasDuplicates bool
	}{
		"handlers, of one message at a time":  {setting{work: claimed, environments: 10, batch: 1, partitions: warm}, 85, 100, false, 2.05, 2, false},
		"handlers, of ten at a time":          {setting{work: claimed, environments: 10, batch: 10, partitions: warm}, 800, 1000, false, 0.95, 2, false},
		"the partitions of a new table":       {setting{work: claimed, environments: 60, batch: 10, partitions: cold}, 1800, 2200, true, 6, 2, false},
		"popular keys":                        {setting{work: claimed, environments: 10, batch: 10, partitions: warm, popular: 0.2}, 750, 1000, false, 1, 2, true},
		"transactions with an item":           {setting{work: staged, environments: 10, batch: 10, partitions: warm}, 700, 1000, false, 0.8, 5, false},
		"claims and items in one transaction": {setting{work: optimistic, environments: 10, batch: 10, partitions: warm}, 700, 1000, false, 0.15, 4, false},
		"messages":                            {setting{work: announcing, environments: 10, batch: 10, partitions: warm}, 600, 1000, false, 1.3, 6, false},
		"16 partition values of the index":    {setting{work: announcing, environments: 30, batch: 10, partitions: warm, scale: 8}, 650, 1100, true, 4, 8, false},
		"64 partition values of the index": {
			setting{work: announcing, environments: 30, batch: 10, partitions: warm, scale: 8, shards: 64}, 1300, 2700, true, 3, 6.5, false,
		},
	} {
		if testing.Short() && (c.setting.batch == 1 || c.setting.environments > 10 || c.setting.work == staged) {
			continue // the others have both ways to claim, messages and popular keys
		}

		t.Run(name, func(t *testing.T) {
			t.Parallel()

			f := simulate(t, c.setting)
			if f.rate < c.least || f.rate > c.most || (f.ofTable+f.ofIndex > few) != c.isThrottled || f.requests > c.requests ||
				f.units < c.units*0.9 || f.units > c.units*1.2 || (f.duplicates > 0) != c.hasDuplicates {
				t.Errorf("got %+v", f)
			}
		})
	}
}

// A table of one partition that splits after each second of throttling takes several times as much after five.
func TestATableThatSplitsTakesMore(t *testing.T) {
	t.Parallel()

	if testing.Short() {
		t.Skip("two fleets that are throttled take seconds")
	}

	s := setting{work: claimed, environments: 30, batch: 10, partitions: 1, scale: 4}
	before := simulate(t, s)

	s.splits, s.settles = time.Second, 5*time.Second
	after := simulate(t, s)

	// A fourth of 1,000 units a second are 125 messages of two units each, and a second of a run has 25 more or less.
	if before.rate < 75 || before.rate > 175 || after.rate < 3*before.rate || before.ofTable == 0 {
		t.Errorf("%.0f messages a second, then %.0f", before.rate, after.rate)
	}
}

func TestTheFirstLimitOfTheTableIsTheOneThatTheSimulationMeets(t *testing.T) {
	t.Parallel()

	for _, n := range needs {
		if testing.Short() && n.messages > 1000 {
			continue // fleets of thirty environments and more
		}

		t.Run(thousands(n.messages)+" "+string(n.work), func(t *testing.T) {
			t.Parallel()

			s, factor := n.setting()
			f := simulate(t, s)

			if got := n.firstLimit(&f, factor); got != n.limit {
				t.Errorf("got %q, want %q: %+v", got, n.limit, f)
			}

			if n.limit == ofNewTable || n.limit == ofIndex {
				return // it is slower than the row says, and dearer
			}

			if rate := f.rate * float64(factor); rate < 0.85*float64(n.messages) || rate > 1.2*float64(n.messages)+100 {
				t.Errorf("%.0f messages a second, want about %d", rate, n.messages)
			}

			if units := n.work.wcu(); f.units < 0.9*units || f.units > 1.1*units {
				t.Errorf("%.2f units a message, want about %v", f.units, units)
			}
		})
	}
}

func TestThePageHasTheTable(t *testing.T) {
	t.Parallel()

	page, err := os.ReadFile("../../docs/scale.md")
	if err != nil {
		t.Fatal(err)
	}

	if !strings.Contains(string(page), needsTable()) {
		t.Errorf("docs/scale.md lacks the table\n%s", needsTable())
	}
}

func TestTheProgramRunsItsSettingsAndPrintsThem(t *testing.T) {
	t.Parallel()

	plot := filepath.Join(t.TempDir(), "plot.svg")

	var out strings.Builder

	run(t, &out, []setting{{work: claimed, environments: 2, batch: 1, partitions: warm}, {work: optimistic, environments: 1, batch: 1, partitions: cold}}, plot)

	if !regexp.MustCompile(`\| claim \| 2 \| 1 \| 0 % \| warm \| [12]\d \| (1\.[89]|2\.[01])\d \|`).MatchString(out.String()) ||
		!strings.Contains(out.String(), "| commit | 1 | 1 | 0 % | new |") || !strings.Contains(out.String(), needsTable()) {
		t.Errorf("printed\n%s", out.String())
	}

	if drawn, err := os.ReadFile(plot); err != nil || !strings.Contains(string(drawn), `class="b1" points="`) {
		t.Errorf("drawn: %s, %v", drawn, err)
	}
}

func TestTheReportHasEachRun(t *testing.T) {
	t.Parallel()

	if n := len(settings(false)); n != 24 {
		t.Errorf("%d settings, want 24", n)
	}

	all := []figures{
		{setting: setting{work: claimed, environments: 10, batch: 10, partitions: warm}, rate: 900, requests: 0.9, units: 2},
		{setting: setting{work: claimed, environments: 100, batch: 10, partitions: warm}, rate: 9000},
		{setting: setting{work: staged, environments: 1000, batch: 10, partitions: warm}, rate: 9000},
	}
	if got := table(all); strings.Count(got, "\n") != 5 || !strings.Contains(got, "| claim | 10 | 10 | 0 % | warm | 900 | 0.90 | 2.00 |") {
		t.Errorf("the table is\n%s", got)
	}

	if got := draw(all); !strings.Contains(got, `class="b10" points="80,203.4 280,128.4"`) || !strings.Contains(got, "prefers-color-scheme: dark") {
		t.Errorf("the plot is\n%s", got)
	}
}
