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
	wrap    func(*lab, lambdawrap.Handler) wrapped
}{
	{"SQS", 1, (*lab).handle}, {"SQS, 10 workers", 10, (*lab).handle}, {"Batch", 1, (*lab).whole},
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
					bothModes(t, func(l *lab) {
						l.opts.Workers = w.workers
						l.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault { return fault })

						failed, took := l.within(15*time.Minute, w.wrap(l, succeed), numbered(count))
						l.equal("failed", failed, l.runsOf(count))
						l.equal("runs", len(l.runs.all()), 0)
						l.equal("lines", strings.Count(l.log.String(), "outcome=unanswered"), count)

						// One try of a request that is never answered takes 100 ms when the patience is over.
						after := 1500 * time.Millisecond
						if fault == idemddbtest.LateReply && l.store.Batch().Ahead() == 0 {
							after += time.Duration(count) * 100 * time.Millisecond
						}

						if took < patience-time.Second/10 || took > patience+after {
							l.Errorf("the invocation ends after %v", took)
						}

						// Pauses are 1 s at most, the first and the last ones are shorter. Then each message or group has one try.
						const tries = 35

						limit := tries + count
						if claiming := map[string]int{"SQS": 1, "SQS, 10 workers": 10, "Batch": count}[w.name]; fault == idemddbtest.EmptyAnswer {
							limit = tries*max(claiming, 25) + count // it turns shared requests off
						} else if l.store.Batch().Ahead() == 0 {
							limit = tries*claiming + count
						}

						if requests := len(l.db.Requests()); requests > limit {
							l.Errorf("%d requests, want at most %d", requests, limit)
						}

						l.idle()
					})
				})
			}
		}
	}
}

func TestThePatienceOfClaimsIsAnOption(t *testing.T) {
	t.Parallel()
	bubble(t, &idemddb.Options{ClaimPatience: time.Second}, func(l *lab) {
		l.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault { return idemddbtest.LostRequest })

		if _, took := l.within(15*time.Minute, l.handle(succeed), numbered(10)); took < 900*time.Millisecond || took > 1500*time.Millisecond {
			l.Errorf("the invocation ends after %v", took)
		}
	})
}

func TestAnOutageThatIsShorterThanThePatienceCostsNoMessage(t *testing.T) {
	t.Parallel()

	for _, w := range wraps {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			bothModes(t, func(l *lab) {
				l.opts.Workers = w.workers
				begun := time.Now()
				l.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
					if time.Since(begun) < 3*time.Second {
						return idemddbtest.Throttle
					}

					return idemddbtest.None
				})

				failed, _ := l.within(time.Minute, w.wrap(l, succeed), numbered(30))
				l.equal("failed", failed, []string(nil))
				l.ran(l.runsOf(30)...)
			})
		})
	}
}

// After an outage in an invocation, the claims of its later messages are answered as ever.
func TestWhenDynamoDBIsBackTheRestOfABatchIsWorkedOn(t *testing.T) {
	t.Parallel()
	bothModes(t, func(l *lab) {
		begun := time.Now()
		l.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
			if time.Since(begun) < 5200*time.Millisecond {
				pass(50 * time.Millisecond)

				return idemddbtest.Throttle
			}

			return idemddbtest.None
		})

		failed, _ := l.within(time.Minute, l.handle(succeed), numbered(300))
		if len(failed) == 0 || len(failed) > 200 || len(l.runs.all()) != 300-len(failed) {
			l.Errorf("%d are reported failed, %d ran", len(failed), len(l.runs.all()))
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
				bothModes(t, func(l *lab) {
					l.opts.FailWhole, l.opts.Workers = true, w.workers
					l.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault { return idemddbtest.LostRequest })

					ctx, cancel := context.WithTimeout(l.Context(), c.limit)
					defer cancel()

					_, err := w.wrap(l, succeed)(ctx, c.messages)
					if err == nil || !strings.Contains(err.Error(), "DynamoDB") {
						l.Errorf("got %v, want an invocation error that names DynamoDB", err)
					}
				})
			})
		}
	}
}

func TestWithFailWholeAnythingElseIsReportedMessageByMessage(t *testing.T) {
	t.Parallel()

	for name, set := range map[string]func(l *lab) lambdawrap.Handler{
		"one is done": func(l *lab) lambdawrap.Handler {
			l.throttled("k1", func() bool { return true })
			l.throttled("k2", func() bool { return true })

			return succeed
		},
		"one handler fails, the others have no answer": func(l *lab) lambdawrap.Handler {
			l.db.Intercept(faultFor(func(r idemddbtest.Request) bool { return len(r.Items) > 0 || keyOf(r) != "k0" }, idemddbtest.AccessDenied))

			return func(context.Context, events.SQSMessage) error { return errBank }
		},
		"all handlers fail": func(*lab) lambdawrap.Handler {
			return func(context.Context, events.SQSMessage) error { return errBank }
		},
		"all are held elsewhere": func(l *lab) lambdawrap.Handler {
			for i := range 3 {
				_, _, err := l.store.Claim(l.Context(), fmt.Sprint("k", i), nil)
				l.equal("error", err, nil)
			}

			return succeed
		},
		"none has a key": func(l *lab) lambdawrap.Handler {
			l.opts.Key = func(events.SQSMessage) (string, error) { return "", nil }

			return succeed
		},
		"the records of all are unwritten": func(l *lab) lambdawrap.Handler {
			l.db.Intercept(faultFor(isCallOf(isCompletion), idemddbtest.Throttle))

			return succeed
		},
		"the invocation begins in its reserve": func(l *lab) lambdawrap.Handler {
			l.opts.Reserve = 20 * time.Second

			return succeed
		},
	} {
		for _, w := range wraps {
			t.Run(name+", "+w.name, func(t *testing.T) {
				t.Parallel()
				bothModes(t, func(l *lab) {
					l.opts.FailWhole, l.opts.Workers = true, w.workers

					l.within(20*time.Second, w.wrap(l, set(l)), numbered(3))
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
			bothModes(t, func(l *lab) {
				l.opts.Workers = w.workers

				var met atomic.Int64

				l.db.Intercept(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
					if isCallOf(isClaim)(r) && met.Add(1)%2 == 1 {
						return idemddbtest.LostReply
					}

					return idemddbtest.None
				})

				failed, _ := l.within(time.Minute, w.wrap(l, succeed), numbered(60))
				l.equal("failed", failed, []string(nil))
				l.ran(l.runsOf(60)...)
			})
		})
	}
}
