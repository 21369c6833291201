package lambdawrap_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// wrapping is a way with a number of workers.
type wrapping struct {
	name    string
	workers int
	wrap    func(*harness, lambdawrap.Handler) wrapped
}

// wraps are the two wrappers with one worker, and SQS with more.
var wraps = []wrapping{
	{"SQS", 1, (*harness).handle}, {"SQS, 10 workers", 10, (*harness).handle}, {"Batch", 1, (*harness).whole},
}

// wrapsAndOptimistic are wraps, and one without claims at first deliveries.
var wrapsAndOptimistic = append(slices.Clone(wraps), wrapping{"SQS, optimistic", 4, (*harness).optimistic})

// eachWrap runs a test with each of wraps, with shared and with single requests.
func eachWrap(t *testing.T, test func(h *harness, wrap func(lambdawrap.Handler) wrapped)) {
	t.Helper()
	t.Parallel()

	for _, w := range wraps {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			bothModes(t, func(h *harness) {
				h.opts.Workers = w.workers
				test(h, func(work lambdawrap.Handler) wrapped { return w.wrap(h, work) })
			})
		})
	}
}

func TestAnOutageEndsTheInvocationWhenTheRetryTimeOfItsClaimsIsOver(t *testing.T) {
	t.Parallel()

	for fault, retryTime := range map[idemddbtest.Fault]time.Duration{
		idemddbtest.LostRequest: 5 * time.Second, idemddbtest.Throttle: 5 * time.Second, idemddbtest.ThrottleAccount: 5 * time.Second,
		idemddbtest.ServerError: 5 * time.Second, idemddbtest.EmptyAnswer: 5 * time.Second, idemddbtest.LateReply: 5 * time.Second,
		idemddbtest.AccessDenied: 0,
	} {
		for _, w := range wraps {
			for _, count := range []int{10, 100} {
				if testing.Short() && count == 100 && fault != idemddbtest.Throttle {
					continue
				}

				t.Run(fmt.Sprintf("%s, %s, %d messages", fault, w.name, count), func(t *testing.T) {
					t.Parallel()
					bothModes(t, func(h *harness) {
						h.opts.Workers = w.workers
						h.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
							time.Sleep(time.Millisecond) // claims that are made meanwhile share the next request

							return fault
						})

						failed, took := h.within(15*time.Minute, w.wrap(h, succeed), numbered(count))
						h.equal("failed", failed, messageIDs(count))
						h.equal("runs", len(h.runs.all()), 0)
						h.equal("lines", strings.Count(h.log.String(), "outcome=unanswered"), count)

						// One try of a request that is never answered takes 100 ms when the retry time is over.
						after := 1500 * time.Millisecond
						if fault == idemddbtest.LateReply && h.store.Engine().Ahead() == 0 {
							after += time.Duration(count) * 100 * time.Millisecond
						}

						if took < retryTime-time.Second/10 || took > retryTime+after {
							h.Errorf("the invocation ends after %v", took)
						}

						// Pauses are 1 s at most, the first and the last ones are shorter. Then each message or group has one try.
						const tries = 35

						limit := tries + count
						if w.name == "Batch" { // all messages are claimed at the same time, 25 with each request
							limit = tries*(count+24)/25 + count
						}

						if claiming := map[string]int{"SQS": 1, "SQS, 10 workers": 10, "Batch": count}[w.name]; fault == idemddbtest.EmptyAnswer {
							limit = tries*max(claiming, 25) + count // it turns shared requests off
						} else if h.store.Engine().Ahead() == 0 {
							limit = tries*claiming + count
						}

						if requests := len(h.db.Requests()); requests > limit {
							h.Errorf("%d requests, want at most %d", requests, limit)
						}

						h.idle()
					})
				})
			}
		}
	}
}

func TestTheRetryTimeOfClaimsIsAnOption(t *testing.T) {
	t.Parallel()
	bubble(t, &idemddb.Options{ClaimPatience: time.Second}, func(h *harness) {
		h.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault { return idemddbtest.LostRequest })

		if _, took := h.within(15*time.Minute, h.handle(succeed), numbered(10)); took < 900*time.Millisecond || took > 1500*time.Millisecond {
			h.Errorf("the invocation ends after %v", took)
		}
	})
}

func TestAnOutageThatIsShorterThanTheRetryTimeOfClaimsFailsNoMessage(t *testing.T) {
	eachWrap(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		begun := time.Now()
		h.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
			if time.Since(begun) < 3*time.Second {
				return idemddbtest.Throttle
			}

			return idemddbtest.None
		})

		failed, _ := h.within(time.Minute, wrap(succeed), numbered(30))
		h.equal("failed", failed, []string(nil))
		h.ran(messageIDs(30)...)
	})
}

// After an outage in an invocation, the claims of its later messages are answered as ever.
func TestWhenDynamoDBIsBackTheRestOfABatchIsWorkedOn(t *testing.T) {
	t.Parallel()
	bothModes(t, func(h *harness) {
		begun := time.Now()
		h.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
			if time.Since(begun) < 5200*time.Millisecond {
				time.Sleep(50 * time.Millisecond)

				return idemddbtest.Throttle
			}

			return idemddbtest.None
		})

		failed, _ := h.within(time.Minute, h.handle(succeed), numbered(300))
		if len(failed) == 0 || len(failed) > 200 || len(h.runs.all()) != 300-len(failed) {
			h.Errorf("%d are reported failed, %d ran", len(failed), len(h.runs.all()))
		}
	})
}

func TestAClaimWhoseAnswerIsLostIsRecognised(t *testing.T) {
	eachWrap(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		var met atomic.Int64

		h.db.Intercept(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
			if isCallOf(isClaim)(r) && met.Add(1)%2 == 1 {
				return idemddbtest.LostReply
			}

			return idemddbtest.None
		})

		failed, _ := h.within(time.Minute, wrap(succeed), numbered(60))
		h.equal("failed", failed, []string(nil))
		h.ran(messageIDs(60)...)
	})
}
