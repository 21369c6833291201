package lambdawrap_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// wraps are the two wrappers with one worker, and SQS with more.
var wraps = []struct {
	name    string
	workers int
	wrap    func(*harness, lambdawrap.Handler) wrapped
}{
	{"SQS", 1, (*harness).handle}, {"SQS, 10 workers", 10, (*harness).handle}, {"Batch", 1, (*harness).whole},
}

func TestAnOutageEndsTheInvocationWhenThePatienceOfItsClaimsIsOver(t *testing.T) {
	t.Parallel()

	for fault, patience := range map[idemddbtest.Fault]time.Duration{
		idemddbtest.LostRequest: 5 * time.Second, idemddbtest.Throttle: 5 * time.Second, idemddbtest.ThrottleAccount: 5 * time.Second,
		idemddbtest.ServerError: 5 * time.Second, idemddbtest.EmptyAnswer: 5 * time.Second, idemddbtest.LateReply: 5 * time.Second,
		idemddbtest.AccessDenied: 0,
	} {
		for _, w := range wraps {
			for _, count := range []int{10, 100} {
				t.Run(fmt.Sprintf("%s, %s, %d messages", fault, w.name, count), func(t *testing.T) {
					t.Parallel()
					bothModes(t, func(h *harness) {
						h.opts.Workers = w.workers
						h.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault { return fault })

						failed, took := h.within(15*time.Minute, w.wrap(h, succeed), numbered(count))
						h.equal("failed", failed, messageIDs(count))
						h.equal("runs", len(h.runs.all()), 0)
						h.equal("lines", strings.Count(h.log.String(), "outcome=unanswered"), count)

						// One try of a request that is never answered takes 100 ms when the patience is over.
						after := 1500 * time.Millisecond
						if fault == idemddbtest.LateReply && h.store.Batch().Ahead() == 0 {
							after += time.Duration(count) * 100 * time.Millisecond
						}

						if took < patience-time.Second/10 || took > patience+after {
							h.Errorf("the invocation ends after %v", took)
						}

						// Pauses are 1 s at most, the first and the last ones are shorter. Then each message or group has one try.
						const tries = 35

						limit := tries + count
						if claiming := map[string]int{"SQS": 1, "SQS, 10 workers": 10, "Batch": count}[w.name]; fault == idemddbtest.EmptyAnswer {
							limit = tries*max(claiming, 25) + count // it turns shared requests off
						} else if h.store.Batch().Ahead() == 0 {
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

func TestThePatienceOfClaimsIsAnOption(t *testing.T) {
	t.Parallel()
	bubble(t, &idemddb.Options{ClaimPatience: time.Second}, func(h *harness) {
		h.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault { return idemddbtest.LostRequest })

		if _, took := h.within(15*time.Minute, h.handle(succeed), numbered(10)); took < 900*time.Millisecond || took > 1500*time.Millisecond {
			h.Errorf("the invocation ends after %v", took)
		}
	})
}

func TestAnOutageThatIsShorterThanThePatienceCostsNoMessage(t *testing.T) {
	t.Parallel()

	for _, w := range wraps {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			bothModes(t, func(h *harness) {
				h.opts.Workers = w.workers
				begun := time.Now()
				h.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
					if time.Since(begun) < 3*time.Second {
						return idemddbtest.Throttle
					}

					return idemddbtest.None
				})

				failed, _ := h.within(time.Minute, w.wrap(h, succeed), numbered(30))
				h.equal("failed", failed, []string(nil))
				h.ran(messageIDs(30)...)
			})
		})
	}
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

func TestWithFailWholeAnOutageIsAnInvocationError(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		name     string
		messages events.SQSEvent
		limit    time.Duration
	}{
		{"a standard queue", numbered(30), time.Minute},
		{"one FIFO group", batch("m1 k1 a", "m2 k2 a", "m3 k3 a"), time.Minute},
		{"FIFO groups", batch("m1 k1 a", "m2 k2 b", "m3 k3 a"), time.Minute},
		{"a key twice", batch("m1 k1", "m2 k1"), time.Minute},
		{"an invocation that is not much longer than the patience", numbered(30), 8 * time.Second},
	} {
		for _, w := range wraps {
			t.Run(c.name+", "+w.name, func(t *testing.T) {
				t.Parallel()
				bothModes(t, func(h *harness) {
					h.opts.FailWhole, h.opts.Workers = true, w.workers
					h.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault { return idemddbtest.LostRequest })

					ctx, cancel := context.WithTimeout(h.Context(), c.limit)
					defer cancel()

					_, err := w.wrap(h, succeed)(ctx, c.messages)
					if err == nil || !strings.Contains(err.Error(), "DynamoDB") {
						h.Errorf("got %v, want an invocation error that names DynamoDB", err)
					}
				})
			})
		}
	}
}

func TestWithFailWholeAnythingElseIsReportedMessageByMessage(t *testing.T) {
	t.Parallel()

	for name, set := range map[string]func(h *harness) lambdawrap.Handler{
		"one is done": func(h *harness) lambdawrap.Handler {
			h.throttled("k1", func() bool { return true })
			h.throttled("k2", func() bool { return true })

			return succeed
		},
		"one handler fails, the others have no answer": func(h *harness) lambdawrap.Handler {
			h.db.Intercept(faultFor(func(r idemddbtest.Request) bool { return len(r.Items) > 0 || keyOf(r) != "k0" }, idemddbtest.AccessDenied))

			return func(context.Context, events.SQSMessage) error { return errBank }
		},
		"all handlers fail": func(*harness) lambdawrap.Handler {
			return func(context.Context, events.SQSMessage) error { return errBank }
		},
		"all are held elsewhere": func(h *harness) lambdawrap.Handler {
			for i := range 3 {
				_, _, err := h.store.Claim(h.Context(), fmt.Sprint("k", i), nil)
				h.equal("error", err, nil)
			}

			return succeed
		},
		"none has a key": func(h *harness) lambdawrap.Handler {
			h.opts.Key = func(events.SQSMessage) (string, error) { return "", nil }

			return succeed
		},
		"the records of all are unwritten": func(h *harness) lambdawrap.Handler {
			h.db.Intercept(faultFor(isCallOf(isCompletion), idemddbtest.Throttle))

			return succeed
		},
		"the invocation begins in its reserve": func(h *harness) lambdawrap.Handler {
			h.opts.Reserve = 20 * time.Second

			return succeed
		},
	} {
		for _, w := range wraps {
			t.Run(name+", "+w.name, func(t *testing.T) {
				t.Parallel()
				bothModes(t, func(h *harness) {
					h.opts.FailWhole, h.opts.Workers = true, w.workers

					h.within(20*time.Second, w.wrap(h, set(h)), numbered(3))
				})
			})
		}
	}
}

func TestAClaimWhoseAnswerIsLostIsRecognised(t *testing.T) {
	t.Parallel()

	for _, w := range wraps {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			bothModes(t, func(h *harness) {
				h.opts.Workers = w.workers

				var met atomic.Int64

				h.db.Intercept(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
					if isCallOf(isClaim)(r) && met.Add(1)%2 == 1 {
						return idemddbtest.LostReply
					}

					return idemddbtest.None
				})

				failed, _ := h.within(time.Minute, w.wrap(h, succeed), numbered(60))
				h.equal("failed", failed, []string(nil))
				h.ran(messageIDs(60)...)
			})
		})
	}
}
