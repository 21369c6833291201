package main

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRenderAlignsByCharactersNotBytes(t *testing.T) {
	t.Parallel()

	var out strings.Builder

	render(&out, [][]string{
		{"", "CPU µs", "n"},
		{"a title is as long as it likes to be, and no column grows with it"},
		{"a", "1", "22.00"},
		{"long", "100000", "–"},
	}, 1)

	want := "" +
		"      CPU µs      n\n" +
		"— a title is as long as it likes to be, and no column grows with it\n" +
		"a          1  22.00\n" +
		"long  100000      –\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestRowComparesWithTheBaseOfItsLine(t *testing.T) {
	t.Parallel()

	o := &options{rounds: 1, latencies: []time.Duration{targetLatency}, handler: "noop", workload: "unique"}
	l := o.plan()[0]
	found := results{
		l.place("a"): {{requests: 2, bytes: 3000, writeUnits: 2, cpu: 400, wall: 8000, allocs: 800, allocBytes: 60_000}},
		l.place("c"): {{requests: 0.3, bytes: 900, writeUnits: 2, cpu: 100, wall: 1000, allocs: 200, allocBytes: 20_000, connections: 1}},
	}

	want := []string{"c", "library, 1", "0.30", "900", "2.00", "100", "1000", "200", "20000", "1", "0.15", "0.25", "0.12", "0.25", "–"}
	if diff := cmp.Diff(want, l.row(&variant{name: "c", label: "library", workers: 1}, found)); diff != "" {
		t.Error(diff)
	}
}

func TestNumber(t *testing.T) {
	t.Parallel()

	for want, f := range map[string]float64{"0.30": 0.3, "–": math.NaN(), "1234.00": 1234} {
		if got := number(f, 2); got != want {
			t.Errorf("number(%v, 2) = %q, want %q", f, got, want)
		}
	}
}
