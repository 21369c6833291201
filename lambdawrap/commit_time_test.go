package lambdawrap_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// A commit waits for others while a hook for dead letters is at work, but not longer than until the answer is due.
func TestACommitDoesNotWaitForOthersUntilItIsTooLate(t *testing.T) {
	t.Parallel()

	for range 5 { // chance decides which goroutine of one instant runs first
		claimedAndOptimistic(t, everyMode, func(h *harness) {
			h.opts.Workers, h.opts.Reserve = 2, 200*time.Millisecond // handlers are late with 100 ms left, and the answer is sent with 50 ms left
			h.opts.DeadLetter = func(ctx context.Context, _ events.SQSMessage, _ error) error { untilItsEnd(ctx); return nil }

			failed, _ := h.within(time.Second, h.handle(h.staging(func(_ context.Context, m events.SQSMessage) error {
				if m.Body == "k1" {
					return lambdawrap.Permanent(errBank)
				}

				time.Sleep(860 * time.Millisecond) // this is 60 ms into the reserve

				return nil
			})), numbered(2))
			h.equal("failed", failed, []string{"m1"})
			h.equal("record", h.state("k0"), "COMPLETED")
		})
	}
}
