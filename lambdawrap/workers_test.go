package lambdawrap_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

func TestNeverMoreHandlersThanWorkers(t *testing.T) {
	t.Parallel()

	for _, workers := range []int{1, 3, 50} {
		t.Run(strconv.Itoa(workers), func(t *testing.T) {
			t.Parallel()
			everyMode(t, func(h *harness) {
				h.opts.Workers = workers

				var running, most atomic.Int64

				function := h.handle(func(context.Context, events.SQSMessage) error {
					raise(&most, running.Add(1))
					defer running.Add(-1)

					time.Sleep(time.Second)

					return nil
				})

				begun := time.Now()
				response, err := function(h.Context(), numbered(100))
				h.equal("error", err, nil)
				h.equal("failed", ids(response), []string(nil))
				h.equal("at once", most.Load(), int64(workers))
				h.equal("runs", len(h.runs.all()), 100)

				// In each round a worker waits for its next claim at most as long as the claims wait for each other.
				rounds := float64((99 + workers) / workers)
				if took := time.Since(begun).Seconds(); took < rounds || took > 1.0004*rounds {
					h.Errorf("took %v s, want %v s", took, rounds)
				}
			})
		})
	}
}

// If handlers are quicker than DynamoDB, at most 100 finished effects wait for their records.
func TestHandlersWaitWhileTooManyEffectsAreUnrecorded(t *testing.T) {
	t.Parallel()

	for _, mode := range modes[:2] {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, &mode.opts, func(h *harness) {
				var handled, recorded, most atomic.Int64

				h.db.Intercept(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
					if isCallOf(isCompletion)(r) {
						time.Sleep(time.Second)

						raise(&most, handled.Load()-recorded.Load())
						recorded.Add(int64(max(1, len(r.Items))))
					}

					return idemddbtest.None
				})
				h.check(h.handle(func(context.Context, events.SQSMessage) error {
					handled.Add(1)

					return nil
				}), numbered(300), nil, messageIDs(300))

				if most.Load() > 100 {
					t.Errorf("%d effects were unrecorded at once", most.Load())
				}
			})
		})
	}
}

// raise sets a number to another one if that is higher.
func raise(n *atomic.Int64, to int64) {
	for {
		now := n.Load()
		if to <= now || n.CompareAndSwap(now, to) {
			return
		}
	}
}

func TestAThousandWorkersRunAThousandHandlersAtOnce(t *testing.T) {
	t.Parallel()
	bothModes(t, func(h *harness) {
		h.opts.Workers = 1000

		var running, most atomic.Int64

		h.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
			time.Sleep(10 * time.Millisecond)

			return idemddbtest.None
		})

		failed, took := h.within(time.Minute, h.handle(func(context.Context, events.SQSMessage) error {
			raise(&most, running.Add(1))
			defer running.Add(-1)

			time.Sleep(time.Second)

			return nil
		}), numbered(2000))
		h.equal("failed", failed, []string(nil))
		h.equal("at once", most.Load(), int64(1000))

		if took > 3*time.Second {
			h.Errorf("it takes %v", took)
		}
	})
}
