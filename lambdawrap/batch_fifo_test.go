package lambdawrap_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestBatchOfAFIFOQueueIsNotGivenWhatComesBehindAFailure(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		held := claim(h, h.store, "a2")

		var calls journal

		function := h.event(&calls, reporting("m4"))
		h.answered(function, batch("m1 a1 a", "m2 b1 b", "m3 a2 a", "m4 b2 b", "m5 a3 a", "m6 a4 a", "m7 b3 b", "m8 a1 a"),
			"m3", "m4", "m5", "m6", "m7", "m8")
		h.equal("calls", calls.all(), []string{"m1 m2 m4 m7"})
		h.equal("b3, behind the reported b2", h.state("b3"), "INPROGRESS released")

		for _, key := range []string{"a3", "a4"} {
			h.equal(key, h.state(key), "INPROGRESS released")
			h.equal("attempts of "+key, h.attempts(key), "0")
		}

		h.equal("log", strings.Count(h.log.String(), "an earlier message of its group failed"), 4)

		for _, id := range []string{"m3", "m4", "m5", "m6", "m7", "m8"} {
			h.equal("lines for "+id, strings.Count(h.log.String(), "messageId="+id+" "), 1)
		}

		h.equal("error", held.Release(h.Context(), nil), nil)

		calls.clear()
		h.answered(h.event(&calls, reporting()), batch("m3 a2 a", "m4 b2 b", "m5 a3 a", "m6 a4 a", "m7 b3 b", "m8 a1 a"))
		h.equal("calls", calls.all(), []string{"m3 m4 m5 m6 m7"})
	})
}

// Two FIFO groups share a key. Each message still has one answer and one line in the log.
func TestBatchAnswersAKeyOfTwoGroupsOnce(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		claim(h, h.store, "y")

		var calls journal

		queue := h.hiding(nil)
		function := h.event(&calls, reporting("m1"))
		h.answered(function, deliveredFor(batch("m1 x a", "m2 y b", "m3 x b"), 1), "m1", "m2", "m3")
		h.equal("calls", calls.all(), []string{"m1"})

		for _, id := range []string{"m1", "m2", "m3"} {
			h.equal("lines for "+id, strings.Count(h.log.String(), "messageId="+id+" "), 1)
			h.equal("hidden "+id, len(queue.of(id)), 1)
		}
	})
}

// A message whose key is worked on in another group ends when the handler has ended, so the messages behind it cannot run before.
func TestBatchIsNotGivenWhatComesBehindAKeyOfAnotherGroup(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		var calls journal

		function := h.event(&calls, reporting("m1"))
		h.answered(function, batch("m1 x a", "m2 x b", "m3 y b", "m4 z c"), "m1", "m2", "m3")
		h.equal("calls", calls.all(), []string{"m1 m4"})
		calls.clear()
		h.answered(h.event(&calls, reporting()), batch("m1 x a"))
		h.answered(h.event(&calls, reporting()), batch("m2 x b", "m3 y b"))
		h.equal("calls", calls.all(), []string{"m1", "m3"})
	})
}

func TestBatchAnswersAllMessagesOfAKeyThatItGaveBack(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		claim(h, h.store, "held")

		var calls journal

		function := h.event(&calls, reporting())
		h.answered(function, batch("m1 held b", "m2 x b", "m3 x a", "m4 z c"), "m1", "m2", "m3")
		h.equal("calls", calls.all(), []string{"m4"})

		for _, id := range []string{"m1", "m2", "m3"} {
			h.equal("lines for "+id, strings.Count(h.log.String(), "messageId="+id+" "), 1)
		}
	})
}

func TestABatchOfAFIFOQueueCompletesNothingBehindAReportedMessage(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		function := h.event(&h.runs, reporting("m1"))
		event := deliveredFor(batch("m0 a g", "m1 b g", "m2 c g", "m3 d other"), 1)

		h.answeredIn(time.Minute, function, event, "m1", "m2")
		h.equal("records", []string{h.state("a"), h.state("b"), h.state("c"), h.state("d")},
			[]string{"COMPLETED", "INPROGRESS released", "INPROGRESS released", "COMPLETED"})
		h.equal("blocked lines", strings.Count(h.log.String(), "outcome=blocked"), 1)
	})
}

// The order of a group holds for a message without a key, too: the dead-letter queue does not get it before the message in front of it is done.
func TestNoWrapperDeadLettersAMessageBehindAFailureOfItsGroup(t *testing.T) {
	t.Parallel()
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		held := claim(h, h.store, "held")

		var dead journal

		h.opts.Key = func(_ context.Context, m events.SQSMessage) (string, error) {
			if m.Body == "none" {
				return "", lambdawrap.ErrNoKey
			}

			return m.Body, nil
		}
		h.opts.DeadLetter = func(_ context.Context, m events.SQSMessage, _ error) error {
			dead.add(m.MessageId)

			return nil
		}

		function, event := wrap(succeed), batch("m1 held a", "m2 none a")
		h.answered(function, event, "m1", "m2")
		h.equal("dead letters", dead.all(), []string(nil))

		h.equal("error", held.Release(h.Context(), nil), nil)
		h.answered(function, event)
		h.equal("dead letters", dead.all(), []string{"m2"})
	})
}

// A Batch of a FIFO queue calls the dead-letter hook before the handler, and meanwhile a claim may be lost.
func TestABatchThatLosesAClaimBeforeItsHandlerStartsIsGivenBack(t *testing.T) {
	t.Parallel()

	for _, single := range []bool{false, true} {
		t.Run(fmt.Sprint("single: ", single), func(t *testing.T) {
			t.Parallel()
			bubble(t, &idemddb.Options{Lease: 4 * time.Second, Single: single}, func(h *harness) {
				h.equal("failed", h.heldElsewhere("dead", 0).Fail(h.Context(), errBank), nil)

				h.opts.DeadLetter = func(context.Context, events.SQSMessage, error) error {
					time.Sleep(10 * time.Second)

					return nil
				}

				begun := time.Now()
				h.throttled("a", func() bool { return time.Since(begun) > time.Second && time.Since(begun) < 9*time.Second })

				function := h.whole(succeed)
				failed, _ := h.within(time.Minute, function, batch("m0 a g", "m1 dead other", "m2 a g", "m3 b third"))
				h.equal("failed", failed, []string{"m0", "m2", "m3"})
				h.ran()

				h.answeredIn(time.Minute, function, batch("m0 a g", "m2 a g", "m3 b third"))
			})
		})
	}
}
