package lambdawrap_test

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strings"
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
			each(t, fmt.Sprint(answer.name, " after ", into), claimedAndOptimistic(everyMode), func(h *harness) {
				h.opts.Workers = 2 // so that commits share a transaction
				h.answeredIn(30*time.Second, h.handle(h.staging(func(context.Context, events.SQSMessage) error {
					time.Sleep(29*time.Second + into)

					return answer.give()
				})), numbered(2), answer.failed...)
				h.equal("record", h.state("k0"), answer.state)

				if got := h.log.String(); answer.log == "" && got != "" || !strings.Contains(got, answer.log) {
					h.Errorf("log: got %q, want %q", got, answer.log)
				}

				h.idle()
				h.equal("record afterwards", h.state("k0"), answer.state)
				h.equal("committed", h.counted("k0") == "1", answer.state == "COMPLETED" && h.opts.Optimistic)
			})
		}
	}
}

func TestWithNoTakeoverAHandlerThatObeysNeverLeavesAFailedKey(t *testing.T) {
	t.Parallel()

	for _, single := range []bool{false, true} {
		opts := &idemddb.Options{NoTakeover: true, Single: single}
		each(t, fmt.Sprint("single: ", single), sqsAndBatch(opts), func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
			var done journal // ids of messages that were worked on

			h.untilDone(10*time.Second, wrap(func(ctx context.Context, m events.SQSMessage) error {
				select {
				case <-time.After(2300 * time.Millisecond):
					done.add(m.MessageId)

					return nil
				case <-ctx.Done():
					return errBank // nothing was sent
				}
			}), numbered(10), 10)
			h.settled(10)
			h.sorted("effects", &done, messageIDs(10)...)
		})
	}
}

// The handler of a late message may wake up with the next event of its process.
func TestALateHandlerAndItsMessagesNextDeliveryDoNotRunAtOnce(t *testing.T) {
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		queue := h.hiding(nil)

		var calls meter

		function, begun := wrap(calls.slowly(30*time.Second)), time.Now()
		took := h.answeredIn(10*time.Second, function, deliveredFor(numbered(1), 1), "m0")
		h.lasts(took, 9500*time.Millisecond, time.Hour)

		// This is the lease of 30 s, which a late handler keeps because it may still run, and the skew of both clocks.
		h.hidden(queue, "m0", 33, 33)
		h.equal("extensions", h.count(idemddb.KindExtended), 1)
		h.equal("record", h.state("k0"), "INPROGRESS")

		for _, at := range []int{10, 11, 12, 30, 39} { // the lease ends 30 s after the handler was late, and the skew is 1 s
			time.Sleep(time.Until(begun.Add(time.Duration(at) * time.Second)))
			h.answeredIn(10*time.Second, function, deliveredFor(numbered(1), 2), "m0")
		}

		time.Sleep(time.Until(begun.Add(42 * time.Second)))

		h.answeredIn(time.Minute, function, deliveredFor(numbered(1), 3))
		h.equal("at once", calls.most.Load(), int64(1))
	})
}

func TestTheLeaseOfAHandlerThatRunsInALongReserveIsRenewed(t *testing.T) {
	t.Parallel()

	for _, single := range []bool{false, true} {
		opts := &idemddb.Options{Lease: 4 * time.Second, Single: single}
		each(t, fmt.Sprint("single: ", single), sqsAndBatch(opts), func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
			h.opts.Reserve = 30 * time.Second
			ctx, cancel := context.WithCancel(h.Context())
			taken := h.competitor(ctx, 1, time.Second)

			h.answeredIn(time.Minute, wrap(slowly(44*time.Second)), numbered(1)) // the handler ends 14 s into the reserve
			cancel()
			h.equal("taken over while its handler ran", taken.Load(), int64(0))
			h.equal("record", h.state("k0"), "COMPLETED")
		})
	}
}

func TestALateResultIsDroppedWhateverItIs(t *testing.T) {
	t.Parallel()

	for _, answer := range answers {
		each(t, answer.name, everyWayAndOptimistic, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
			dead := h.parking()

			h.answeredIn(10*time.Second, wrap(func(ctx context.Context, _ events.SQSMessage) error {
				<-ctx.Done()
				time.Sleep(600 * time.Millisecond) // after it, less than half of the reserve is left
				h.equal("it can stage more", idemddb.Stage(ctx, idemddb.Effects{}) == nil, false)

				return answer.give()
			}), numbered(1), "m0")
			h.logs("level=WARN", "outcome=late")

			// The handler may still run, so its claim lasts for one more lease, which nothing renews. What it staged without one is dropped.
			time.Sleep(20 * time.Second)

			if h.opts.Optimistic {
				h.equal("record", h.state("k0"), "none")
			} else {
				_, _, err := h.store.Claim(h.Context(), "k0", nil)
				h.fails(err, idemddb.ErrInProgress)
				h.equal("record", h.state("k0"), "INPROGRESS")
			}

			h.noRenewals()
			h.equal("committed", h.counted("k0"), "")
			h.equal("dead letters", dead.all(), []string(nil))

			claim(h, h.store, "k0") // the lease is over
		})
	}
}

// A late handler may still run for as long as the process does: until the answer is sent, which may wait for another message's
// hook.
func TestTheLeaseOfALateHandlerIsRenewedUntilTheAnswerIsSent(t *testing.T) {
	inBubble(&idemddb.Options{Lease: 4 * time.Second})(t, func(h *harness) {
		const limit, reserve = time.Minute, 40 * time.Second

		h.opts.Workers, h.opts.Reserve = 2, reserve
		h.opts.DeadLetter = hookOf(slowly(reserve)) // the hook begins before the first handler is late
		function := h.handle(byKey(map[string]lambdawrap.Handler{"k1": does(func() error {
			time.Sleep(limit - reserve)

			return lambdawrap.Permanent(errBank)
		})}, slowly(2*limit)))

		time.AfterFunc(limit-reserve/4-time.Second, func() { // this is a second before the answer, and many leases after the handler was late
			_, _, err := h.open(h.db, nil).Claim(context.Background(), "k0", nil)
			h.fails(err, idemddb.ErrInProgress)
		})

		h.answeredIn(limit, function, numbered(2), "m0", "m1")
	})
}

func TestATimeoutThatDoesNotFitIsAnErrorWithTheNumbers(t *testing.T) {
	everyWayAndOptimistic(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		h.opts.Timeout, h.opts.Reserve = 8*time.Second, 3*time.Second
		function := wrap(succeed)

		h.errs("in 10 s", errorOf(function(h.limited(10*time.Second), numbered(3))), "8s", "3s", "10s", "Options.Timeout")
		h.ran()
		h.equal("requests", len(h.db.Requests()), 0)

		h.answeredIn(11*time.Second, function, numbered(1))
		h.check(function, deliveredFor(numbered(3), 2), nil, []string{"m1", "m2"}) // there is no deadline
	})
}

// People write the longest duration for no limit.
func TestTheLongestDurationsAreNoLimits(t *testing.T) {
	t.Parallel()

	const forever = time.Duration(math.MaxInt64)

	each(t, "messages", everyWayAndOptimistic, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		h.opts.Timeout, h.opts.Wait, h.opts.Workers = forever, forever, 2
		h.check(wrap(slowly(time.Second)), numbered(4), nil, messageIDs(4))
	})

	each(t, "HTTP", bothWebs, func(w *web) {
		w.opts.Timeout, w.opts.Wait = forever, forever
		w.work = stagingHandler(nil)
		w.answered(w.post("k", "{}"), http.StatusCreated, "false", `{"id":"p-1"}`)
	})

	each(t, "Func", everyFunc, func(f *funcHarness) {
		f.opts.Timeout, f.opts.Wait = forever, forever
		f.answers(0)
	})
}

func TestTheTimeoutEndsTheContextOfAHandler(t *testing.T) {
	everyWayAndOptimistic(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		h.opts.Timeout = 2 * time.Second

		h.answeredIn(30*time.Second, wrap(func(ctx context.Context, m events.SQSMessage) error {
			begun := time.Now()
			deadline, _ := ctx.Deadline()

			<-ctx.Done()

			if took := time.Since(begun); deadline.After(begun.Add(2*time.Second)) || took > 2*time.Second {
				h.Errorf("%s: the context ends after %v, its deadline is in %v", m.MessageId, took, deadline.Sub(begun))
			}

			return nil // it is done all the same
		}), numbered(3))
		h.ran(messageIDs(3)...)
	})
}

func TestAnAnswerAfterTheTimeoutCounts(t *testing.T) {
	everyWayAndOptimistic(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		h.opts.Timeout = 2 * time.Second

		h.answeredIn(30*time.Second, wrap(only("k0", slowly(2400*time.Millisecond))), numbered(4)) // it is late at 2.5 s
		h.ran(messageIDs(4)...)
		h.equal("record", h.state("k0"), "COMPLETED")
	})
}

func TestWhenAllWorkersAreLateTheAnswerIsSentAndTheRestIsUnclaimed(t *testing.T) {
	t.Parallel()

	for _, workers := range []int{1, 3} {
		each(t, fmt.Sprint(workers, " workers"), claimedAndOptimistic(everyMode), func(h *harness) {
			h.opts.Timeout, h.opts.Workers = 2*time.Second, workers
			place := h.hiding(nil)

			function := h.handle(h.staging(byKey(map[string]lambdawrap.Handler{"k0": succeed}, slowly(time.Minute))))
			took := h.answeredIn(15*time.Minute, function, deliveredFor(numbered(60), 1), messageIDs(60)[1:]...)
			h.lasts(took, 2500*time.Millisecond, 2500*time.Millisecond+moment)

			late, from, to := "INPROGRESS", int32(33), int32(33) // the lease of a handler that may still run is 30 s, and there are two skews
			if h.opts.Optimistic {
				late, from, to = "none", 1, 2
			}

			for i := 1; i < 60; i++ {
				state, want := h.state(fmt.Sprint("k", i)), late
				if i > workers {
					want = "INPROGRESS released"
					if state == "none" {
						want = "none"
					}
				}

				h.equal(fmt.Sprint("record of k", i), state, want)
			}

			h.hidden(place, "m1", from, to)
			h.equal("lines of late handlers", strings.Count(h.log.String(), "outcome=late"), workers)
			h.idle()
		})
	}
}

func TestABatchHandlerThatIsLateAfterItsTimeoutIsAnsweredForAtOnce(t *testing.T) {
	everyMode(t, func(h *harness) {
		h.opts.Timeout, h.opts.Workers = 2*time.Second, 3

		took := h.answeredIn(15*time.Minute, h.whole(slowly(time.Minute)), numbered(3), messageIDs(3)...)
		h.lasts(took, 2500*time.Millisecond, 2500*time.Millisecond+moment)

		h.equal("held", h.held(), 3)
	})
}
