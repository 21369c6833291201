package main

import (
	"maps"
	"strings"
	"testing"
)

// reached is a run in which every target is reached.
func reached() results {
	at := func(handler, workload, variant string) place { return place{targetLatency, handler, workload, variant} }

	return results{
		at("noop", "unique", "a"):      {{requests: 2, writeUnits: 2, cpu: 400, wall: 7000}},
		at("noop", "unique", "b"):      {{requests: 2, writeUnits: 2, cpu: 300, wall: 1000}},
		at("noop", "unique", "c"):      {{requests: 0.3, writeUnits: 2, cpu: 100, wall: 1050}},
		at("noop", "unique", "d1"):     {{requests: 2, writeUnits: 2, cpu: 400, wall: 7000}},
		at("noop", "unique", "d10"):    {{requests: 2, writeUnits: 2, cpu: 300, wall: 1000}},
		at("noop", "first", "c"):       {{requests: 0.2, writeUnits: 2}},
		at("noop", "first", "c-cache"): {{}},
		at("noop", "again", "a"):       {{requests: 1, writeUnits: 1}},
		at("noop", "again", "c"):       {{requests: 0.1, writeUnits: 1}},
		at("noop", "hundred", "c"):     {{connections: 3}},
		at("5ms", "unique", "c"):       {{overOwn: 1.2}},
	}
}

func TestJudgeFindsAllReached(t *testing.T) {
	t.Parallel()

	targets := judge(reached())
	for _, target := range targets {
		if got := target.verdict(); got != "ok" {
			t.Errorf("%s: %s, want ok", target.what, got)
		}
	}

	if missed(targets) {
		t.Error("missed, want not")
	}
}

func TestJudgeTellsWhatIsMissed(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		handler, workload, variant string
		is                         sample
		wants                      string // the beginning of the target
		fatal                      bool
	}{
		"a slow wall is told, machines differ": {"noop", "unique", "c", sample{requests: 0.3, writeUnits: 2, wall: 2000}, "unique, no-op handler: wall", false},
		"too much CPU":                         {"noop", "unique", "c", sample{requests: 0.3, writeUnits: 2, cpu: 200}, "unique, no-op handler: CPU", false},
		"handlers waited for requests":         {"5ms", "unique", "c", sample{overOwn: 1.3}, "5 ms handler", false},
		"Single costs more than by hand":       {"noop", "unique", "d1", sample{cpu: 401}, "Single, 1 worker", false},
		"a request too many is a fault":        {"noop", "unique", "c", sample{requests: 0.4, writeUnits: 2}, "unique: requests", true},
		"a write unit too many":                {"noop", "again", "c", sample{requests: 0.1, writeUnits: 2}, "duplicate, redelivery: write units", true},
		"a write unit too few":                 {"noop", "unique", "c", sample{requests: 0.3, writeUnits: 1.9}, "unique: write units", true},
		"a request beside the cache":           {"noop", "first", "c-cache", sample{requests: 0.01}, "duplicate, first delivery, from the cache", true},
		"a connection too many":                {"noop", "hundred", "c", sample{connections: 11}, "batches of 100", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			found := maps.Clone(reached())
			found[place{targetLatency, c.handler, c.workload, c.variant}] = []sample{c.is}
			targets := judge(found)

			for _, target := range targets {
				want := "ok"
				if strings.HasPrefix(target.what, c.wants) {
					want = "MISSED"
				}

				if got := target.verdict(); got != want {
					t.Errorf("%s: %s, want %s", target.what, got, want)
				}
			}

			if got := missed(targets); got != c.fatal {
				t.Errorf("missed: %v, want %v", got, c.fatal)
			}
		})
	}
}

func TestJudgeOfNothingMissesNothing(t *testing.T) {
	t.Parallel()

	targets := judge(results{})
	for _, target := range targets {
		if got := target.verdict(); got != "not measured" {
			t.Errorf("%s: %s, want not measured", target.what, got)
		}
	}

	if missed(targets) {
		t.Error("missed, want not")
	}
}

func TestRenderTargets(t *testing.T) {
	t.Parallel()

	var out strings.Builder

	renderTargets(&out, []target{
		{what: "wall", reach: 0.15, floor: "0.10", measured: 0.2},
		{what: "cache", equal: true, floor: "0"},
	})

	want := "" +
		"what   to reach  floor known  measured\n" +
		"wall     ≤ 0.15         0.10      0.20  MISSED\n" +
		"cache    = 0.00            0      0.00      ok\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
