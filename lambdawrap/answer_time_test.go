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

func TestTheAnswerIsSentWithAQuarterOfTheReserveLeft(t *testing.T) {
	t.Parallel()

	hang := func(ctx context.Context) { <-ctx.Done() }
	deaf := func(context.Context) { time.Sleep(time.Minute) }

	for name, set := range map[string]func(h *harness) lambdawrap.Handler{
		"claims hang": func(h *harness) lambdawrap.Handler {
			h.db.Intercept(faultFor(isCallOf(isClaim), idemddbtest.LateReply))

			return succeed
		},
		"completions hang": func(h *harness) lambdawrap.Handler {
			h.db.Intercept(faultFor(isCallOf(isCompletion), idemddbtest.LateReply))

			return succeed
		},
		"all requests after the claims hang": func(h *harness) lambdawrap.Handler {
			h.db.Intercept(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
				if isCallOf(isClaim)(r) {
					return idemddbtest.None
				}

				return idemddbtest.LateReply
			})

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
		"handlers do not stop": func(*harness) lambdawrap.Handler { return slowly(time.Minute) },
		"the dead-letter hook hangs": func(h *harness) lambdawrap.Handler {
			h.opts.DeadLetter = func(ctx context.Context, _ events.SQSMessage, _ error) error { hang(ctx); return nil }

			return func(context.Context, events.SQSMessage) error { return lambdawrap.Permanent(errBank) }
		},
		"the dead-letter hook does not stop": func(h *harness) lambdawrap.Handler {
			h.opts.DeadLetter = func(ctx context.Context, _ events.SQSMessage, _ error) error { deaf(ctx); return nil }

			return func(context.Context, events.SQSMessage) error { return lambdawrap.Permanent(errBank) }
		},
		"SQS hangs": func(h *harness) lambdawrap.Handler {
			h.hiding(func(ctx context.Context, _ string) error { hang(ctx); return nil })

			return func(context.Context, events.SQSMessage) error { return errBank }
		},
		"the client of SQS does not stop": func(h *harness) lambdawrap.Handler {
			h.hiding(func(ctx context.Context, _ string) error { deaf(ctx); return nil })

			return func(context.Context, events.SQSMessage) error { return errBank }
		},
		"OnMessage hangs": func(h *harness) lambdawrap.Handler {
			h.opts.OnMessage = func(ctx context.Context, _ events.SQSMessage, _ lambdawrap.Outcome) { hang(ctx) }

			return succeed
		},
		"OnMessage does not stop": func(h *harness) lambdawrap.Handler {
			h.opts.OnMessage = func(ctx context.Context, _ events.SQSMessage, _ lambdawrap.Outcome) { deaf(ctx) }

			return slowly(time.Second)
		},
		"all of it": func(h *harness) lambdawrap.Handler {
			h.db.Intercept(faultFor(func(r idemddbtest.Request) bool { return !isCallOf(isClaim)(r) }, idemddbtest.LateReply))
			h.hiding(func(ctx context.Context, _ string) error { deaf(ctx); return nil })
			h.opts.OnMessage = func(ctx context.Context, _ events.SQSMessage, _ lambdawrap.Outcome) { deaf(ctx) }
			h.opts.DeadLetter = func(ctx context.Context, _ events.SQSMessage, _ error) error { deaf(ctx); return nil }

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
	} {
		for _, limit := range []time.Duration{1200 * time.Millisecond, 3 * time.Second, 10 * time.Second} {
			if testing.Short() && limit != 3*time.Second {
				continue
			}

			t.Run(fmt.Sprint(name, " in ", limit), func(t *testing.T) {
				t.Parallel()
				everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
					work := set(h)

					h.within(limit, wrap(work), deliveredFor(numbered(8), 1))
					h.idle()
				})
			})
		}
	}
}
