package main

import (
	"io"
	"math"
	"time"
)

// targetLatency is the latency of DynamoDB for which the targets are set.
const targetLatency = 3 * time.Millisecond

// target is one thing to reach.
type target struct {
	what     string
	reach    float64
	equal    bool   // exactly that, instead of at most
	floor    string // what is known to be possible
	timeless bool   // the same on every machine: a miss is a fault

	measured float64 // not a number: it was not
}

// verdict is what to print behind a target.
func (t *target) verdict() string {
	const grain = 1e-9

	switch {
	case math.IsNaN(t.measured), math.IsNaN(t.reach):
		return "not measured"
	case t.equal && math.Abs(t.measured-t.reach) > grain, !t.equal && t.measured > t.reach+grain:
		return "MISSED"
	default:
		return "ok"
	}
}

// missed tells whether a target is missed that does not depend on the machine.
func missed(targets []target) bool {
	for _, t := range targets {
		if t.timeless && t.verdict() == "MISSED" {
			return true
		}
	}

	return false
}

// judge puts the results beside the targets of issue 4.
func judge(found results) []target {
	at := func(handler, workload, variant string, figure func(sample) float64) []float64 {
		return pick(found[place{targetLatency, handler, workload, variant}], figure)
	}
	middle := func(workload, variant string, figure func(sample) float64) float64 {
		return median(at("noop", workload, variant, figure))
	}
	over := func(variant, base string, figure func(sample) float64) float64 {
		return ratio(at("noop", "unique", variant, figure), at("noop", "unique", base, figure))
	}
	requests := func(s sample) float64 { return s.requests }
	units := func(s sample) float64 { return s.writeUnits }
	connections := func(s sample) float64 { return s.connections }

	return []target{
		{what: "unique, no-op handler: wall, c over a", reach: 0.15, floor: "0.10", measured: over("c", "a", wall)},
		{what: "unique, no-op handler: CPU, c over a", reach: 0.25, floor: "0.15", measured: over("c", "a", cpu)},
		{what: "unique: requests a message, c", reach: 0.3, floor: "0.2", timeless: true, measured: middle("unique", "c", requests)},
		{
			what: "duplicate, first delivery: requests a message, c", reach: 0.3, floor: "0.2", timeless: true,
			measured: middle("first", "c", requests),
		},
		{
			what: "duplicate, first delivery, from the cache: requests", equal: true, floor: "0", timeless: true,
			measured: middle("first", "c-cache", requests),
		},
		{
			what: "duplicate, redelivery: requests a message, c", reach: 0.2, floor: "0.1", timeless: true,
			measured: middle("again", "c", requests),
		},
		{
			what: "5 ms handler, one at a time: wall over the handlers' own, c", reach: 1.25, floor: "1.12",
			measured: median(at("5ms", "unique", "c", overOwn)),
		},
		{
			what: "unique: write units a message, c as a", reach: middle("unique", "a", units), equal: true, floor: "=", timeless: true,
			measured: middle("unique", "c", units),
		},
		{
			what: "duplicate, redelivery: write units a message, c as a", reach: middle("again", "a", units), equal: true, floor: "=",
			timeless: true, measured: middle("again", "c", units),
		},
		{
			what: "batches of 100, 50 workers, 4,000 messages: connections, c", reach: 10, floor: "1", timeless: true,
			measured: middle("hundred", "c", connections),
		},
		{what: "Single, 1 worker: CPU, d1 over a", reach: 1, floor: "", measured: over("d1", "a", cpu)},
		{what: "Single, 10 workers: CPU, d10 over b", reach: 1, floor: "", measured: over("d10", "b", cpu)},
	}
}

// renderTargets prints the table.
func renderTargets(out io.Writer, targets []target) {
	rows := [][]string{{"what", "to reach", "floor known", "measured", ""}}

	for _, t := range targets {
		sign := "≤ "
		if t.equal {
			sign = "= "
		}

		rows = append(rows, []string{t.what, sign + number(t.reach, 2), t.floor, number(t.measured, 2), t.verdict()})
	}

	render(out, rows, 1)
}
