package lambdawrap_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// Nothing of the rest began, so no attempt counts, no key is held, and its next delivery works on it.
func TestAfterTheFirstFailureTheRestOfABatchIsReportedUnstarted(t *testing.T) {
	t.Parallel()

	for name, optimistic := range map[string]bool{"claimed": false, "optimistic": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyMode(t, func(h *harness) {
				var ends journal

				h.outcomes(&ends)
				h.opts.StopAtFailure, h.opts.Optimistic = true, optimistic
				closed := always()
				work := failing(closed, "b")
				function := h.handle(func(ctx context.Context, m events.SQSMessage) error {
					_ = idemddb.Stage(ctx, idemddb.Effects{})

					return work(ctx, m)
				})

				h.check(function, batch("m1 a", "m2 b", "m3 c", "m4 d", "m5 a"), []string{"m2", "m3", "m4"}, []string{"m1", "m2"})
				h.sorted("ends", &ends, "m1 completed", "m2 released", "m3 blocked", "m4 blocked", "m5 replayed")

				for _, key := range []string{"c", "d"} {
					if state := h.state(key); state != "none" && state != "INPROGRESS released" || h.attempts(key) != "" && h.attempts(key) != "0" {
						h.Errorf("%s: %s with %s attempts", key, state, h.attempts(key))
					}
				}

				closed.Store(false)
				h.check(function, deliveredFor(batch("m2 b", "m3 c", "m4 d"), 2), nil, []string{"m2", "m3", "m4"})
			})
		})
	}
}

// What runs already goes on, and its success counts.
func TestHandlersThatRunGoOnAfterTheFailureOfAnother(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		h.opts.StopAtFailure, h.opts.Workers = true, 2

		var began atomic.Int32

		runs, failed := make(chan struct{}), make(chan struct{})
		h.opts.OnMessage = func(_ context.Context, m events.SQSMessage, _ lambdawrap.Outcome) {
			if m.Body == "b" { // from here on the wrapper knows that it has failed
				close(failed)
			}
		}

		function := h.handle(func(_ context.Context, m events.SQSMessage) error {
			if began.Add(1); m.Body == "a" {
				close(runs)
				<-failed

				return nil
			}

			<-runs

			return errBank
		})

		h.answered(function, batch("m1 a", "m2 b", "m3 c"), "m2", "m3")
		h.equal("handlers", began.Load(), int32(2))
		h.equal("a", h.state("a"), "COMPLETED")
	})
}

// A group stops by itself, and must not stop another one.
func TestAFIFOQueueIgnoresStopAtFailure(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		h.opts.StopAtFailure = true

		h.check(h.handle(failing(always(), "a1")), batch("m1 a1 a", "m2 a2 a", "m3 b1 b"), []string{"m1", "m2"}, []string{"m1", "m3"})
	})
}

func TestBatchRefusesStopAtFailure(t *testing.T) {
	t.Parallel()

	h := newHarness(t, nil)
	function := lambdawrap.Batch(h.store, func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
		return events.SQSEventResponse{}, nil
	}, &lambdawrap.Options{StopAtFailure: true})

	if _, err := function(t.Context(), batch("m1 a")); err == nil || !strings.Contains(err.Error(), "Options.StopAtFailure") {
		t.Errorf("got %v", err)
	}
}
