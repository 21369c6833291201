package lambdawrap_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// answers are what a handler may say, and what becomes of its message.
var answers = []struct {
	name   string
	give   func() error
	failed []string // of two messages
	state  string
	log    string
}{
	{"success", func() error { return nil }, nil, "COMPLETED", ""},
	{"error", func() error { return errBank }, messageIDs(2), "INPROGRESS released", "outcome=released"},
	{"panic", func() error { panic("late") }, messageIDs(2), "INPROGRESS released", "outcome=released"},
	{"exit", func() error { goexit(); return nil }, messageIDs(2), "INPROGRESS released", "outcome=released"},
	{"permanent", func() error { return lambdawrap.Permanent(errBank) }, messageIDs(2), "FAILED", "outcome=failed"},
}

func TestWhatAHandlerAnswersInTheFirstHalfOfTheReserveCounts(t *testing.T) {
	t.Parallel()

	for _, answer := range answers {
		for _, into := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 499 * time.Millisecond} {
			t.Run(fmt.Sprint(answer.name, " after ", into), func(t *testing.T) {
				t.Parallel()
				claimedAndOptimistic(t, everyMode, func(h *harness) {
					h.opts.Workers = 2 // so that commits share a transaction
					failed, _ := h.within(30*time.Second, h.handle(h.staging(func(context.Context, events.SQSMessage) error {
						time.Sleep(29*time.Second + into)

						return answer.give()
					})), numbered(2))
					h.equal("failed", failed, answer.failed)
					h.equal("record", h.state("k0"), answer.state)

					if got := h.log.String(); answer.log == "" && got != "" || !strings.Contains(got, answer.log) {
						h.Errorf("log: got %q, want %q", got, answer.log)
					}

					h.idle()
					h.equal("record afterwards", h.state("k0"), answer.state)
					h.equal("committed", h.counted("k0") == "1", answer.state == "COMPLETED" && h.opts.Optimistic)
				})
			})
		}
	}
}

func TestABatchThatObeysLosesNothing(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		var done effects

		n := h.untilDone(10*time.Second, h.event(&h.runs, func(ctx context.Context, event events.SQSEvent) (r events.SQSEventResponse, _ error) {
			for _, m := range event.Records {
				select {
				case <-time.After(2 * time.Second):
					done.add(m)
				case <-ctx.Done():
					r.BatchItemFailures = append(r.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
				}
			}

			return r, nil
		}), numbered(5), 5)

		all, doubles := done.sum()
		h.equal("effects, doubles, invocations", []int{all, doubles, n}, []int{5, 0, 2})
	})
}

func TestWithNoTakeoverAHandlerThatObeysNeverLeavesAFailedKey(t *testing.T) {
	t.Parallel()

	for _, single := range []bool{false, true} {
		for name, wrap := range map[string]func(*harness, lambdawrap.Handler) wrapped{"SQS": (*harness).handle, "Batch": (*harness).whole} {
			t.Run(fmt.Sprint(name, ", single: ", single), func(t *testing.T) {
				t.Parallel()
				bubble(t, &idemddb.Options{NoTakeover: true, Single: single}, func(h *harness) {
					var done effects

					h.untilDone(10*time.Second, wrap(h, func(ctx context.Context, m events.SQSMessage) error {
						select {
						case <-time.After(2300 * time.Millisecond):
							done.add(m)

							return nil
						case <-ctx.Done():
							return errBank // nothing was sent
						}
					}), numbered(10), 10)

					for i := range 10 {
						h.equal("record", h.state(fmt.Sprint("k", i)), "COMPLETED")
					}

					all, doubles := done.sum()
					h.equal("effects", []int{all, doubles}, []int{10, 0})
				})
			})
		}
	}
}

// The handler of a late message may wake up with the next event of its process.
func TestALateHandlerAndItsMessagesNextDeliveryDoNotRunAtOnce(t *testing.T) {
	t.Parallel()
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		queue := h.hiding(nil)

		var running, most atomic.Int64

		function := wrap(func(context.Context, events.SQSMessage) error {
			raise(&most, running.Add(1))
			defer running.Add(-1)

			time.Sleep(30 * time.Second)

			return nil
		})

		begun := time.Now()
		failed, took := h.within(10*time.Second, function, deliveredFor(numbered(1), 1))
		h.equal("failed", failed, []string{"m0"})

		if took < 9500*time.Millisecond {
			h.Errorf("the handler is late after %v", took)
		}

		h.hidden(queue, "m0", 33, 33)
		h.equal("extensions", h.count(idemddb.KindExtended), 1)
		h.equal("record", h.state("k0"), "INPROGRESS")

		for _, at := range []int{10, 11, 12, 30, 39} { // the lease ends 30 s after the handler was late, and the skew is 1 s
			time.Sleep(time.Until(begun.Add(time.Duration(at) * time.Second)))
			h.runs.clear()

			failed, _ = h.within(10*time.Second, function, deliveredFor(numbered(1), 2))
			h.equal(fmt.Sprintf("failed after %d s", at), failed, []string{"m0"})
		}

		time.Sleep(time.Until(begun.Add(42 * time.Second)))

		failed, _ = h.within(time.Minute, function, deliveredFor(numbered(1), 3))
		h.equal("failed", failed, []string(nil))
		h.equal("at once", most.Load(), int64(1))
	})
}

func TestTheLeaseOfAHandlerThatRunsInALongReserveIsRenewed(t *testing.T) {
	t.Parallel()

	for _, single := range []bool{false, true} {
		for name, wrap := range map[string]func(*harness, lambdawrap.Handler) wrapped{"SQS": (*harness).handle, "Batch": (*harness).whole} {
			t.Run(fmt.Sprint(name, ", single: ", single), func(t *testing.T) {
				t.Parallel()
				bubble(t, &idemddb.Options{Lease: 4 * time.Second, Single: single}, func(h *harness) {
					h.opts.Reserve = 30 * time.Second
					other := h.open(h.db, &idemddb.Options{Lease: 4 * time.Second})

					var taken atomic.Bool

					go func() {
						for range 58 {
							time.Sleep(time.Second)

							if claim, _, _ := other.Claim(h.Context(), "k0", nil); claim != nil {
								taken.Store(true)
							}
						}
					}()

					failed, _ := h.within(time.Minute, wrap(h, slowly(44*time.Second)), numbered(1)) // the handler ends 14 s into the reserve
					h.equal("failed", failed, []string(nil))
					h.equal("taken over while its handler ran", taken.Load(), false)
					h.equal("record", h.state("k0"), "COMPLETED")
				})
			})
		}
	}
}
