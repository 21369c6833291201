package lambdawrap_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestAQuarterOfTheReserveIsLeftWhenDynamoDBHangs(t *testing.T) {
	answersInTime(t, map[string]func(h *harness) lambdawrap.Handler{
		"claims hang": func(h *harness) lambdawrap.Handler {
			h.db.Intercept(faultFor(isCallOf(isClaim), idemddbtest.LateReply))

			return succeed
		},
		"completions hang": func(h *harness) lambdawrap.Handler {
			h.db.Intercept(faultFor(isCallOf(isCompletion), idemddbtest.LateReply))

			return succeed
		},
		"all requests after the claims hang": func(h *harness) lambdawrap.Handler {
			h.db.Intercept(faultFor(h.isSettlement, idemddbtest.LateReply))

			return func(_ context.Context, m events.SQSMessage) error {
				if m.Body == "k1" {
					return errBank
				}

				if m.Body == "k2" {
					return lambdawrap.Permanent(errBank)
				}

				time.Sleep(time.Minute)

				return nil
			}
		},
	})
}

func TestAQuarterOfTheReserveIsLeftWhenHandlersAndHooksDoNotEnd(t *testing.T) {
	answersInTime(t, map[string]func(h *harness) lambdawrap.Handler{
		"handlers do not stop": func(*harness) lambdawrap.Handler { return slowly(time.Minute) },
		"the dead-letter hook hangs": func(h *harness) lambdawrap.Handler {
			h.opts.DeadLetter = func(ctx context.Context, _ events.SQSMessage, _ error) error { untilItsEnd(ctx); return nil }

			return func(context.Context, events.SQSMessage) error { return lambdawrap.Permanent(errBank) }
		},
		"the dead-letter hook does not stop": func(h *harness) lambdawrap.Handler {
			h.opts.DeadLetter = func(ctx context.Context, _ events.SQSMessage, _ error) error { pastItsEnd(ctx); return nil }

			return func(context.Context, events.SQSMessage) error { return lambdawrap.Permanent(errBank) }
		},
		"SQS hangs": func(h *harness) lambdawrap.Handler {
			h.hiding(func(ctx context.Context, _ string) error { untilItsEnd(ctx); return nil })

			return func(context.Context, events.SQSMessage) error { return errBank }
		},
		"the client of SQS does not stop": func(h *harness) lambdawrap.Handler {
			h.hiding(func(ctx context.Context, _ string) error { pastItsEnd(ctx); return nil })

			return func(context.Context, events.SQSMessage) error { return errBank }
		},
		"OnMessage hangs": func(h *harness) lambdawrap.Handler {
			h.opts.OnMessage = func(ctx context.Context, _ events.SQSMessage, _ lambdawrap.Outcome) { untilItsEnd(ctx) }

			return succeed
		},
		"OnMessage does not stop": func(h *harness) lambdawrap.Handler {
			h.opts.OnMessage = func(ctx context.Context, _ events.SQSMessage, _ lambdawrap.Outcome) { pastItsEnd(ctx) }

			return slowly(time.Second)
		},
	})
}

func TestAQuarterOfTheReserveIsLeftWhenNothingEnds(t *testing.T) {
	answersInTime(t, map[string]func(h *harness) lambdawrap.Handler{
		"all of it": func(h *harness) lambdawrap.Handler {
			h.db.Intercept(faultFor(h.isSettlement, idemddbtest.LateReply))
			h.hiding(func(ctx context.Context, _ string) error { pastItsEnd(ctx); return nil })
			h.opts.OnMessage = func(ctx context.Context, _ events.SQSMessage, _ lambdawrap.Outcome) { pastItsEnd(ctx) }
			h.opts.DeadLetter = func(ctx context.Context, _ events.SQSMessage, _ error) error { pastItsEnd(ctx); return nil }

			return func(_ context.Context, m events.SQSMessage) error {
				switch m.Body {
				case "k0":
					return lambdawrap.Permanent(errBank)
				case "k1":
					return errBank
				case "k2":
					return nil
				default:
					time.Sleep(time.Minute)

					return nil
				}
			}
		},
	})
}

func TestAQuarterOfTheReserveIsLeftWhenCommitsHang(t *testing.T) {
	t.Parallel()

	for _, fault := range []idemddbtest.Fault{idemddbtest.LateReply, idemddbtest.LostRequest, idemddbtest.Throttle} {
		for _, n := range []int{1, 2, 30} { // alone, in a group that the idle workers send, and in a full one
			for _, workers := range []int{1, 4} {
				t.Run(fmt.Sprintf("%v, %d messages, %d workers", fault, n, workers), func(t *testing.T) {
					t.Parallel()
					bubble(t, nil, func(h *harness) {
						h.opts.Optimistic, h.opts.Workers = true, workers
						h.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault { return fault })

						h.within(3*time.Second, h.handle(staged), deliveredFor(numbered(n), 1))
						h.idle()
					})
				})
			}
		}
	}
}

// A hook that begins a trace may return a context which does not derive from the one that it got.
func TestAQuarterOfTheReserveIsLeftWhateverContextTheHookReturns(t *testing.T) {
	t.Parallel()

	for name, way := range map[string]struct {
		wrap       func(*harness, lambdawrap.Handler) wrapped
		optimistic bool
	}{
		"SQS":        {(*harness).handle, false},
		"optimistic": {(*harness).handle, true},
		"Batch":      {(*harness).whole, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bothModes(t, func(h *harness) {
				h.opts.Optimistic = way.optimistic
				h.opts.MessageContext = func(context.Context, events.SQSMessage) context.Context { return context.Background() }

				function := way.wrap(h, func(ctx context.Context, m events.SQSMessage) error {
					h.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault { return idemddbtest.Throttle })

					if way.optimistic {
						return staged(ctx, m)
					}

					return nil
				})
				h.within(3*time.Second, function, deliveredFor(numbered(2), 1))
				h.idle()
			})
		})
	}
}

func untilItsEnd(ctx context.Context) { <-ctx.Done() }

func pastItsEnd(context.Context) { time.Sleep(time.Minute) }

// answersInTime demands that an answer is sent with a quarter of the reserve left. Each of sets prepares an invocation and returns its handler.
func answersInTime(t *testing.T, sets map[string]func(h *harness) lambdawrap.Handler) {
	t.Helper()
	t.Parallel()

	for name, set := range sets {
		for _, limit := range []time.Duration{1200 * time.Millisecond, 3 * time.Second, 10 * time.Second} {
			if testing.Short() && limit != 3*time.Second {
				continue
			}

			t.Run(fmt.Sprint(name, " in ", limit), func(t *testing.T) {
				t.Parallel()
				everyWayAndOptimistic(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
					work := set(h)

					h.within(limit, wrap(work), deliveredFor(numbered(8), 1))
					h.idle()
				})
			})
		}
	}
}
