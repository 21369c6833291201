package lambdawrap_test

import (
	"context"
	"fmt"
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

func TestAMessageWaitsForAKeyThatAnotherWorkerHoldsAndIsDoneWithIt(t *testing.T) {
	t.Parallel()
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		h.opts.Wait = 5 * time.Second
		h.heldElsewhere("k1", 2*time.Second)

		took := h.answeredIn(30*time.Second, wrap(succeed), numbered(3))
		h.ran("m0", "m2")

		if took < 2*time.Second || took > 3*time.Second {
			h.Errorf("it takes %v", took)
		}
	})
}

func TestAMessageWhoseKeyIsReleasedWhileItWaitsRuns(t *testing.T) {
	t.Parallel()
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		h.opts.Wait = 5 * time.Second
		claim := h.heldElsewhere("k1", 0)

		time.AfterFunc(2*time.Second, func() { claim.Release(context.WithoutCancel(h.Context()), nil) })

		h.answeredIn(30*time.Second, wrap(succeed), numbered(3))
		h.ran("m0", "m1", "m2")
	})
}

func TestAMessageDoesNotWaitLongerThanItShould(t *testing.T) {
	t.Parallel()

	for _, wait := range []time.Duration{0, time.Millisecond, 1500 * time.Millisecond, 5 * time.Second} {
		each(t, wait.String(), everyWay, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
			h.opts.Wait = wait
			h.heldElsewhere("k1", 10*time.Second)

			took := h.answeredIn(30*time.Second, wrap(succeed), numbered(3), "m1")
			h.equal("lines", strings.Count(h.log.String(), "outcome=in_progress"), 1)

			if took < wait || took > wait+moment {
				h.Errorf("it takes %v", took)
			}
		})
	}
}

func TestWaitingEndsWithTheTimeOfTheInvocation(t *testing.T) {
	t.Parallel()
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		h.opts.Wait = time.Minute
		h.heldElsewhere("k1", 0)

		failed, _ := h.within(10*time.Second, wrap(succeed), numbered(3))
		h.equal("failed", failed, []string{"m1"}) // the others are done
		h.ran("m0", "m2")
		h.idle()
	})
}

func TestAMessageThatWaitsDoesNotStartAfterTheFirstFailure(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
	everyMode(t, func(h *harness) {
		h.opts.Wait, h.opts.Optimistic = 5*time.Second, true
		h.heldElsewhere("k1", 2*time.Second)

		took := h.answeredIn(30*time.Second, h.handle(staged), numbered(3))
		h.ran("m0", "m1", "m2")

		if took < 2*time.Second || took > 4*time.Second {
			h.Errorf("it takes %v", took)
		}
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
