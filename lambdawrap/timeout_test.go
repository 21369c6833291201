package lambdawrap_test

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestATimeoutThatDoesNotFitIsAnErrorWithTheNumbers(t *testing.T) {
	t.Parallel()
	everyWayAndOptimistic(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		h.opts.Timeout, h.opts.Reserve = 8*time.Second, 3*time.Second
		function := wrap(succeed)

		ctx, cancel := context.WithTimeout(h.Context(), 10*time.Second)
		defer cancel()

		_, err := function(ctx, numbered(3))
		for _, number := range []string{"8s", "3s", "10s", "Options.Timeout"} {
			if err == nil || !strings.Contains(err.Error(), number) {
				h.Errorf("got %v, want an error that says %s", err, number)
			}
		}

		h.equal("runs", len(h.runs.all()), 0)
		h.equal("requests", len(h.db.Requests()), 0)

		failed, _ := h.within(11*time.Second, function, numbered(1))
		h.equal("failed in 11 s", failed, []string(nil))
		h.check(function, deliveredFor(numbered(3), 2), nil, []string{"m1", "m2"}) // there is no deadline
	})
}

// People write the longest duration for no limit.
func TestTheLongestDurationsAreNoLimits(t *testing.T) {
	t.Parallel()

	const forever = time.Duration(math.MaxInt64)

	everyWayAndOptimistic(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		h.opts.Timeout, h.opts.Wait, h.opts.Workers = forever, forever, 2
		h.check(wrap(func(context.Context, events.SQSMessage) error {
			time.Sleep(time.Second)

			return nil
		}), numbered(4), nil, messageIDs(4))
	})

	bothWebs(t, nil, func(w *web) {
		w.opts.Timeout, w.opts.Wait = forever, forever
		w.work = stagingHandler(nil)
		w.answered(w.post("k", "{}"), http.StatusCreated, "false", `{"id":"p-1"}`)
	})

	bubble(t, nil, func(h *harness) {
		f := newFunc(h)
		f.opts.Timeout, f.opts.Wait = forever, forever
		_, err := f.wrap(func(context.Context, order) (paid, error) { return paid{}, nil })(h.Context(), order{ID: "o-1"})
		h.equal("error of Func", err, nil)
	})
}

func TestTheTimeoutEndsTheContextOfAHandler(t *testing.T) {
	t.Parallel()
	everyWayAndOptimistic(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		h.opts.Timeout = 2 * time.Second

		var ended effects

		failed, _ := h.within(30*time.Second, wrap(func(ctx context.Context, m events.SQSMessage) error {
			begun := time.Now()
			deadline, _ := ctx.Deadline()

			<-ctx.Done()

			if took := time.Since(begun); deadline.After(begun.Add(2*time.Second)) || took > 2*time.Second {
				h.Errorf("%s: the context ends after %v, its deadline is in %v", m.MessageId, took, deadline.Sub(begun))
			}

			ended.add(m)

			return nil // it is done all the same
		}), numbered(3))
		h.equal("failed", failed, []string(nil))

		all, _ := ended.sum()
		h.equal("ended", all, 3)
	})
}

func TestAnAnswerAfterTheTimeoutCounts(t *testing.T) {
	t.Parallel()
	everyWayAndOptimistic(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		h.opts.Timeout = 2 * time.Second

		failed, _ := h.within(30*time.Second, wrap(func(_ context.Context, m events.SQSMessage) error {
			if m.Body == "k0" {
				time.Sleep(2400 * time.Millisecond) // it is late at 2.5 s
			}

			return nil
		}), numbered(4))
		h.equal("failed", failed, []string(nil))
		h.ran(messageIDs(4)...)
		h.equal("record", h.state("k0"), "COMPLETED")
	})
}

func TestAHandlerThatIsLateAfterItsTimeoutKeepsItsWorkerWhileOthersGoOn(t *testing.T) {
	t.Parallel()
	claimedAndOptimistic(t, everyMode, func(h *harness) {
		h.opts.Timeout, h.opts.Workers = 2*time.Second, 2

		var running, most atomic.Int64

		failed, took := h.within(60*time.Second, h.handle(h.staging(func(_ context.Context, m events.SQSMessage) error {
			raise(&most, running.Add(1))
			defer running.Add(-1)

			if m.Body == "k1" {
				time.Sleep(20 * time.Second) // its answer counts, because the invocation has not been answered
			} else {
				time.Sleep(time.Second)
			}

			return nil
		})), numbered(30))
		h.equal("failed", failed, []string(nil))
		h.equal("at once", most.Load(), int64(2))
		h.equal("record", h.state("k1"), "COMPLETED")

		if took > 30*time.Second {
			h.Errorf("the other messages took %v", took)
		}
	})
}

func TestWhenAllWorkersAreLateTheAnswerIsSentAndTheRestIsUnclaimed(t *testing.T) {
	t.Parallel()

	for _, workers := range []int{1, 3} {
		t.Run(fmt.Sprint(workers, " workers"), func(t *testing.T) {
			t.Parallel()
			claimedAndOptimistic(t, everyMode, func(h *harness) {
				h.opts.Timeout, h.opts.Workers = 2*time.Second, workers
				place := h.hiding(nil)

				function := h.handle(h.staging(func(_ context.Context, m events.SQSMessage) error {
					if m.Body == "k0" {
						return nil
					}

					time.Sleep(time.Minute)

					return nil
				}))
				failed, took := h.within(15*time.Minute, function, deliveredFor(numbered(60), 1))
				h.equal("failed", failed, messageIDs(60)[1:])

				if took < 2500*time.Millisecond || took > 2500*time.Millisecond+moment {
					h.Errorf("the answer comes after %v, want 2.5 s", took)
				}

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
		})
	}
}

func TestABatchHandlerThatIsLateAfterItsTimeoutIsAnsweredForAtOnce(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		h.opts.Timeout, h.opts.Workers = 2*time.Second, 3

		failed, took := h.within(15*time.Minute, h.whole(slowly(time.Minute)), numbered(3))
		h.equal("failed", failed, messageIDs(3))

		if took < 2500*time.Millisecond || took > 2500*time.Millisecond+moment {
			h.Errorf("the answer comes after %v, want 2.5 s", took)
		}

		h.equal("held", h.held(), 3)
	})
}
