package lambdawrap_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// Otherwise it would wait for itself at each delivery, or lose what it has staged at its first one.
func TestAHandlerThatAsksForItsOwnKeyFailsWithATextThatSaysSo(t *testing.T) {
	claimedAndOptimistic(bothModes)(t, func(h *harness) {
		work := func(ctx context.Context, m events.SQSMessage) error {
			_, err := idemddb.Do(ctx, h.store, m.Body, nil, func(context.Context) (int, error) {
				h.Error("the nested work ran")

				return 0, nil
			})

			return errors.Join(err, counting(ctx, m))
		}

		h.check(h.handle(work), batch("m1 k1"), []string{"m1"}, []string{"m1"})
		h.equal("record", h.state("k1"), "INPROGRESS released")
		h.equal("committed", h.counted("k1"), "")
		h.logs("outcome=released", "this context holds it itself; a nested call needs a key of its own")
	})
}

// The error of a nested Do is that of another key.
func TestTheErrorOfANestedKeyIsNotThatOfTheMessage(t *testing.T) {
	t.Parallel()

	for _, name := range []string{"held", "stolen", "failed"} {
		each(t, name, everyMode, func(h *harness) {
			h.heldElsewhere("held", 0)
			h.equal("failed", h.heldElsewhere("failed", 0).Fail(h.Context(), errBank), nil)

			ends := h.outcomes()
			place := h.hiding(nil)
			h.answeredIn(time.Minute, h.handle(func(ctx context.Context, _ events.SQSMessage) error {
				_, err := idemddb.Do(ctx, h.store, name, nil, func(context.Context) (int, error) {
					h.steal(name)

					return 0, nil
				})
				if err == nil {
					h.Error("the nested key has no error")
				}

				return err
			}), deliveredFor(numbered(1), 1), "m0")
			h.sorted("ends", ends, "m0 released")
			h.equal("record", h.state("k0"), "INPROGRESS released")
			h.hidden(place, "m0", 1, 2)

			if text := h.log.String(); strings.Contains(text, "holder=") {
				h.Errorf("log: %s", text)
			}
		})
	}
}

const halfLease = 16 * time.Second // more than half a lease

// ownSettlement is a handler that settles its claim itself, and what becomes of its message.
type ownSettlement struct {
	settle func(ctx context.Context, c *idemddb.Claim) error
	goesOn time.Duration // after that
	err    error         // at its end
	failed []string
	word   lambdawrap.Outcome
	state  string
	next   []string // what the next delivery runs
}

func TestAHandlerMaySettleItsClaimItself(t *testing.T) {
	t.Parallel()

	completes := func(size int) func(context.Context, *idemddb.Claim) error {
		return func(ctx context.Context, c *idemddb.Claim) error { return c.Complete(ctx, make([]byte, size)) }
	}
	releases := func(ctx context.Context, c *idemddb.Claim) error { return c.Release(ctx, nil) }
	fails := func(ctx context.Context, c *idemddb.Claim) error { return c.Fail(ctx, errBank) }
	completesAndReleases := func(ctx context.Context, c *idemddb.Claim) error {
		defer c.Release(ctx, nil)

		return c.Complete(ctx, nil)
	}
	tooLarge, m0 := completes(7<<20), []string{"m0"}

	const completed, released, failed = lambdawrap.OutcomeCompleted, lambdawrap.OutcomeReleased, lambdawrap.OutcomeFailed

	for name, c := range map[string]ownSettlement{
		"it completes and goes on":                       {completes(0), halfLease, nil, nil, completed, "COMPLETED", nil},
		"it completes and goes on for more than a lease": {completes(0), 3 * halfLease, nil, nil, completed, "COMPLETED", nil},
		"it completes and fails":                         {completes(0), 0, errBank, m0, released, "COMPLETED", nil},
		"it completes with a result that is too large":   {tooLarge, 0, nil, nil, completed, "COMPLETED", nil},
		"it does so, and fails":                          {tooLarge, 0, errBank, m0, released, "COMPLETED", nil},
		"it completes with a large result":               {completes(300 << 10), 0, nil, nil, completed, "COMPLETED", nil},
		"it releases at its end, and completes before":   {completesAndReleases, 0, nil, nil, completed, "COMPLETED", nil},
		"it releases":                  {releases, 0, nil, m0, released, "INPROGRESS released", m0},
		"it releases and goes on":      {releases, halfLease, nil, m0, released, "INPROGRESS released", m0},
		"it fails the key":             {fails, 0, nil, m0, failed, "FAILED", nil},
		"it fails the key and goes on": {fails, halfLease, nil, m0, failed, "FAILED", nil},
	} {
		each(t, name, everyMode, func(h *harness) {
			ends := h.outcomes()
			function := h.handle(func(ctx context.Context, _ events.SQSMessage) error {
				claim, ok := idemddb.FromContext(ctx)
				h.equal("has a claim", ok, true)

				err := c.settle(ctx, claim)
				time.Sleep(c.goesOn)

				h.equal("its context", ctx.Err(), nil)

				if c.err != nil {
					return errors.Join(err, c.err)
				}

				return err
			})

			h.answeredIn(2*time.Minute, function, numbered(1), c.failed...)
			h.equal("record", h.state("k0"), c.state)
			h.equal("fenced events", h.count(idemddb.KindFenced), 0)
			h.sorted("ends", ends, "m0 "+string(c.word))

			if c.state == "INPROGRESS released" {
				h.logs("outcome=released", "the handler released its claim and returned no error")
			}

			h.idle()

			h.runs.clear()
			h.within(2*time.Minute, function, deliveredFor(numbered(1), 2))
			h.ran(c.next...)
		})
	}
}

// A frozen process continues when the leases of the claims that wait for a worker are over.
func TestAClaimThatWasLostBeforeItsHandlerStartsIsNotBegun(t *testing.T) {
	t.Parallel()

	for _, taken := range []bool{false, true} {
		each(t, fmt.Sprint("taken over: ", taken), inBubble(nil), func(h *harness) {
			var frozen atomic.Int64 // how much the clock of the worker has jumped

			h.store = h.open(h.db, &idemddb.Options{Now: func() time.Time { return time.Now().Add(time.Duration(frozen.Load())) }})

			ends := h.outcomes()
			function := h.handle(func(_ context.Context, m events.SQSMessage) error {
				if m.Body == "k0" {
					time.Sleep(moment) // the other keys are claimed meanwhile
					frozen.Store(int64(time.Minute))

					if taken {
						h.steal("k1")
					}
				}

				return nil
			})

			h.answeredIn(time.Minute, function, numbered(3), "m1", "m2")
			h.ran("m0")

			h.equal("m2 is released", slices.Contains(ends.all(), "m2 released"), true)
			h.equal("record", h.state("k2"), "INPROGRESS released")
			h.equal("attempts", h.attempts("k2"), "0")
		})
	}
}

func TestAClaimWhoseRenewalIsRefusedBeforeItsHandlerStartsIsAnothers(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(h *harness) {
		ends := h.outcomes()
		h.answeredIn(time.Minute, h.handle(func(context.Context, events.SQSMessage) error {
			time.Sleep(moment) // the other key is claimed meanwhile
			h.steal("k1")
			time.Sleep(20 * time.Second)

			return nil
		}), numbered(2), "m1")
		h.ran("m0")
		h.sorted("ends", ends, "m0 completed", "m1 fenced")
	})
}

func TestATakeoverIsAWarning(t *testing.T) {
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		h.heldElsewhere("k1", 0)
		time.Sleep(time.Minute)

		h.answeredIn(time.Minute, wrap(succeed), numbered(3))

		h.hasLines(1, "level=WARN", "messageId=m1", "outcome=takeover")
	})
}
