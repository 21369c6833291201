package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"
)

// row is a line of the table.
type row struct {
	name   string
	value  func(figures) float64
	format func(float64) string
}

func milliseconds(of func(figures) time.Duration) func(figures) float64 {
	return func(f figures) float64 { return float64(of(f)) / float64(time.Millisecond) }
}

func decimals(n int, unit string) func(float64) string {
	return func(v float64) string { return strconv.FormatFloat(v, 'f', n, 64) + unit }
}

var rows = []row{
	{"requests a delivery", func(f figures) float64 { return f.requests }, decimals(2, "")},
	{"true conflicts", func(f figures) float64 { return f.conflicts }, decimals(0, "")},
	{"write units a delivery", func(f figures) float64 { return f.writeUnits }, decimals(1, "")},
	{"CPU a delivery", milliseconds(func(f figures) time.Duration { return f.cpu }), decimals(2, " ms")},
	{"wall time", milliseconds(func(f figures) time.Duration { return f.wall }), decimals(0, " ms")},
	{"p50 of a message", milliseconds(func(f figures) time.Duration { return f.p50 }), decimals(0, " ms")},
	{"p99 of a message", milliseconds(func(f figures) time.Duration { return f.p99 }), decimals(0, " ms")},
	{"came back", func(f figures) float64 { return f.cameBack }, decimals(0, "")},
}

// report prints the medians of both sides, and how they compare.
func report(out io.Writer, s settings, all map[string][]figures) error {
	accounts := fmt.Sprintf("%d accounts", s.accounts)
	if s.accounts == 0 {
		accounts = "an account for each payment"
	}

	announced := ""
	if s.announce {
		announced = "; both sides announce each payment"
	}

	if _, err := fmt.Fprintf(out,
		"%s; %d payments, %d %% of them twice, %d processes, batches of %d, %v a request, seed %d; medians of %d rounds%s\n\n%-24s%12s%12s%20s\n",
		accounts, s.payments, s.twice, s.processes, s.batch, s.latency, s.seed, s.rounds, announced,
		"", library, byHand, library+" : "+byHand); err != nil {
		return fmt.Errorf("print: %w", err)
	}

	for _, r := range rows {
		x, y := median(all[library], r.value), median(all[s.other()], r.value)

		ratio := "-"
		if y > 0 {
			ratio = decimals(2, "")(x / y)
		}

		fmt.Fprintf(out, "%-24s%12s%12s%20s\n", r.name, r.format(x), r.format(y), ratio)
	}

	fmt.Fprintln(out, "\nEvery payment is in its account exactly once, and every message was acknowledged.")

	return nil
}

func median(all []figures, value func(figures) float64) float64 {
	values := make([]float64, len(all))
	for i, f := range all {
		values[i] = value(f)
	}

	slices.Sort(values)

	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}
