package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"
)

// line is one workload of a table, with the variants to be compared.
type line struct {
	latency  time.Duration
	handler  handlerKind
	workload workload
	variants []variant
	rounds   int
}

// place names a figure.
type place struct {
	latency                    time.Duration
	handler, workload, variant string
}

// results are the samples of each place, one a round.
type results map[place][]sample

// plan is all lines to measure, table by table.
func (o *options) plan() []line {
	var lines []line

	for _, latency := range o.latencies {
		for _, h := range handlerKinds() {
			for _, w := range workloads() {
				l := line{latency: latency, handler: h, workload: w, rounds: o.rounds}
				if w.rounds > 0 {
					l.rounds = min(o.rounds, w.rounds)
				}

				if w.rounds > 0 && o.quick {
					l.rounds = 1
				}

				if l.variants = o.chosen(&h, &w); len(l.variants) > 0 {
					lines = append(lines, l)
				}
			}
		}
	}

	return lines
}

func (o *options) chosen(h *handlerKind, w *workload) []variant {
	wanted := func(flag, name string) bool { return flag == "" || flag == name }
	if o.quick && w.extra {
		return nil
	}

	if !wanted(o.handler, h.name) || !wanted(o.workload, w.name) || !slices.Contains(h.workloads, w.name) {
		return nil
	}

	var chosen []variant

	for _, v := range variants() {
		skipped := slices.Contains(h.without, v.name) || o.quick && v.extra
		if slices.Contains(w.variants, v.name) && !skipped && wanted(o.variant, v.name) {
			chosen = append(chosen, v)
		}
	}

	return chosen
}

// tables measures and prints, a table for each latency and handler.
func tables(ctx context.Context, e *engine, o *options, out io.Writer) (results, error) {
	found := results{}

	lines := o.plan()
	for len(lines) > 0 {
		first, n := lines[0], 0
		for n < len(lines) && lines[n].latency == first.latency && lines[n].handler.name == first.handler.name {
			n++
		}

		for i := range lines[:n] {
			if err := lines[i].measure(ctx, e, o.quick, found); err != nil {
				return nil, err
			}
		}

		fmt.Fprintf(out, "\n%s\n\n", heading(lines[:n], found))
		renderFigures(out, lines[:n], found)

		lines = lines[n:]
	}

	return found, nil
}

// measure runs the rounds of one line. Each begins with another variant.
func (l *line) measure(ctx context.Context, e *engine, quick bool, found results) error {
	for round := range l.rounds {
		for i := range l.variants {
			c := cell{l.latency, l.handler, l.workload, l.variants[(round+i)%len(l.variants)], quick}

			s, err := c.measure(ctx, e)
			if err != nil {
				return err
			}

			at := l.place(c.variant.name)
			found[at] = append(found[at], s)
		}
	}

	return nil
}

func (l *line) place(variant string) place {
	return place{l.latency, l.handler.name, l.workload.name, variant}
}
