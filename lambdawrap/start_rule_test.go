package lambdawrap_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// untilDone delivers messages in batches of so many until none is left, with a minute between two deliveries.
func (h *harness) untilDone(limit time.Duration, function wrapped, event events.SQSEvent, size int) {
	h.Helper()

	open := event.Records

	for n := 1; n <= 100; n++ {
		some := open[:min(size, len(open))]
		failed, _ := h.within(limit, function, deliveredFor(events.SQSEvent{Records: slices.Clone(some)}, n))
		open = slices.DeleteFunc(slices.Clone(open), func(m events.SQSMessage) bool {
			isInBatch := slices.ContainsFunc(some, func(other events.SQSMessage) bool { return other.MessageId == m.MessageId })

			return isInBatch && !slices.Contains(failed, m.MessageId)
		})

		if len(open) == 0 {
			return
		}

		time.Sleep(time.Minute)
	}

	h.Errorf("%d messages are still open after 100 invocations", len(open))
}

func TestABatchThatDoesNotFitHasAsManyEffectsAsMessages(t *testing.T) {
	t.Parallel()

	for _, workers := range []int{1, 3} {
		for _, timeout := range []time.Duration{0, 2100 * time.Millisecond, 3 * time.Second} {
			for _, reserve := range []time.Duration{
				0, 1900 * time.Millisecond, 2500 * time.Millisecond, 3 * time.Second, 4500 * time.Millisecond, 6500 * time.Millisecond,
			} {
				if testing.Short() && (workers == 1 || timeout == 3*time.Second) {
					continue
				}

				each(t, fmt.Sprintf("%d workers, Timeout %v, Reserve %v", workers, timeout, reserve), everyMode, func(h *harness) {
					h.opts.Workers, h.opts.Timeout, h.opts.Reserve = workers, timeout, reserve

					h.untilDone(10*time.Second, h.handle(slowly(2*time.Second)), numbered(20), 10) // a call cannot be interrupted
					h.ran(messageIDs(20)...)
				})
			}
		}
	}
}

// A handler starts if a quarter more is left than the longest of the last 16 took, or half of the time.
func TestAHandlerStartsIfAQuarterMoreThanTheLongestIsLeft(t *testing.T) {
	t.Parallel()

	const second, half, quick = time.Second, 500 * time.Millisecond, 600 * time.Millisecond

	for name, c := range map[string]struct {
		takes []time.Duration
		err   error
		want  int
	}{
		// 9 s need 11.25 s, more than the half that is the most that is asked for: they start at 0 s and 9 s.
		"the first half, whatever comes": {[]time.Duration{9 * second}, nil, 2},
		"almost half":                    {[]time.Duration{9900 * time.Millisecond}, nil, 2},
		"more than half":                 {[]time.Duration{10100 * time.Millisecond}, nil, 1},
		// 4 s need 5 s: they start at 0, 4, 8 and 12 s, and not at 16 s with 4 s left. 2 s after one of 4 s: up to 15 s.
		"4 s": {[]time.Duration{4 * second}, nil, 4},
		// They start at 0, 4, 6, 8, 10, 12, 14 s; none starts at 16 s.
		"2 s after one of 4 s": {[]time.Duration{4 * second, 2 * second}, nil, 7},
		// The last one starts at 16 s with 4 s left; none starts at 18 s, when 2 s are left.
		"2 s": {[]time.Duration{2 * second}, nil, 9},
		// After 16 more, at 12 s, 5 s are not asked for any more but 0.625 s: the last one starts at 19 s.
		"a slow one is forgotten after 16 others": {append([]time.Duration{4 * second}, slices.Repeat([]time.Duration{half}, 17)...), nil, 1 + 31},
		// The slow one stays among the last 16, so that 8.75 s are asked for: the last one starts at 11.2 s.
		"and not before": {append([]time.Duration{7 * second}, slices.Repeat([]time.Duration{quick}, 14)...), nil, 9},
		// Failures say nothing about the time that one takes, so half of the time must be left, as it is from 0 to 9.9 s.
		"all fail": {[]time.Duration{990 * time.Millisecond}, errBank, 11},
	} {
		each(t, name, everyMode, func(h *harness) {
			var n atomic.Int64

			h.within(21*time.Second, h.handle(func(context.Context, events.SQSMessage) error { // the reserve takes one second
				time.Sleep(c.takes[min(int(n.Add(1)), len(c.takes))-1])

				return c.err
			}), numbered(100))
			h.equal("started", int(n.Load()), c.want)
		})
	}
}

// If handlers are quicker than DynamoDB, at most 100 finished effects wait for their records.
func TestHandlersWaitWhileTooManyEffectsAreUnrecorded(t *testing.T) {
	t.Parallel()

	for _, mode := range modes[:2] {
		each(t, mode.name, inBubble(&mode.opts), func(h *harness) {
			var handled, recorded, most atomic.Int64

			h.db.Intercept(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
				if isCallOf(isCompletion)(r) {
					time.Sleep(time.Second)

					raise(&most, handled.Load()-recorded.Load())
					recorded.Add(int64(max(1, len(r.Items))))
				}

				return idemddbtest.None
			})
			h.check(h.handle(does(func() error { handled.Add(1); return nil })), numbered(300), nil, messageIDs(300))
			h.atMost("effects that were unrecorded at once", int(most.Load()), 100)
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
	workers := 1000
	if testing.Short() {
		workers = 200
	}

	bothModes(t, func(h *harness) {
		h.opts.Workers = workers

		var calls meter

		h.slowRequests(10 * time.Millisecond)

		took := h.answeredIn(time.Minute, h.handle(calls.slowly(time.Second)), numbered(2*workers))
		h.equal("at once", calls.most.Load(), int64(workers))
		h.lasts(took, 0, 3*time.Second)
	})
}

// A call on the slow ledger takes 50 to 250 ms and has its effect at once. The ledger of a handler that obeys loses its answer
// when the context ends, and then nobody knows of the effect.
func TestASlowLedgerWithoutAFaultHasNoDoubleEffect(t *testing.T) {
	t.Parallel()

	runs := 40
	if testing.Short() {
		runs = 5
	}

	for _, obeys := range []bool{false, true} {
		for seed := range runs {
			opts := &idemddb.Options{Single: seed%2 == 1}
			each(t, fmt.Sprintf("the handler obeys: %t, seed %d", obeys, seed), inBubble(opts), func(h *harness) {
				random := rand.New(rand.NewPCG(uint64(seed), 1))

				if obeys {
					h.opts.Timeout = 300 * time.Millisecond
				}

				h.untilDone(3*time.Second, h.handle(func(ctx context.Context, _ events.SQSMessage) error {
					if !obeys {
						ctx = context.WithoutCancel(ctx)
					}

					select {
					case <-time.After(50*time.Millisecond + time.Duration(random.Int64N(int64(200*time.Millisecond)))):
						return nil
					case <-ctx.Done():
						return context.Cause(ctx)
					}
				}), numbered(60), 20)
				time.Sleep(time.Minute) // those that still run end
				h.ran(messageIDs(60)...)
			})
		}
	}
}
