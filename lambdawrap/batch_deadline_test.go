package lambdawrap_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

func TestTheAnswerDoesNotWaitForALateBatchHandler(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		var calls journal

		h.equal("error", claim(h, h.store, "k1").Complete(h.Context(), nil), nil)

		function := h.event(&calls, func(ctx context.Context, _ events.SQSEvent) (events.SQSEventResponse, error) {
			<-ctx.Done()
			time.Sleep(time.Minute)

			return events.SQSEventResponse{}, nil // the answer was sent long before
		})

		ctx, cancel := context.WithTimeout(h.Context(), 20*time.Second)
		defer cancel()

		response, err := function(ctx, numbered(4))
		h.equal("error", err, nil)
		h.equal("in time", ctx.Err(), nil)
		h.equal("failed", ids(response), []string{"m0", "m2", "m3"})

		time.Sleep(5 * time.Minute)

		for _, key := range []string{"k0", "k2", "k3"} {
			h.equal("its record", h.state(key), "INPROGRESS")
		}

		calls.clear()
		h.answered(h.event(&calls, reporting()), numbered(4))
		h.equal("calls", calls.all(), []string{"m0 m2 m3"})
	})
}

func TestBatchClaimsThatComeTooLateAreGivenBackUncounted(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		slow := true
		h.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
			if slow {
				slow = false
				time.Sleep(1100 * time.Millisecond)
			}

			return idemddbtest.None
		})

		var calls journal

		function := h.event(&calls, reporting())

		ctx, cancel := context.WithTimeout(h.Context(), 2*time.Second)
		defer cancel()

		response, err := function(ctx, batch("m0 k0"))
		h.equal("error", err, nil)
		h.equal("in time", ctx.Err(), nil)
		h.equal("failed", ids(response), []string{"m0"})
		h.equal("calls", len(calls.all()), 0)

		slow = false

		time.Sleep(time.Minute)
		h.answered(function, numbered(3))
		h.equal("calls", calls.all(), []string{"m0 m1 m2"})
	})
}

func TestABatchHandlerIsNotCalledInTheReserve(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		h.equal("error", claim(h, h.store, "dead").Fail(h.Context(), nil), nil)

		h.opts.DeadLetter = func(ctx context.Context, _ events.SQSMessage, _ error) error {
			<-ctx.Done() // it takes all the time that handlers have

			return ctx.Err()
		}

		var calls journal

		ctx, cancel := context.WithTimeout(h.Context(), 10*time.Second)
		defer cancel()

		response, err := h.event(&calls, reporting())(ctx, batch("m1 dead a", "m2 k2 b", "m3 k3 a"))
		h.equal("error", err, nil)
		h.equal("in time", ctx.Err(), nil)
		h.equal("failed", ids(response), []string{"m1", "m2", "m3"})
		h.equal("calls", calls.all(), []string(nil))

		for _, key := range []string{"k2", "k3"} {
			h.equal(key, h.state(key), "INPROGRESS released")
			h.equal("attempts", h.attempts(key), "0")
		}
	})
}
