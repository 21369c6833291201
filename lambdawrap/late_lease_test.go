package lambdawrap_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// A late handler may still run for as long as the process does: until the answer is sent, which may wait for another message's hook.
func TestTheLeaseOfALateHandlerIsRenewedUntilTheAnswerIsSent(t *testing.T) {
	t.Parallel()
	bubble(t, &idemddb.Options{Lease: 4 * time.Second}, func(h *harness) {
		const limit, reserve = time.Minute, 40 * time.Second

		begun := time.Now()
		h.opts.Workers, h.opts.Reserve = 2, reserve
		h.opts.DeadLetter = func(context.Context, events.SQSMessage, error) error { // begins before the first handler is late
			time.Sleep(reserve)

			return nil
		}
		function := h.handle(func(_ context.Context, m events.SQSMessage) error {
			if m.Body == "k1" {
				time.Sleep(limit - reserve)

				return lambdawrap.Permanent(errBank)
			}

			time.Sleep(2 * limit)

			return nil
		})

		time.AfterFunc(limit-reserve/4-time.Second, func() { // a second before the answer, and many leases after the handler was late
			c, _, err := h.open(h.db, nil).Claim(context.Background(), "k0", nil)
			if c != nil || !errors.Is(err, idemddb.ErrInProgress) {
				h.Errorf("after %v: got claim %v, error %v, want in progress", time.Since(begun), c, err)
			}
		})

		failed, _ := h.within(limit, function, numbered(2))
		h.equal("failed", failed, []string{"m0", "m1"})
	})
}
