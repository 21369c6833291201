package lambdawrap_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// slowRequests lets each request take a time, so that claims and completions that are made meanwhile share the next one.
func (h *harness) slowRequests(takes time.Duration) {
	h.slow(func(idemddbtest.Request) bool { return true }, takes)
}

// slow lets each request of a kind take a time.
func (h *harness) slow(is func(idemddbtest.Request) bool, takes time.Duration) {
	h.db.Intercept(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
		if is(r) {
			time.Sleep(takes)
		}

		return idemddbtest.None
	})
}

func TestWhatABatchCosts(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		name       string
		opts       idemddb.Options
		messages   int
		fresh      [2]int // the requests and the write units of new keys
		again      [2]int // of duplicates that come as first deliveries
		redelivery [2]int // of duplicates that come as redeliveries
	}{
		{"10 in groups", idemddb.Options{}, 10, [2]int{2, 20}, [2]int{2, 20}, [2]int{1, 10}},
		{"25 in groups", idemddb.Options{}, 25, [2]int{2, 50}, [2]int{2, 50}, [2]int{1, 25}},
		{"10 in single requests", idemddb.Options{Single: true}, 10, [2]int{20, 20}, [2]int{10, 10}, [2]int{10, 10}},
		{"1", idemddb.Options{}, 1, [2]int{2, 2}, [2]int{1, 1}, [2]int{1, 1}},
		{"from the cache", idemddb.Options{Cache: 100}, 10, [2]int{2, 20}, [2]int{}, [2]int{}},
	} {
		each(t, c.name, inBubble(&c.opts), func(h *harness) {
			h.slowRequests(5 * time.Millisecond)
			function := h.handle(succeed)

			for i, want := range [][2]int{c.fresh, c.again, c.redelivery} {
				h.answered(function, deliveredFor(numbered(c.messages), 1+i/2))

				requests, units := h.costs()
				h.equal(fmt.Sprint("requests and write units of delivery ", i), [2]int{requests, units}, want)
			}

			h.equal("runs", len(h.runs.all()), c.messages)
		})
	}
}

func TestWhateverHappensToARequestEachEffectIsOnce(t *testing.T) {
	t.Parallel()

	for _, fault := range []idemddbtest.Fault{
		idemddbtest.LostRequest, idemddbtest.LostReply, idemddbtest.LateRequest, idemddbtest.LateReply, idemddbtest.TruncatedBody,
		idemddbtest.ServerErrorApplied, idemddbtest.ServerError, idemddbtest.Throttle, idemddbtest.ThrottleAccount,
		idemddbtest.TransactionConflict, idemddbtest.ConditionWithoutItem,
	} {
		for name, is := range map[string]func(idemddbtest.Request) bool{"claim": isClaim, "completion": isCompletion} {
			for times := 1; times <= 2; times++ {
				each(t, fmt.Sprint(fault, " of the ", name, ", times ", times), everyWay, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
					failed, rest := h.broken(fault, isCallOf(is), times), deliveredFor(numbered(6), 1)

					h.answeredIn(2*time.Minute, wrap(succeed), rest)
					h.ran(messageIDs(6)...)
					h.equal("faults", failed.Load() > 0, true)
					h.equal("fenced", h.count(idemddb.KindFenced)+h.count(idemddb.KindUnrecorded), 0)
					h.settled(6)
				})
			}
		}
	}
}

func TestAKeyThatIsThrottledForGoodCostsItsOwnMessage(t *testing.T) {
	t.Parallel()

	for _, size := range []int{10, 60} {
		each(t, strconv.Itoa(size), everyMode, func(h *harness) {
			h.opts.Workers = 10
			h.throttled("k7", func() bool { return true })
			h.answeredIn(time.Minute, h.handle(slowly(5*time.Second)), numbered(size), "m7")
		})
	}
}

// countRequests makes each request take 2 ms, and counts those that are under way at a time.
func (h *harness) countRequests() (most *atomic.Int64) {
	var requests meter

	h.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
		requests.takes(2 * time.Millisecond)

		return idemddbtest.None
	})

	return &requests.most
}

func TestRequestsAreSharedByAnyNumberOfWorkers(t *testing.T) {
	t.Parallel()

	for _, workers := range []int{1, 2, 5, 10, 20, 100} {
		for messages, want := range map[int]float64{10: 0.2, 100: 0.1, 1000: 0.1} {
			if testing.Short() && messages == 1000 && workers != 10 {
				continue
			}

			each(t, fmt.Sprintf("%d workers, %d messages", workers, messages), inBubble(nil), func(h *harness) {
				most := h.countRequests()
				h.opts.Workers = workers
				h.check(h.handle(succeed), numbered(messages), nil, messageIDs(messages))

				if requests, _ := h.costs(); float64(requests) > want*float64(messages) {
					h.Errorf("%d requests", requests)
				}

				h.atMost("requests at a time", int(most.Load()), 8)
			})
		}
	}
}

// All claims of a call of Batch are asked for together, and all completions are written together.
func TestACallOfBatchTakesTwoRequests(t *testing.T) {
	inBubble(nil)(t, func(h *harness) {
		h.check(h.whole(succeed), numbered(10), nil, messageIDs(10))
		h.equal("requests", len(h.db.Requests()), 2)
	})
}

// AWS Lambda Managed Instances runs several invocations at a time in one process.
func TestInvocationsThatOverlapShareRequests(t *testing.T) {
	inBubble(nil)(t, func(h *harness) {
		h.countRequests()

		const invocations, rounds = 64, 10

		function := lambdawrap.SQS(h.store, slowly(10*time.Millisecond), nil)

		var all sync.WaitGroup

		for i := range invocations {
			all.Go(func() {
				for j := range rounds {
					time.Sleep(time.Duration(i) * 300 * time.Microsecond)

					h.answered(function, batch(fmt.Sprintf("%d-%d b", i, j)))
				}
			})
		}

		all.Wait()

		h.atMost("requests", len(h.db.Requests()), invocations*rounds*2*3/10) // for two writes of each message
	})
}

// While a table refuses records, an effect whose own refusal is not known yet is not followed by another one either.
func TestHandlersThatEndBeforeTheirRefusalIsKnownAreNotFollowedByOthers(t *testing.T) {
	bothModes(t, func(h *harness) {
		h.opts.Workers = 10
		g := &ledger{harness: h}
		begun := time.Now()

		h.db.Intercept(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
			if !isCallOf(isCompletion)(r) {
				return idemddbtest.None
			}

			time.Sleep(50 * time.Millisecond)

			if left := 5*time.Second - time.Since(begun); left > 0 {
				g.refused(0, left)

				return idemddbtest.Throttle
			}

			return idemddbtest.None
		})

		work := byKey(map[string]lambdawrap.Handler{"k0": g.work(time.Millisecond)}, g.work(30*time.Millisecond))
		h.answeredIn(time.Minute, h.handle(work), numbered(100))
		g.bound(h.opts.Workers + 1)
	})
}

// A table that has refused records and writes them again has all workers again, also if it is slow.
func TestATableThatWritesRecordsAgainHasAllWorkersAgain(t *testing.T) {
	bothModes(t, func(h *harness) {
		const refused = time.Second

		h.opts.Workers = 3
		begun := time.Now()

		h.db.Intercept(faultFor(func(r idemddbtest.Request) bool {
			isRefused := time.Since(begun) < refused
			if isCallOf(isCompletion)(r) && !isRefused {
				time.Sleep(45 * time.Millisecond)
			}

			return isCallOf(isCompletion)(r) && isRefused
		}, idemddbtest.Throttle))

		took := h.answeredIn(time.Minute, h.handle(slowly(20*time.Millisecond)), numbered(60))

		// A pause of at most 200 ms before the first record that is written, and then 20 ms for each three messages.
		h.lasts(took, 0, refused+200*time.Millisecond+60/3*20*time.Millisecond+250*time.Millisecond)
	})
}

// A commit waits for others while a hook for dead letters is at work, but not longer than until the answer is due.
func TestACommitDoesNotWaitForOthersUntilItIsTooLate(t *testing.T) {
	t.Parallel()

	for i := range 5 { // chance decides which goroutine of one instant runs first
		each(t, strconv.Itoa(i), claimedAndOptimistic(everyMode), func(h *harness) {
			h.opts.Workers, h.opts.Reserve = 2, 200*time.Millisecond // handlers are late with 100 ms left, and the answer is sent with 50 ms left
			h.opts.DeadLetter = hookOf(obeying)
			permanent := map[string]lambdawrap.Handler{"k1": failWith(lambdawrap.Permanent(errBank))}

			// The other handler ends 60 ms into the reserve.
			h.answeredIn(time.Second, h.handle(h.staging(byKey(permanent, slowly(860*time.Millisecond)))), numbered(2), "m1")
			h.equal("record", h.state("k0"), "COMPLETED")
		})
	}
}
