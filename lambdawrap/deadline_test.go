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
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func slowly(d time.Duration) lambdawrap.Handler {
	return func(context.Context, events.SQSMessage) error {
		pass(d)

		return nil
	}
}

func TestWhatDidNotStartInTimeHasNoClaimOrGivesItBackUncounted(t *testing.T) {
	t.Parallel()
	everyMode(t, func(l *lab) {
		l.opts.Reserve = 2 * time.Second

		ctx, cancel := context.WithTimeout(l.Context(), 9*time.Second) // 7 s of work: the 4th is late
		defer cancel()

		response, err := l.handle(slowly(2*time.Second))(ctx, numbered(40))
		l.equal("error", err, nil)
		l.equal("in time", ctx.Err(), nil)
		l.equal("failed", ids(response), l.runsOf(40)[3:])
		l.equal("runs", l.runs.all(), l.runsOf(3))
		l.equal("late", l.state("k3"), "INPROGRESS")
		l.equal("lines that say so", strings.Count(l.log.String(), "too little time was left"), 36)

		for i := 4; i < 40; i++ {
			key := fmt.Sprint("k", i)
			if state := l.state(key); state != "none" && (state != "INPROGRESS released" || l.attempts(key) != "0") {
				l.Errorf("%s: %s, attempts %s", key, state, l.attempts(key))
			}
		}

		if l.store.Batch().Ahead() > 0 && len(l.db.Requests()) > 8 { // claims, three completions, all that is given back
			l.Errorf("%d requests", len(l.db.Requests()))
		}

		pass(time.Minute) // the late one ends, its lease too
		l.check(l.handle(succeed), deliveredFor(numbered(40), 2), nil, l.runsOf(40)[3:])

		for i := 4; i < 40; i++ {
			l.equal("attempts", l.attempts(fmt.Sprint("k", i)), "1")
		}

		l.equal("attempts of the late one", l.attempts("k3"), "2")
	})
}

func TestAnInvocationThatBeginsInItsReserveAsksForNothing(t *testing.T) {
	t.Parallel()
	everyWay(t, func(l *lab, wrap func(lambdawrap.Handler) wrapped) {
		ctx, cancel := context.WithTimeout(l.Context(), time.Second)
		defer cancel()

		response, err := wrap(succeed)(ctx, numbered(3))
		l.equal("error", err, nil)
		l.equal("failed", ids(response), l.runsOf(3))
		l.equal("runs", len(l.runs.all()), 0)
		l.equal("requests", len(l.db.Requests()), 0)
		l.equal("lines that say so", strings.Count(l.log.String(), "too little time was left"), 3)
	})
}

func TestClaimsThatAreAnsweredTooLateAreGivenBackUncounted(t *testing.T) {
	t.Parallel()
	everyWay(t, func(l *lab, wrap func(lambdawrap.Handler) wrapped) {
		var slow atomic.Bool

		slow.Store(true)
		l.db.Intercept(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
			if slow.Load() && isCallOf(isClaim)(r) {
				pass(990 * time.Millisecond) // within an attempt's time, so that the answer is known, and up to the reserve
			}

			return idemddbtest.None
		})

		ctx, cancel := context.WithTimeout(l.Context(), 1995*time.Millisecond)
		defer cancel()

		response, err := wrap(slowly(time.Second))(ctx, numbered(3))
		l.equal("error", err, nil)
		l.equal("in time", ctx.Err(), nil)
		l.equal("failed", ids(response), l.runsOf(3))
		slow.Store(false)
		pass(time.Minute)
		l.runs.clear()
		l.check(wrap(succeed), numbered(3), nil, l.runsOf(3))
	})
}

func TestALateResultIsDroppedWhateverItIs(t *testing.T) {
	t.Parallel()

	for name, result := range map[string]func() error{
		"success":   func() error { return nil },
		"error":     func() error { return errBank },
		"permanent": func() error { return lambdawrap.Permanent(errBank) },
		"panic":     func() error { panic("late") },
		"exit":      func() error { goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyWay(t, func(l *lab, wrap func(lambdawrap.Handler) wrapped) {
				hooks := 0
				l.opts.DeadLetter = func(context.Context, events.SQSMessage, error) error {
					hooks++

					return nil
				}

				ctx, cancel := context.WithTimeout(l.Context(), 10*time.Second)
				defer cancel()

				response, err := wrap(func(ctx context.Context, _ events.SQSMessage) error {
					<-ctx.Done()
					pass(100 * time.Millisecond) // it ends in the reserve

					return result()
				})(ctx, numbered(1))
				l.equal("error", err, nil)
				l.equal("in time", ctx.Err(), nil)
				l.equal("failed", ids(response), []string{"m0"})
				l.equal("record", l.state("k0"), "INPROGRESS")
				l.equal("hooks", hooks, 0)
				l.noRenewals()
				l.equal("record", l.state("k0"), "INPROGRESS")
			})
		})
	}
}

func TestAHookThatHangsIsAnsweredForInTime(t *testing.T) {
	t.Parallel()

	for _, deaf := range []bool{false, true} {
		t.Run(fmt.Sprint("deaf: ", deaf), func(t *testing.T) {
			t.Parallel()
			everyWay(t, func(l *lab, wrap func(lambdawrap.Handler) wrapped) {
				l.opts.DeadLetter = func(ctx context.Context, _ events.SQSMessage, _ error) error {
					if deaf {
						pass(time.Minute)
					}

					<-ctx.Done()

					return ctx.Err()
				}

				claim, _, err := l.store.Claim(l.Context(), "k2", nil)
				l.equal("error", errors.Join(err, claim.Fail(l.Context(), nil)), nil)

				ctx, cancel := context.WithTimeout(l.Context(), 10*time.Second)
				defer cancel()

				response, err := wrap(succeed)(ctx, numbered(3))
				l.equal("error", err, nil)
				l.equal("in time", ctx.Err(), nil)
				l.equal("failed", slices.Contains(ids(response), "m2"), true)
			})
		})
	}
}

func TestHooksAreNeverMoreThanWorkersInTheReserveEither(t *testing.T) {
	t.Parallel()

	for name, wrap := range map[string]func(*lab, lambdawrap.Handler) wrapped{"SQS": (*lab).handle, "Batch": (*lab).whole} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyMode(t, func(l *lab) {
				l.opts.Workers, l.opts.Reserve = 2, 8*time.Second

				for i := range 20 {
					claim, _, err := l.store.Claim(l.Context(), fmt.Sprint("k", i), nil)
					l.equal("error", errors.Join(err, claim.Fail(l.Context(), nil)), nil)
				}

				var running, most atomic.Int64

				l.opts.DeadLetter = func(context.Context, events.SQSMessage, error) error {
					raise(&most, running.Add(1))
					defer running.Add(-1)

					pass(time.Second)

					return nil
				}

				ctx, cancel := context.WithTimeout(l.Context(), 10*time.Second) // 2 s of work, 8 s until the answer
				defer cancel()

				response, err := wrap(l, succeed)(ctx, numbered(20))
				l.equal("error", err, nil)
				l.equal("in time", ctx.Err(), nil)
				l.equal("at once", most.Load(), int64(2))

				if done := 20 - len(response.BatchItemFailures); done < 4 || done > 16 {
					l.Errorf("%d are done", done)
				}
			})
		})
	}
}

func TestAnInvocationThatIsCancelledStillSettles(t *testing.T) {
	t.Parallel()
	everyWay(t, func(l *lab, wrap func(lambdawrap.Handler) wrapped) {
		ctx, cancel := context.WithCancel(l.Context())
		defer cancel()

		response, err := wrap(func(_ context.Context, m events.SQSMessage) error {
			pass(time.Second)

			if m.Body == "k1" {
				cancel()
				pass(time.Second)
			}

			return nil
		})(ctx, numbered(10))
		l.equal("error", err, nil)
		l.equal("failed", slices.Contains(ids(response), "m1"), true)
		l.equal("k1", l.state("k1"), "INPROGRESS")

		l.noRenewals()

		for i := range 10 { // done, given back, or with a handler that is late
			key, id := fmt.Sprint("k", i), fmt.Sprint("m", i)
			if l.state(key) == "INPROGRESS" && !slices.Contains(l.runs.all(), id) {
				l.Errorf("%s is left to its lease, and never ran", key)
			}
		}
	})
}

// A renewal has a goroutine of its own: its panic is no end of the process, but of the claim.
func TestAPanicInARenewalCostsNoMoreThanTheClaims(t *testing.T) {
	t.Parallel()

	for name, panics := range map[string]func(l *lab, on *atomic.Bool) *idemddb.Store{
		"of the client": func(l *lab, on *atomic.Bool) *idemddb.Store {
			return l.open(client{l.db, func(string) {
				if on.Load() {
					panic("client")
				}
			}}, nil)
		},
		"of the observer": func(l *lab, on *atomic.Bool) *idemddb.Store {
			return l.open(l.db, &idemddb.Options{Observe: func(context.Context, idemddb.Event) {
				if on.Load() {
					panic("observer")
				}
			}})
		},
	} {
		for _, way := range ways {
			t.Run(name+", "+way.name, func(t *testing.T) {
				t.Parallel()
				bubble(t, nil, func(l *lab) {
					var on atomic.Bool

					l.store = panics(l, &on)

					response, err := way.wrap(l, func(context.Context, events.SQSMessage) error {
						on.Store(true)
						pass(20 * time.Second)
						on.Store(false)

						return nil
					})(l.Context(), numbered(3))
					l.equal("error", err, nil)

					for i := range 3 {
						l.equal("reported unless done", slices.Contains(ids(response), fmt.Sprint("m", i)), l.state(fmt.Sprint("k", i)) != "COMPLETED")
					}

					l.noRenewals()
					l.check(way.wrap(l, succeed), deliveredFor(numbered(3), 2), nil, ids(response))
				})
			})
		}
	}
}
