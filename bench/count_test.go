//go:build unix

package bench

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// count is a row of docs/performance.md: the same work by hand and by the library, in virtual time.
type count struct {
	name            string
	messages        int // of a round
	rounds          int // that are measured
	byHand, library open
	times           func() func() time.Duration // for how long transactions hold their items; nil: not at all
}

// open makes what a new process has: a handler with its clients.
type open func(w *world) (deliveries, error)

// deliveries are rounds of work with different messages. A round that is not prepared needs nothing before it.
type deliveries struct {
	prepare, deliver func(ctx context.Context, round int) error
}

// figures are those of one message, but for took, which is the virtual time of everything.
type figures struct {
	Requests, WriteUnits, Allocations float64
	cpu, took                         time.Duration
}

// measure counts what a side takes for the rounds of a row. The first round is not counted, because only then a process learns
// how long its requests take; very large ones have no such round.
func (c *count) measure(t *testing.T, side open) (f figures) {
	t.Helper()

	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // what happens at one instant has one order, and the engine is measured apart

	synctest.Test(t, func(t *testing.T) {
		var times func() time.Duration
		if c.times != nil {
			times = c.times()
		}

		w, err := newWorld(t.Context(), times)
		if err != nil {
			t.Fatal(err)
		}

		d, err := side(w)
		if err != nil {
			t.Fatal(err)
		}

		if c.messages <= 1000 {
			c.deliver(t, d, 0)
		}

		for round := 1; round <= c.rounds; round++ {
			c.prepare(t, d, round)
		}

		f = c.count(t, w, d)
	})

	return f
}

// count measures the rounds.
func (c *count) count(t *testing.T, w *world, d deliveries) (f figures) {
	t.Helper()
	runtime.GC()
	w.reset()

	before, began := used(), time.Now()

	for round := 1; round <= c.rounds; round++ {
		if err := d.deliver(t.Context(), round); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
	}

	f.took = time.Since(began)
	spent := used().minus(before).minus(w.engine)
	all := float64(c.messages * c.rounds)

	for _, r := range w.db.Requests() {
		f.Requests += 1 / all
		f.WriteUnits += float64(r.WriteUnits) / all
	}

	f.Allocations = float64(spent.allocations) / all
	f.cpu = spent.cpu / time.Duration(all)

	return f
}

func (c *count) prepare(t *testing.T, d deliveries, round int) {
	t.Helper()

	if d.prepare == nil {
		return
	}

	if err := d.prepare(t.Context(), round); err != nil {
		t.Fatalf("%s: prepare: %v", c.name, err)
	}
}

func (c *count) deliver(t *testing.T, d deliveries, round int) {
	t.Helper()
	c.prepare(t, d, round)

	if err := d.deliver(t.Context(), round); err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
}

// failures is the error of a batch of which messages failed.
func failures(failed, size int, err error) error {
	if err != nil || failed > 0 {
		return fmt.Errorf("%d of %d messages failed: %v", failed, size, err)
	}

	return nil
}
