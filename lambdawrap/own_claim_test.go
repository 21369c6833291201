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
			h.equal("lines with a holder", strings.Count(h.log.String(), "holder="), 0)
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
			function := h.handle(only("k0", does(func() error {
				time.Sleep(moment) // the other keys are claimed meanwhile
				frozen.Store(int64(time.Minute))

				if taken {
					h.steal("k1")
				}

				return nil
			})))

			h.answeredIn(time.Minute, function, numbered(3), "m1", "m2")
			h.ran("m0")

			h.equal("m2 is released", slices.Contains(ends.all(), "m2 released"), true)
			h.equal("record", h.state("k2"), "INPROGRESS released")
			h.equal("attempts", h.attempts("k2"), "0")
		})
	}
}

func TestAClaimWhoseRenewalIsRefusedBeforeItsHandlerStartsIsAnothers(t *testing.T) {
	inBubble(nil)(t, func(h *harness) {
		ends := h.outcomes()
		h.answeredIn(time.Minute, h.handle(does(func() error {
			time.Sleep(moment) // the other key is claimed meanwhile
			h.steal("k1")
			time.Sleep(20 * time.Second)

			return nil
		})), numbered(2), "m1")
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

func TestALostClaimCancelsTheHandler(t *testing.T) {
	inBubble(&idemddb.Options{Lease: 10 * time.Second})(t, func(h *harness) {
		function := h.handle(func(ctx context.Context, _ events.SQSMessage) error {
			h.steal("k")
			<-ctx.Done()
			h.equal("it is fenced", errors.Is(context.Cause(ctx), idemddb.ErrFenced), true)

			return context.Cause(ctx)
		})
		h.expect(function, batch("m1 k"), []string{"m1"}, []string{"m1"})
	})
}

// competitor claims the first keys of numbered every now and then until ctx ends. It returns the number of claims that it got.
func (h *harness) competitor(ctx context.Context, keys int, every time.Duration) *atomic.Int64 {
	var got atomic.Int64

	rival := h.open(h.db, &idemddb.Options{Single: true, Observe: func(context.Context, idemddb.Event) {}})

	go func() {
		for ctx.Err() == nil {
			time.Sleep(every)

			for i := range keys {
				if claim, _, _ := rival.Claim(ctx, fmt.Sprint("k", i), nil); claim != nil {
					got.Add(1)
				}
			}
		}
	}()

	return &got
}

func TestClaimsThatWaitKeepTheirLeases(t *testing.T) {
	sqsAndBatch(nil)(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		ctx, cancel := context.WithCancel(h.Context())

		var got *atomic.Int64

		function := wrap(func(_ context.Context, m events.SQSMessage) error {
			if m.MessageId == "m0" {
				got = h.competitor(ctx, 20, 7*time.Second)
			}

			time.Sleep(40 * time.Second)

			return nil
		})

		h.expect(function, numbered(20), nil, messageIDs(20))
		cancel()
		h.equal("taken over", got.Load(), int64(0))
		h.equal("fenced", h.count(idemddb.KindFenced), 0)

		renewals, inGroups := 0, 0

		for _, r := range h.db.Requests() {
			for _, part := range append(r.Items, r) {
				if strings.HasPrefix(part.Update, `SET "lease" = ?`) || strings.HasPrefix(part.Update, "SET lease = :lease") {
					renewals++
				}
			}

			if len(r.Items) > 0 {
				inGroups++
			}
		}

		// 20 claims are held for 40 s to 800 s and renewed every 15 s, with one request for all that wait.
		if renewals < 400 || inGroups > 120 {
			h.Errorf("%d renewals in %d groups", renewals, inGroups)
		}
	})
}

// A key that is throttled is claimed by further requests. That must not cost the others, which have their answers, their leases.
func TestClaimsOfAGroupThatWaitForAThrottledOneAreNotRunAfterATakeover(t *testing.T) {
	sqsAndBatch(nil)(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		begun := time.Now()
		h.throttled("k1", func() bool { return time.Since(begun) < time.Minute })

		var isTaken atomic.Bool

		rival := h.open(h.db, &idemddb.Options{Single: true})
		time.AfterFunc(40*time.Second, func() { // this is later than the end of the lease
			claim, _, _ := rival.Claim(context.Background(), "k0", nil)
			isTaken.Store(claim != nil) // it works on the message until the test has ended
		})

		failed, _ := h.within(5*time.Minute, wrap(succeed), numbered(2))
		if slices.Contains(h.runs.all(), "m0") && isTaken.Load() {
			h.Errorf("run beside a taker; failed: %v", failed)
		}
	})
}

// A renewal runs in a goroutine of its own. A panic there must not end the process, only the claim.
func TestAPanicInARenewalCostsNoMoreThanTheClaims(t *testing.T) {
	t.Parallel()

	for name, open := range map[string]func(h *harness, panics func()) *idemddb.Store{
		"of the client": func(h *harness, panics func()) *idemddb.Store { return h.open(h.before(panics), nil) },
		"of the observer": func(h *harness, panics func()) *idemddb.Store {
			return h.open(h.db, &idemddb.Options{Observe: func(context.Context, idemddb.Event) { panics() }})
		},
	} {
		for _, way := range ways {
			each(t, name+", "+way.name, inBubble(nil), func(h *harness) {
				var on atomic.Bool

				h.store = open(h, func() {
					if on.Load() {
						panic("in a renewal")
					}
				})

				response, err := way.wrap(h, does(func() error {
					time.Sleep(time.Second) // all keys are claimed meanwhile
					on.Store(true)
					time.Sleep(20 * time.Second)
					on.Store(false)

					return nil
				}))(h.Context(), numbered(3))
				h.equal("error", err, nil)

				for i := range 3 {
					h.equal("reported unless done", slices.Contains(ids(response), fmt.Sprint("m", i)), h.state(fmt.Sprint("k", i)) != "COMPLETED")
				}

				h.noRenewals()
				h.check(way.wrap(h, succeed), deliveredFor(numbered(3), 2), nil, ids(response))
			})
		}
	}
}
