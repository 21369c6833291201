package lambdawrap_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// ledger counts the effects of messages whose records are not written.
type ledger struct {
	harness *harness

	mu    sync.Mutex
	open  []string  // keys of effects without a record
	worst int       // the most of them
	known time.Time // when the wrapper knows that records do not get through; zero: not yet
	until time.Time // when they get through again
	after int       // effects between the two
}

// work is a handler whose effect happens at its end.
func (g *ledger) work(takes time.Duration) lambdawrap.Handler {
	return func(_ context.Context, m events.SQSMessage) error {
		time.Sleep(takes)

		g.mu.Lock()
		defer g.mu.Unlock()

		g.open = append(slices.DeleteFunc(g.open, func(key string) bool { return g.harness.state(key) == "COMPLETED" }), m.Body)
		g.worst = max(g.worst, len(g.open))

		if now := time.Now(); !g.known.IsZero() && now.After(g.known) && now.Before(g.until) {
			g.after++
		}

		return nil
	}
}

// refused notes that a completion has met a fault, which is known after a while and lasts for some time.
func (g *ledger) refused(after, limit time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()

	if g.known.IsZero() {
		g.known, g.until = time.Now().Add(after+moment), time.Now().Add(limit)
	}
}

// bound demands that work did not run ahead of its records: at most so many effects may follow the first refusal.
func (g *ledger) bound(limit int) {
	g.harness.Helper()

	g.mu.Lock()
	defer g.mu.Unlock()

	if g.known.IsZero() {
		g.harness.Error("no completion was refused")
	}

	if g.after > limit {
		g.harness.Errorf("%d effects after the first refusal was known, want at most %d", g.after, limit)
	}
}

// warnings is how many lines say that records do not get through.
func (h *harness) warnings() int {
	return strings.Count(h.log.String(), "records of finished work do not get through")
}

// during gives the requests of a kind a fault for some time, once the first n of them have passed.
func (g *ledger) during(limit time.Duration, n int, is func(idemddbtest.Request) bool, fault idemddbtest.Fault, after time.Duration) {
	var (
		mu    sync.Mutex
		seen  int
		begun time.Time
	)

	g.harness.db.Intercept(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
		if !is(r) {
			return idemddbtest.None
		}

		mu.Lock()
		defer mu.Unlock()

		if seen++; seen <= n {
			return idemddbtest.None
		}

		if begun.IsZero() {
			begun = time.Now()
			g.refused(after, limit)
		}

		if time.Since(begun) > limit {
			return idemddbtest.None
		}

		return fault
	})
}
