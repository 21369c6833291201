package lambdawrap_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestNothingStartsInTheReserve(t *testing.T) {
	t.Parallel()

	for _, way := range waysAndOptimistic {
		if way.name == "Batch" {
			continue // its one call starts at once
		}

		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			everyMode(t, func(h *harness) {
				h.opts.Reserve = 2 * time.Second

				var last atomic.Int64

				begun := time.Now()
				function := way.wrap(h, func(context.Context, events.SQSMessage) error {
					raise(&last, int64(time.Since(begun)))
					time.Sleep(100 * time.Millisecond)

					return nil
				})

				ctx, cancel := context.WithTimeout(h.Context(), 8*time.Second)
				defer cancel()

				response, err := function(ctx, numbered(300))
				h.equal("error", err, nil)
				h.equal("reported unless run", len(response.BatchItemFailures), 300-len(h.runs.all()))

				if last := time.Duration(last.Load()); last < 5500*time.Millisecond || last > 5900*time.Millisecond {
					h.Errorf("the last handler of 100 ms started after %v; the reserve began after 6 s", last)
				}
			})
		})
	}
}

func TestWhatDidNotStartInTimeHasNoClaimOrGivesItBackUncounted(t *testing.T) {
	t.Parallel()
	claimedAndOptimistic(t, everyMode, func(h *harness) {
		h.opts.Reserve = 2 * time.Second

		ctx, cancel := context.WithTimeout(h.Context(), 9*time.Second) // there are 7 s for work, which is too little for a fourth handler
		defer cancel()

		response, err := h.handle(h.staging(slowly(2*time.Second)))(ctx, numbered(40))
		h.equal("error", err, nil)
		h.equal("in time", ctx.Err(), nil)
		h.equal("failed", ids(response), messageIDs(40)[3:])
		h.equal("runs", h.runs.all(), messageIDs(3))
		h.equal("lines that say so", strings.Count(h.log.String(), "too little time was left"), 37)

		if h.opts.Optimistic {
			h.equal("records", len(h.db.Items("records")), 3)
		}

		for i := 3; i < 40; i++ {
			key := fmt.Sprint("k", i)
			if state := h.state(key); state != "none" && (state != "INPROGRESS released" || h.attempts(key) != "0") {
				h.Errorf("%s: %s, attempts %s", key, state, h.attempts(key))
			}
		}

		if h.store.Engine().Ahead() > 0 && len(h.db.Requests()) > 8 { // two requests claim, three complete, and the rest gives claims back
			h.Errorf("%d requests", len(h.db.Requests()))
		}

		h.check(h.handle(h.staging(succeed)), deliveredFor(numbered(40), 2), nil, messageIDs(40)[3:])

		for i := range 40 {
			h.equal("attempts", h.attempts(fmt.Sprint("k", i)), "1")
		}
	})
}

func TestAnInvocationThatBeginsInItsReserveAsksForNothing(t *testing.T) {
	t.Parallel()
	everyWayAndOptimistic(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		ctx, cancel := context.WithTimeout(h.Context(), time.Second)
		defer cancel()

		response, err := wrap(succeed)(ctx, numbered(3))
		h.equal("error", err, nil)
		h.equal("failed", ids(response), messageIDs(3))
		h.equal("runs", len(h.runs.all()), 0)
		h.equal("requests", len(h.db.Requests()), 0)
		h.equal("lines that say so", strings.Count(h.log.String(), "too little time was left"), 3)
	})
}

func TestClaimsThatAreAnsweredTooLateAreGivenBackUncounted(t *testing.T) {
	t.Parallel()
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		var slow atomic.Bool

		slow.Store(true)
		h.db.Intercept(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
			if slow.Load() && isCallOf(isClaim)(r) {
				time.Sleep(990 * time.Millisecond) // the claim comes 5 ms before the reserve, and has less than the 2 s of one try
			}

			return idemddbtest.None
		})

		ctx, cancel := context.WithTimeout(h.Context(), 1995*time.Millisecond)
		defer cancel()

		response, err := wrap(slowly(time.Second))(ctx, numbered(3))
		h.equal("error", err, nil)
		h.equal("in time", ctx.Err(), nil)
		h.equal("failed", ids(response), messageIDs(3))
		slow.Store(false)
		time.Sleep(time.Minute)
		h.runs.clear()
		h.check(wrap(succeed), numbered(3), nil, messageIDs(3))

		for i := range 3 {
			h.equal("attempts", h.attempts(fmt.Sprint("k", i)), "1")
		}
	})
}

func TestAReserveThatLeavesNoTimeToWorkIsWarnedOfOnce(t *testing.T) {
	t.Parallel()
	everyWayAndOptimistic(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		h.opts.Reserve = 5 * time.Second
		function := wrap(succeed)

		for range 2 {
			ctx, cancel := context.WithTimeout(h.Context(), 3*time.Second)
			response, err := function(ctx, numbered(3))
			h.equal("error", err, nil)
			h.equal("failed", ids(response), messageIDs(3))
			cancel()
		}

		h.equal("warnings", strings.Count(h.log.String(), "Options.Reserve"), 1)
		h.logs("level=WARN", "reserve=5s", "left=3s")

		failed, _ := h.within(6*time.Second, function, numbered(1)) // with more time, it works
		h.equal("failed in 6 s", failed, []string(nil))
	})
}
