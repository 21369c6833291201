package lambdawrap_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// heldElsewhere claims a key as another worker does, who completes it after some time; zero: never.
func (h *harness) heldElsewhere(key string, limit time.Duration) *idemddb.Claim {
	h.Helper()

	held := claim(h, h.open(h.db, nil), key)

	if limit > 0 {
		time.AfterFunc(limit, func() {
			h.equal("the other's completion", held.Complete(context.WithoutCancel(h.Context()), nil), nil)
		})
	}

	return held
}

func TestAMessageWaitsForAKeyThatAnotherWorkerHoldsButNotLongerThanItShould(t *testing.T) {
	t.Parallel()

	const ms = time.Millisecond

	for name, c := range map[string]struct {
		wait                time.Duration
		completes, releases time.Duration // when the other does; 0 for never
		limit               time.Duration
		isDone, runs        bool
		from, to            time.Duration
	}{
		"the other completes it":        {5000 * ms, 2000 * ms, 0, 30 * time.Second, true, false, 2000 * ms, 3000 * ms},
		"the other releases it":         {5000 * ms, 0, 2000 * ms, 30 * time.Second, true, true, 2000 * ms, 3000 * ms},
		"it is not to wait":             {0, 10 * time.Second, 0, 30 * time.Second, false, false, 0, moment},
		"it waits for a millisecond":    {ms, 10 * time.Second, 0, 30 * time.Second, false, false, ms, ms + moment},
		"it waits for a while":          {1500 * ms, 10 * time.Second, 0, 30 * time.Second, false, false, 1500 * ms, 1500*ms + moment},
		"it waits for half of the time": {5000 * ms, 10 * time.Second, 0, 30 * time.Second, false, false, 5000 * ms, 5000*ms + moment},
		"the invocation ends before":    {time.Minute, 0, 0, 10 * time.Second, false, false, 0, 10 * time.Second},
	} {
		each(t, name, everyWay, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
			h.opts.Wait = c.wait
			other := h.heldElsewhere("k1", c.completes)

			if c.releases > 0 {
				time.AfterFunc(c.releases, func() { other.Release(context.WithoutCancel(h.Context()), nil) })
			}

			failed, took := h.within(c.limit, wrap(succeed), numbered(3))
			h.equal("the message is done", !slices.Contains(failed, "m1"), c.isDone)
			h.equal("it runs", slices.Contains(h.runs.all(), "m1"), c.runs)
			h.equal("lines", strings.Count(h.log.String(), "outcome=in_progress"), len(failed))
			h.equal("records", []string{h.state("k0"), h.state("k2")}, []string{"COMPLETED", "COMPLETED"})
			h.lasts(took, c.from, c.to)
			h.idle()
		})
	}
}

func TestAMessageThatWaitsDoesNotStartAfterTheFirstFailure(t *testing.T) {
	everyMode(t, func(h *harness) {
		ends := h.outcomes()
		h.opts.Wait, h.opts.StopAtFailure = 20*time.Second, true
		h.heldElsewhere("k0", 0)

		h.answeredIn(30*time.Second, h.handle(failWith(errBank)), numbered(2), messageIDs(2)...)
		h.sorted("ends", ends, "m0 blocked", "m1 released")
	})
}

// The handler runs without a claim; its commit waits.
func TestAnOptimisticMessageWaitsForAKeyThatAnotherWorkerHolds(t *testing.T) {
	everyMode(t, func(h *harness) {
		h.opts.Wait, h.opts.Optimistic = 5*time.Second, true
		h.heldElsewhere("k1", 2*time.Second)

		took := h.answeredIn(30*time.Second, h.handle(staged), numbered(3))
		h.ran("m0", "m1", "m2")
		h.lasts(took, 2*time.Second, 4*time.Second)
	})
}

// A key that another worker holds has a record. So only the first statement for it is an INSERT, and each further claim costs one
// statement.
func TestAClaimThatIsMadeAgainExpectsARecord(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(h *harness) {
		const keys = 20

		for i := range keys {
			claim(h, h.store, fmt.Sprint("k", i))
		}

		h.slowRequests(5 * time.Millisecond) // claims that come meanwhile share the next request
		h.db.ResetRequests()
		h.opts.Workers, h.opts.Wait = keys, 2*time.Second
		failed, _ := h.within(10*time.Second, h.handle(func(context.Context, events.SQSMessage) error { return nil }), numbered(keys))
		h.equal("failed", len(failed), keys)

		statements := map[string]int{}

		for _, r := range h.db.Requests() {
			for _, s := range r.Items {
				statements[s.Operation]++
			}
		}

		if statements["INSERT"] != keys || statements["UPDATE"] <= keys {
			h.Errorf("statements: %v, want one INSERT for each of %d keys", statements, keys)
		}
	})
}
