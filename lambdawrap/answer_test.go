package lambdawrap_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestWhatAllDoneAnswersToLambda(t *testing.T) {
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		function := wrap(succeed)

		for range 2 {
			for _, event := range []events.SQSEvent{batch(), batch("m1 k1", "m2 k2")} {
				response, err := function(h.Context(), event)
				text, _ := json.Marshal(response)
				h.equal("error", err, nil)
				h.equal("answer", string(text), `{"batchItemFailures":[]}`)
			}
		}

		h.ran("m1", "m2")
		h.equal("log", h.log.String(), "")
	})
}

func TestAnInvocationWhoseContextHasEndedAnswersThatNothingIsDone(t *testing.T) {
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		ctx, cancel := context.WithCancel(h.Context())
		cancel()

		response, err := wrap(succeed)(ctx, numbered(2))
		h.equal("error", err, nil)
		h.equal("failed", ids(response), messageIDs(2))
		h.ran()
	})
}

// Two messages with one key are one piece of work, and a message that the batch has twice is reported once.
func TestThoseThatFailAreReportedAndOnlyTheyRunAgain(t *testing.T) {
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		closed := always()
		function := wrap(failing(closed, "k2", "k4"))
		event := batch("m1 k1", "m2 k2", "m3 k3", "m4 k4", "m4 k4", "m5 k5", "m6 k2")

		h.check(function, event, []string{"m2", "m4", "m6"}, []string{"m1", "m2", "m3", "m4", "m5"})
		h.equal("k1", h.state("k1"), "COMPLETED")
		h.equal("k2", h.state("k2"), "INPROGRESS released")

		closed.Store(false)
		h.check(function, deliveredFor(event, 2), nil, []string{"m2", "m4"}) // the whole batch comes again, as after a time-out
		h.equal("attempts", h.attempts("k2"), "2")
		h.check(function, deliveredFor(event, 3), nil, nil)
	})
}

func TestAnEmptyMessageIdThatFailsIsAnInvocationError(t *testing.T) {
	h := parallelHarness(t)
	function := h.handle(failingWith(errBank, "bad"))
	event := batch("m1 bad", "m2 k")
	event.Records[0].MessageId = ""

	response, err := function(t.Context(), event)
	if err == nil || len(response.BatchItemFailures) != 0 {
		t.Errorf("got %v, %v, want an error", response, err)
	}

	event.Records[0].Body = "good"
	h.expect(function, event, nil, []string{""})
}

func TestAQuarterOfTheReserveIsLeftWhateverHangs(t *testing.T) {
	t.Parallel()

	permanent, broken := failWith(lambdawrap.Permanent(errBank)), failWith(errBank)
	// mixed fails for good, fails, succeeds, and does not stop.
	mixed := byKey(map[string]lambdawrap.Handler{"k0": permanent, "k1": broken, "k2": succeed}, slowly(time.Minute))

	for name, c := range map[string]struct {
		set  func(h *harness)
		work lambdawrap.Handler
	}{
		"claims":                        {func(h *harness) { h.db.Intercept(faultFor(isCallOf(isClaim), idemddbtest.LateReply)) }, succeed},
		"completions":                   {func(h *harness) { h.db.Intercept(faultFor(isCallOf(isCompletion), idemddbtest.LateReply)) }, succeed},
		"all requests after the claims": {func(h *harness) { h.db.Intercept(faultFor(h.isSettlement, idemddbtest.LateReply)) }, mixed},
		"handlers":                      {func(*harness) {}, slowly(time.Minute)},
		"the dead-letter hook":          {func(h *harness) { h.hooksHang(untilItsEnd) }, permanent},
		"SQS":                           {func(h *harness) { h.hooksHang(untilItsEnd) }, broken},
		"OnMessage":                     {func(h *harness) { h.hooksHang(untilItsEnd) }, succeed},
		"the dead-letter hook, which ignores its context": {func(h *harness) { h.hooksHang(pastItsEnd) }, permanent},
		"the client of SQS, which ignores its context":    {func(h *harness) { h.hooksHang(pastItsEnd) }, broken},
		"OnMessage, which ignores its context":            {func(h *harness) { h.hooksHang(pastItsEnd) }, slowly(time.Second)},
		// A hook that begins a trace may return a context which does not derive from the one that it got.
		"settlements in a context of the hook's own": {func(h *harness) {
			h.opts.MessageContext = func(context.Context, events.SQSMessage) context.Context { return context.Background() }
			h.db.Intercept(faultFor(h.isSettlement, idemddbtest.Throttle))
		}, succeed},
		"all of it": {func(h *harness) {
			h.db.Intercept(faultFor(h.isSettlement, idemddbtest.LateReply))
			h.hooksHang(pastItsEnd)
		}, mixed},
	} {
		for _, limit := range []time.Duration{1200 * time.Millisecond, 3 * time.Second, 10 * time.Second} {
			if limit != 3*time.Second && (testing.Short() || !slices.Contains([]string{"handlers", "completions", "all of it"}, name)) {
				continue
			}

			each(t, fmt.Sprint(name, " in ", limit), everyWayAndOptimistic, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
				c.set(h)
				h.within(limit, wrap(c.work), deliveredFor(numbered(8), 1))
				h.idle()
			})
		}
	}
}

// hooksHang lets each hook and each call of SQS wait as this function does.
func (h *harness) hooksHang(wait func(context.Context)) {
	h.hiding(func(ctx context.Context, _ string) error { wait(ctx); return nil })
	h.opts.OnMessage = func(ctx context.Context, _ events.SQSMessage, _ lambdawrap.Outcome) { wait(ctx) }
	h.opts.DeadLetter = func(ctx context.Context, _ events.SQSMessage, _ error) error { wait(ctx); return nil }
}

func TestAQuarterOfTheReserveIsLeftWhenCommitsHang(t *testing.T) {
	t.Parallel()

	for _, fault := range []idemddbtest.Fault{idemddbtest.LateReply, idemddbtest.LostRequest, idemddbtest.Throttle} {
		for _, n := range []int{1, 2, 30} { // alone, in a group that the idle workers send, and in a full one
			for _, workers := range []int{1, 4} {
				each(t, fmt.Sprintf("%v, %d messages, %d workers", fault, n, workers), inBubble(nil), func(h *harness) {
					h.opts.Optimistic, h.opts.Workers = true, workers
					h.meets(fault)

					h.within(3*time.Second, h.handle(staged), deliveredFor(numbered(n), 1))
					h.idle()
				})
			}
		}
	}
}

func untilItsEnd(ctx context.Context) { <-ctx.Done() }

// obeying is a handler that works until it is told to stop.
func obeying(ctx context.Context, _ events.SQSMessage) error {
	<-ctx.Done()

	return ctx.Err()
}

func pastItsEnd(context.Context) { time.Sleep(time.Minute) }

func TestNothingStartsInTheReserve(t *testing.T) {
	t.Parallel()

	for _, way := range waysAndOptimistic {
		if way.name == "Batch" {
			continue // its one call starts at once
		}

		each(t, way.name, everyMode, func(h *harness) {
			h.opts.Reserve = 2 * time.Second

			var last atomic.Int64

			begun := time.Now()
			function := way.wrap(h, func(context.Context, events.SQSMessage) error {
				raise(&last, int64(time.Since(begun)))
				time.Sleep(100 * time.Millisecond)

				return nil
			})

			failed, _ := h.within(8*time.Second, function, numbered(300))
			h.equal("reported unless run", len(failed), 300-len(h.runs.all()))
			h.lasts(time.Duration(last.Load()), 5500*time.Millisecond, 5900*time.Millisecond) // the reserve begins after 6 s
		})
	}
}

func TestWhatDidNotStartInTimeHasNoClaimOrGivesItBackUncounted(t *testing.T) {
	claimedAndOptimistic(everyMode)(t, func(h *harness) {
		h.opts.Reserve = 2 * time.Second

		// There are 7 s for work, which is too little for a fourth handler.
		h.answeredIn(9*time.Second, h.handle(h.staging(slowly(2*time.Second))), numbered(40), messageIDs(40)[3:]...)
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

func TestClaimsThatAreAnsweredTooLateAreGivenBackUncounted(t *testing.T) {
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		h.slow(isCallOf(isClaim), 990*time.Millisecond) // the claim comes 5 ms before the reserve, and has less than the 2 s of one try
		ctx := h.limited(1995 * time.Millisecond)
		response, err := wrap(slowly(time.Second))(ctx, numbered(3))
		h.equal("error", err, nil)
		h.equal("in time", ctx.Err(), nil)
		h.equal("failed", ids(response), messageIDs(3))
		h.db.Intercept(nil)

		time.Sleep(time.Minute)
		h.check(wrap(succeed), numbered(3), nil, messageIDs(3))

		for i := range 3 {
			h.equal("attempts", h.attempts(fmt.Sprint("k", i)), "1")
		}
	})
}

func TestAReserveThatLeavesNoTimeToWorkIsWarnedOfOnce(t *testing.T) {
	everyWayAndOptimistic(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		h.opts.Reserve = 5 * time.Second
		function := wrap(succeed)

		for range 2 {
			h.answeredIn(3*time.Second, function, numbered(3), messageIDs(3)...)
		}

		h.equal("warnings", strings.Count(h.log.String(), "Options.Reserve"), 1)
		h.logs("level=WARN", "reserve=5s", "left=3s")
		h.equal("runs and requests", []int{len(h.runs.all()), len(h.db.Requests())}, []int{0, 0})

		h.answeredIn(6*time.Second, function, numbered(1)) // with more time, it works
	})
}
