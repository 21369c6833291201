package lambdawrap_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// A poller of the user's own has no deadline, and cancels its context to end.
func TestWithoutADeadlineAHookHasOneLease(t *testing.T) {
	t.Parallel()

	hang := func() error { time.Sleep(5 * time.Minute); return nil }

	for name, c := range map[string]struct {
		set    func(*lambdawrap.Options)
		failed []string
	}{
		"DeadLetter": {func(o *lambdawrap.Options) {
			o.DeadLetter = func(context.Context, events.SQSMessage, error) error { return hang() }
		}, []string{"m1"}},
		"DeadLetter that looks at its context": {func(o *lambdawrap.Options) {
			o.DeadLetter = func(ctx context.Context, _ events.SQSMessage, _ error) error { <-ctx.Done(); return ctx.Err() }
		}, []string{"m1"}},
		"OnMessage": {func(o *lambdawrap.Options) {
			o.DeadLetter = func(context.Context, events.SQSMessage, error) error { return nil }
			o.OnMessage = func(context.Context, events.SQSMessage, lambdawrap.Outcome) { _ = hang() }
		}, nil},
	} {
		for way, wrap := range map[string]func(*harness, lambdawrap.Handler) wrapped{"SQS": (*harness).handle, "Batch": (*harness).whole} {
			each(t, name+", "+way, inBubble(&idemddb.Options{Lease: 20 * time.Second}), func(h *harness) {
				h.equal("error", claim(h, h.store, "bad").Fail(h.Context(), nil), nil)
				c.set(h.opts)

				ctx, cancel := context.WithCancel(h.Context())
				time.AfterFunc(time.Second, cancel)

				begun := time.Now()
				response, err := wrap(h, succeed)(ctx, batch("m1 bad"))

				h.equal("error", err, nil)
				h.equal("failed", ids(response), c.failed)
				h.lasts(time.Since(begun), 20*time.Second, 20*time.Second+moment)
			})
		}
	}
}
