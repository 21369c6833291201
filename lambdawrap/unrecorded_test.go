package lambdawrap_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestWorkDoesNotRunAheadOfItsRecords(t *testing.T) {
	t.Parallel()

	unlike := []idemddbtest.Fault{idemddbtest.Throttle, idemddbtest.LateReply}

	for fault, after := range map[idemddbtest.Fault]time.Duration{
		idemddbtest.Throttle: 0, idemddbtest.ThrottleAccount: 0, idemddbtest.AccessDenied: 0, idemddbtest.ServerError: 0, idemddbtest.LostRequest: 0,
		idemddbtest.LostReply: 0, idemddbtest.EmptyAnswer: 0, idemddbtest.LateReply: 100 * time.Millisecond,
	} {
		for _, workers := range []int{1, 3, 10} {
			for _, takes := range []time.Duration{0, time.Millisecond, 20 * time.Millisecond, 300 * time.Millisecond} {
				if workers != 3 && takes != 20*time.Millisecond { // each number with one time, and each time with one number
					continue
				}

				isUsual, isUnlike := workers == 3 && takes == 20*time.Millisecond, slices.Contains(unlike, fault)
				if !isUsual && !isUnlike || testing.Short() && (!isUsual || !isUnlike) {
					continue
				}

				each(t, fmt.Sprintf("%s, %d workers, handlers of %v", fault, workers, takes), claimedAndOptimistic(bothModes), func(h *harness) {
					h.opts.Workers = workers
					g := &ledger{harness: h}
					g.during(4*time.Second, 2, isCallOf(isCompletion), fault, after)

					h.answeredIn(2*time.Minute, h.handle(h.staging(g.work(takes))), numbered(100))
					h.ran(messageIDs(100)...)
					h.settled(100)

					switch {
					case h.opts.Optimistic: // what is staged has not happened before its record, so it holds up no other message
						g.bound(100)
						h.committedOnce(100)
						h.equal("warnings", h.warnings(), 0)
					case after == 0:
						g.bound(workers + 1)
						h.equal("warnings", h.warnings(), 1)
					default: // what is slow may be healthy: until its own 100 ms are over, another handler may follow each of the running ones
						g.bound(2*workers + 1)
						h.equal("warnings", h.warnings(), 1)
					}

					h.equal("unrecorded", h.count(idemddb.KindUnrecorded), 0)
					h.idle()
				})
			}
		}
	}
}

// In a shared request each statement may be refused for itself.
func TestWorkDoesNotRunAheadOfRecordsThatAreThrottledOneByOne(t *testing.T) {
	t.Parallel()

	for _, workers := range []int{1, 3, 10} {
		each(t, fmt.Sprint(workers, " workers"), inBubble(nil), func(h *harness) {
			h.opts.Workers = workers
			g := &ledger{harness: h}
			begun := time.Now()
			refuse := faultFor(func(r idemddbtest.Request) bool {
				since := time.Since(begun)
				isRefused := isCompletion(r) && since >= 100*time.Millisecond && since <= 5*time.Second

				if isRefused {
					g.refused(0, 5*time.Second-since)
				}

				return isRefused
			}, idemddbtest.Throttle)
			h.db.Intercept(refuse)
			h.db.InterceptStatements(refuse)

			h.answeredIn(time.Minute, h.handle(g.work(20*time.Millisecond)), numbered(100))
			h.ran(messageIDs(100)...)
			g.bound(workers + 1)
			h.equal("warnings", h.warnings(), 1)
		})
	}
}

func TestAnOutageOfTheWholeTableLeavesFewEffectsWithoutARecord(t *testing.T) {
	t.Parallel()

	for fault, after := range map[idemddbtest.Fault]time.Duration{
		idemddbtest.Throttle: 0, idemddbtest.AccessDenied: 0, idemddbtest.LateReply: 100 * time.Millisecond,
	} {
		for _, workers := range []int{1, 3, 10} {
			if testing.Short() && (workers != 3 || fault == idemddbtest.AccessDenied) {
				continue
			}

			each(t, fmt.Sprintf("%s, %d workers", fault, workers), claimedAndOptimistic(bothModes), func(h *harness) {
				h.opts.Workers = workers
				g := &ledger{harness: h}
				begun := time.Now()
				h.db.Intercept(faultFor(func(r idemddbtest.Request) bool {
					isOut := time.Since(begun) >= 100*time.Millisecond
					if isOut && isCallOf(isCompletion)(r) {
						g.refused(after, time.Minute)
					}

					return isOut
				}, fault))

				failed, _ := h.within(3*time.Second, h.handle(h.staging(g.work(20*time.Millisecond))), numbered(100))

				if h.opts.Optimistic { // what is staged has happened only when it is committed
					h.committedUnless(failed, 100)
				} else {
					g.bound(workers + 1)
					h.equal("messages that ran, recorded or not, and failed ones", len(h.runs.all())+len(failed), 100)
				}

				h.idle()
			})
		}
	}
}

func TestRequestsThatAreSlowerThanHandlersHoldTheHandlersUp(t *testing.T) {
	t.Parallel()

	for _, workers := range []int{1, 3} {
		each(t, fmt.Sprint(workers, " workers"), bothModes, func(h *harness) {
			h.opts.Workers = workers
			g := &ledger{harness: h}
			h.slowRequests(300 * time.Millisecond)

			h.answeredIn(10*time.Minute, h.handle(g.work(20*time.Millisecond)), numbered(100))

			// Those that finish within 100 ms are not in trouble yet; then there is one more for each worker, and one.
			h.atMost("effects without a record at the worst moment", g.worst, 6*workers+workers+1)
			h.equal("warnings", h.warnings(), 1)
		})
	}
}

func TestOneKeyWhoseRecordIsRefusedDoesNotStopABatchWithOneWorker(t *testing.T) {
	claimedAndOptimistic(bothModes)(t, func(h *harness) {
		begun := time.Now()
		refuse := faultFor(func(r idemddbtest.Request) bool {
			return isCompletion(r) && keyOf(r) == "k3" && time.Since(begun) < 8*time.Second
		}, idemddbtest.Throttle)
		h.db.Intercept(refuse)
		h.db.InterceptStatements(refuse)
		h.db.InterceptParts(refuse)

		last := time.Duration(0)
		took := h.answeredIn(time.Minute, h.handle(h.staging(does(func() error {
			time.Sleep(20 * time.Millisecond)

			last = time.Since(begun)

			return nil
		}))), numbered(60))
		h.equal("record", h.state("k3"), "COMPLETED")
		h.equal("warnings", h.warnings() == 1, !h.opts.Optimistic)

		if last > 1500*time.Millisecond || took < 7*time.Second {
			h.Errorf("the last handler ends after %v, the invocation after %v", last, took)
		}
	})
}

// A completion may wait for another request before its own, so shared requests may take up to 50 ms until one is in trouble.
func TestASlowButHealthyTableCostsNoTime(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		optimistic, single bool
		slow               time.Duration
		more               time.Duration // for all messages together
	}{
		{false, true, 80 * time.Millisecond, moment},
		{false, false, 45 * time.Millisecond, 100 * time.Millisecond},
		{false, false, 80 * time.Millisecond, 200 * time.Millisecond},
		{true, false, 80 * time.Millisecond, moment},
	} {
		for _, workers := range []int{1, 3, 10} {
			name := fmt.Sprintf("optimistic: %t, single: %t, %v, %d workers", c.optimistic, c.single, c.slow, workers)
			each(t, name, inBubble(&idemddb.Options{Single: c.single}), func(h *harness) {
				h.opts.Workers, h.opts.Optimistic = workers, c.optimistic
				h.slow(isCallOf(isCompletion), c.slow)

				took := h.answeredIn(time.Minute, h.handle(h.staging(slowly(100*time.Millisecond))), numbered(60))

				if c.single || c.optimistic || c.slow < 50*time.Millisecond {
					h.equal("warnings", h.warnings(), 0)
				}

				// This is the time of all handlers at full speed, and of the last completion.
				h.lasts(took, 0, time.Duration(60/workers)*100*time.Millisecond+2*c.slow+c.more)
			})
		}
	}
}

// What a handler changes is an effect also if it then ends its key for good.
func TestPermanentFailuresDoNotRunAheadOfTheirRecordsEither(t *testing.T) {
	bothModes(t, func(h *harness) {
		var (
			refused atomic.Bool
			after   atomic.Int64 // handlers that began after that
		)

		h.db.Intercept(faultFor(func(r idemddbtest.Request) bool {
			isRefused := !isCallOf(isClaim)(r)
			refused.Store(isRefused || refused.Load())

			return isRefused
		}, idemddbtest.Throttle))

		h.within(10*time.Second, h.handle(func(context.Context, events.SQSMessage) error {
			if refused.Load() {
				after.Add(1)
			}

			time.Sleep(20 * time.Millisecond)

			return lambdawrap.Permanent(errBank)
		}), numbered(20))

		if !refused.Load() || after.Load() > 1 {
			h.Errorf("%d handlers began after the first refusal, want one", after.Load())
		}
	})
}

// Without a claim there is no effect before its commit, so that a permanent failure and a success stop no other message either.
func TestFailuresThatCannotBeReleasedStopNoOtherMessage(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		err          error
		isOptimistic bool // only with Optimistic
	}{"error": {errBank, false}, "permanent": {lambdawrap.Permanent(errBank), true}, "success": {nil, true}} {
		each(t, name, claimedAndOptimistic(bothModes), func(h *harness) {
			if c.isOptimistic && !h.opts.Optimistic {
				return
			}

			h.db.Intercept(faultFor(h.isSettlement, idemddbtest.Throttle))

			h.answeredIn(10*time.Second, h.handle(h.staging(does(func() error {
				time.Sleep(20 * time.Millisecond)

				return c.err
			}))), numbered(20), messageIDs(20)...)
			h.ran(messageIDs(20)...)
			h.equal("warnings", h.warnings(), 0)
		})
	}
}

// The table refuses to end a key until that is given up. Nobody knows what its record says then, so it is no record that the
// table has written: the next handlers do not run ahead of their records either.
func TestAFailureWhoseRecordIsGivenUpDoesNotEndTheTrouble(t *testing.T) {
	inBubble(&idemddb.Options{Lease: time.Second, Single: true})(t, func(h *harness) {
		h.opts.Workers = 1
		h.db.Intercept(faultFor(func(r idemddbtest.Request) bool {
			fails := strings.Contains(r.Update, "st = :failed")
			if fails {
				time.Sleep(50 * time.Millisecond)
			}

			return fails
		}, idemddbtest.AccessDenied))

		var begun, after atomic.Int64 // handlers; those that began before the second record was refused

		var until atomic.Pointer[time.Time]

		h.within(20*time.Second, h.handle(func(context.Context, events.SQSMessage) error {
			if end := until.Load(); end != nil && time.Now().Before(*end) {
				after.Add(1)
			}

			if begun.Add(1) != 2 {
				<-time.After(time.Millisecond)

				return lambdawrap.Permanent(errBank)
			}

			<-time.After(2 * time.Second) // the first record is given up meanwhile

			until.Store(new(time.Now().Add(40 * time.Millisecond)))

			return lambdawrap.Permanent(errBank)
		}), numbered(20))

		if n := after.Load(); begun.Load() < 3 || n != 1 {
			h.Errorf("%d handlers began, %d of them before the second record was refused, want one", begun.Load(), n)
		}
	})
}
