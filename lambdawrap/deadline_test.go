package lambdawrap_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestNothingStartsInTheReserve(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, nil)
		h.opts.Reserve = 2 * time.Second
		function := h.handle(func(context.Context, events.SQSMessage) error {
			time.Sleep(2500 * time.Millisecond)

			return nil
		})

		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
		defer cancel()

		response, err := function(ctx, batch("m1 k1", "m2 k2", "m3 k3", "m4 k4"))
		h.equal("error", err, nil)
		h.equal("failed", ids(response), []string{"m3", "m4"}) // m3 runs at 6 s, when the reserve begins
		h.equal("requests", len(h.db.Requests()), 4)           // the claims, two completions, what m4 gives back
		h.equal("k3", h.state("k3"), "INPROGRESS")
		h.equal("k4", h.state("k4"), "INPROGRESS released")
		h.equal("attempts", h.attempts("k4"), "0")
		time.Sleep(time.Minute) // the late handler ends
	})
}

func TestWhatDidNotStartInTimeHasNoClaimOrGivesItBackUncounted(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		h.opts.Reserve = 2 * time.Second

		ctx, cancel := context.WithTimeout(h.Context(), 9*time.Second) // 7 s of work: the 4th is late
		defer cancel()

		response, err := h.handle(slowly(2*time.Second))(ctx, numbered(40))
		h.equal("error", err, nil)
		h.equal("in time", ctx.Err(), nil)
		h.equal("failed", ids(response), h.runsOf(40)[3:])
		h.equal("runs", h.runs.all(), h.runsOf(3))
		h.equal("late", h.state("k3"), "INPROGRESS")
		h.equal("lines that say so", strings.Count(h.log.String(), "too little time was left"), 36)

		for i := 4; i < 40; i++ {
			key := fmt.Sprint("k", i)
			if state := h.state(key); state != "none" && (state != "INPROGRESS released" || h.attempts(key) != "0") {
				h.Errorf("%s: %s, attempts %s", key, state, h.attempts(key))
			}
		}

		if h.store.Batch().Ahead() > 0 && len(h.db.Requests()) > 8 { // claims, three completions, all that is given back
			h.Errorf("%d requests", len(h.db.Requests()))
		}

		time.Sleep(time.Minute) // the late one ends, its lease too
		h.check(h.handle(succeed), deliveredFor(numbered(40), 2), nil, h.runsOf(40)[3:])

		for i := 4; i < 40; i++ {
			h.equal("attempts", h.attempts(fmt.Sprint("k", i)), "1")
		}

		h.equal("attempts of the late one", h.attempts("k3"), "2")
	})
}

func TestAnInvocationThatBeginsInItsReserveAsksForNothing(t *testing.T) {
	t.Parallel()
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		ctx, cancel := context.WithTimeout(h.Context(), time.Second)
		defer cancel()

		response, err := wrap(succeed)(ctx, numbered(3))
		h.equal("error", err, nil)
		h.equal("failed", ids(response), h.runsOf(3))
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
				time.Sleep(990 * time.Millisecond) // within an attempt's time, so that the answer is known, and up to the reserve
			}

			return idemddbtest.None
		})

		ctx, cancel := context.WithTimeout(h.Context(), 1995*time.Millisecond)
		defer cancel()

		response, err := wrap(slowly(time.Second))(ctx, numbered(3))
		h.equal("error", err, nil)
		h.equal("in time", ctx.Err(), nil)
		h.equal("failed", ids(response), h.runsOf(3))
		slow.Store(false)
		time.Sleep(time.Minute)
		h.runs.clear()
		h.check(wrap(succeed), numbered(3), nil, h.runsOf(3))
	})
}
