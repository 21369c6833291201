package lambdawrap_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// While a table refuses records, an effect whose own refusal is not known yet is not followed by another one either.
func TestHandlersThatEndBeforeTheirRefusalIsKnownAreNotFollowedByOthers(t *testing.T) {
	t.Parallel()
	bothModes(t, func(h *harness) {
		h.opts.Workers = 10
		g := &ledger{harness: h}
		begun := time.Now()

		h.db.Intercept(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
			if !isCallOf(isCompletion)(r) {
				return idemddbtest.None
			}

			time.Sleep(50 * time.Millisecond)

			if left := 5*time.Second - time.Since(begun); left > 0 {
				g.refused(0, left)

				return idemddbtest.Throttle
			}

			return idemddbtest.None
		})

		first, others := g.work(time.Millisecond), g.work(30*time.Millisecond)
		failed, _ := h.within(time.Minute, h.handle(func(ctx context.Context, m events.SQSMessage) error {
			if m.Body == "k0" {
				return first(ctx, m)
			}

			return others(ctx, m)
		}), numbered(100))
		h.equal("failed", failed, []string(nil))
		g.bound(h.opts.Workers + 1)
	})
}

// A table that has refused records and writes them again has all workers again, also if it is slow.
func TestATableThatWritesRecordsAgainHasAllWorkersAgain(t *testing.T) {
	t.Parallel()
	bothModes(t, func(h *harness) {
		const refused = time.Second

		h.opts.Workers = 3
		begun := time.Now()

		h.db.Intercept(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
			switch {
			case !isCallOf(isCompletion)(r):
			case time.Since(begun) < refused:
				return idemddbtest.Throttle
			default:
				time.Sleep(45 * time.Millisecond)
			}

			return idemddbtest.None
		})

		failed, took := h.within(time.Minute, h.handle(slowly(20*time.Millisecond)), numbered(60))
		h.equal("failed", failed, []string(nil))

		// A pause of at most 200 ms before the first record that is written, and then 20 ms for each three messages.
		if limit := refused + 200*time.Millisecond + 60/3*20*time.Millisecond + 250*time.Millisecond; took > limit {
			h.Errorf("it takes %v, want at most %v", took, limit)
		}
	})
}
