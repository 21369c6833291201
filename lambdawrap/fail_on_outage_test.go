package lambdawrap_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestWithFailOnOutageAnOutageIsAnInvocationError(t *testing.T) {
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
		{"an invocation that is not much longer than the retry time of claims", numbered(30), 8 * time.Second},
	} {
		for _, w := range wrapsAndOptimistic {
			if testing.Short() && len(c.messages.Records) == 30 && w.name == "Batch" {
				continue
			}

			t.Run(c.name+", "+w.name, func(t *testing.T) {
				t.Parallel()
				bothModes(t, func(h *harness) {
					h.opts.FailOnOutage, h.opts.Workers = true, w.workers
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

func TestWithFailOnOutageAnythingElseIsReportedMessageByMessage(t *testing.T) {
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
				claim(h, h.store, fmt.Sprint("k", i))
			}

			return succeed
		},
		"none has a key": func(h *harness) lambdawrap.Handler {
			h.opts.Key = func(context.Context, events.SQSMessage) (string, error) { return "", nil }

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
					h.opts.FailOnOutage, h.opts.Workers = true, w.workers

					h.within(20*time.Second, w.wrap(h, set(h)), numbered(3))
				})
			})
		}
	}
}
