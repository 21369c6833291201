package lambdawrap_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestBatchIsGivenWhatMustBeWorkedOnInOrder(t *testing.T) {
	everyMode(t, func(h *harness) {
		h.opts.Key = keyless(lambdawrap.ErrNoKey, "none")

		for key, end := range map[string]func(*idemddb.Claim) error{
			"done": func(c *idemddb.Claim) error { return c.Complete(h.Context(), nil) },
			"dead": func(c *idemddb.Claim) error { return c.Fail(h.Context(), nil) },
			"held": func(*idemddb.Claim) error { return nil },
			"back": func(c *idemddb.Claim) error { return c.Release(h.Context(), nil) },
		} {
			h.equal("error", end(claim(h, h.store, key)), nil)
		}

		h.opts.Fingerprint = keyless(errBank, "odd")
		again := batch("m1 z", "m4 y", "m7 y", "m8 back", "m9 x")
		function := h.event(reporting("m9"))
		h.expect(function, batch("m1 z", "m2 done", "m3 dead", "m4 y", "m5 held", "m6 none", "m7 y", "m8 back", "m9 x", "m10 done", "m11 odd"),
			[]string{"m3", "m5", "m6", "m9", "m11"}, []string{"m1 m4 m8 m9"})
		h.equal("odd", h.state("odd"), "none")

		// Each outcome is recorded, so that only the message that failed is given to the handler again.
		h.expect(function, again, []string{"m9"}, []string{"m9"})
		h.equal("x", h.state("x"), "INPROGRESS released")
		h.equal("z", h.state("z"), "COMPLETED")
	})
}

func TestBatchGetsTheMessagesAsTheyCame(t *testing.T) {
	h := parallelHarness(t)
	event := deliveredFor(batch("m1 k1 g", "m2 k2 g"), 3)

	h.answered(h.event(func(_ context.Context, got events.SQSEvent) (events.SQSEventResponse, error) {
		h.equal("event", got, event)

		return events.SQSEventResponse{}, nil // nil BatchItemFailures mean that none failed
	}), event)
	h.ran("m1 m2")
}

func TestBatchIsNotCalledWhenThereIsNothingToDo(t *testing.T) {
	everyMode(t, func(h *harness) {
		function := h.event(reporting())
		h.expect(function, batch(), nil, nil)
		h.expect(function, numbered(3), nil, []string{"m0 m1 m2"})
		h.expect(function, deliveredFor(numbered(3), 2), nil, nil)

		h.opts.Key = func(context.Context, events.SQSMessage) (string, error) { return "", lambdawrap.ErrNoKey }
		h.expect(h.event(reporting()), numbered(2), messageIDs(2), nil)
	})
}

func TestWhatTheAnswerOfABatchHandlerBecomes(t *testing.T) {
	t.Parallel()

	const (
		one  = "COMPLETED, INPROGRESS released, COMPLETED"
		none = "INPROGRESS released, INPROGRESS released, INPROGRESS released"
	)

	fails := func(err error) wholeHandler {
		return func(context.Context, events.SQSEvent) (r events.SQSEventResponse, _ error) { return r, err }
	}
	all := messageIDs(3)

	for name, c := range map[string]struct {
		answer wholeHandler // of three messages
		failed []string
		states string // of k0, k1, k2
		log    string
	}{
		"no failures":                 {reporting(), nil, "COMPLETED, COMPLETED, COMPLETED", ""},
		"one failure":                 {reporting("m1"), []string{"m1"}, one, "the handler reported it failed"},
		"the same failure twice":      {reporting("m1", "m1"), []string{"m1"}, one, ""},
		"all":                         {reporting("m2", "m1", "m0"), all, none, ""},
		"an id that it was not given": {reporting("m1", "m7"), all, none, "one that it was not given"},
		"an empty id":                 {reporting(""), all, none, "empty id"},
		"the id of a second message of a key, which it was not given": {reporting("second"), all, none, "one that it was not given"},
		"an error": {fails(errBank), all, none, "bank closed"},
		"an error beside an answer": {func(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
			response, _ := reporting("m1")(ctx, e)

			return response, errBank
		}, all, none, "bank closed"},
		"a permanent error": {fails(lambdawrap.Permanent(errors.New("no such account"))), all, "FAILED, FAILED, FAILED", "no such account"},
		"a panic": {func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
			panic("nil map")
		}, all, none, "panic: nil map"},
		"the end of its goroutine": {func(context.Context, events.SQSEvent) (r events.SQSEventResponse, _ error) {
			goexit()

			return r, nil
		}, all, none, "ended its goroutine"},
	} {
		each(t, name, everyMode, func(h *harness) {
			event := numbered(3)
			event.Records = append(event.Records, batch("second k1").Records...)
			want := c.failed

			if slices.Contains(want, "m1") {
				want = append(slices.Clone(want), "second") // it ends as the first message of its key
			}

			h.expect(h.event(c.answer), event, want, []string{"m0 m1 m2"})
			h.equal("records", strings.Join([]string{h.state("k0"), h.state("k1"), h.state("k2")}, ", "), c.states)

			h.logs(c.log)
			h.equal("lines", strings.Count(h.log.String(), "msg="), len(want))
			h.noRenewals()
		})
	}
}

// SQS takes an empty id for a failure of the whole batch, also if a message has one.
func TestAnEmptyIDInTheAnswerOfBatchFailsAllOfItsMessages(t *testing.T) {
	everyMode(t, func(h *harness) {
		event := batch("m1 k1", "m2 k2")
		event.Records[0].MessageId = ""

		if _, err := h.event(reporting(""))(h.Context(), event); err == nil {
			h.Error("got no error: a message without an id cannot be reported failed")
		}

		h.equal("record of the other message", h.state("k2"), "INPROGRESS released")
		h.equal("calls", h.runs.all(), []string{" m2"})
	})
}

func TestABatchHandlerIsNotCalledInTheReserve(t *testing.T) {
	everyMode(t, func(h *harness) {
		h.equal("error", claim(h, h.store, "dead").Fail(h.Context(), nil), nil)

		h.opts.DeadLetter = hookOf(obeying)

		h.answeredIn(10*time.Second, h.event(reporting()), batch("m1 dead a", "m2 k2 b", "m3 k3 a"), "m1", "m2", "m3")
		h.ran()

		for _, key := range []string{"k2", "k3"} {
			h.equal(key, h.state(key), "INPROGRESS released")
			h.equal("attempts", h.attempts(key), "0")
		}
	})
}

func TestBatchIsNotGivenAClaimThatWasLostBefore(t *testing.T) {
	everyMode(t, func(h *harness) {
		h.equal("error", claim(h, h.store, "dead").Fail(h.Context(), nil), nil)

		ends := h.outcomes()
		h.opts.DeadLetter = func(context.Context, events.SQSMessage, error) error {
			h.steal("k2")
			time.Sleep(20 * time.Second) // the handler takes longer than half a lease

			return errBank
		}

		h.expect(h.event(reporting()), batch("m0 dead a", "m1 k2 b", "m2 k3 c"), []string{"m0", "m1"}, []string{"m2"})
		h.sorted("ends", ends, "m0 refused", "m1 fenced", "m2 completed")
		h.equal("k2", h.state("k2"), "INPROGRESS")
	})
}

func TestBatchKeepsItsLeasesAndEndsWithTheLastClaim(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		name string
		head string // the key of the message before k4 in its FIFO group
		lost []string
		ends bool
	}{
		{"none is lost", "", nil, false},
		{"some are lost", "", []string{"k0", "k2"}, false},
		{"all are lost", "", []string{"k0", "k1", "k2"}, true},
		{"all that it was given are lost", "held", []string{"k0", "k1", "k2"}, true},
	} {
		each(t, c.name, inBubble(nil), func(h *harness) {
			event := batch("m0 k0 a", "m1 k1 b", "m2 k2 c")

			if c.head != "" {
				claim(h, h.store, c.head)

				event.Records = append(event.Records, batch("head held d", "behind k4 d").Records...)
			}

			function := h.event(func(ctx context.Context, _ events.SQSEvent) (events.SQSEventResponse, error) {
				for _, key := range c.lost {
					h.steal(key)
				}

				for range 10 {
					time.Sleep(10 * time.Second)

					for _, key := range []string{"k0", "k1", "k2"} {
						_, _, err := h.store.Claim(context.WithoutCancel(ctx), key, nil)
						h.fails(err, idemddb.ErrInProgress)
					}
				}

				h.equal("cancelled", ctx.Err() != nil, c.ends)
				h.equal("because it is fenced", errors.Is(context.Cause(ctx), idemddb.ErrFenced), c.ends)

				_, claimed := idemddb.FromContext(ctx)
				h.equal("a claim", claimed, false)

				return events.SQSEventResponse{}, nil
			})

			response, err := function(h.Context(), event)
			h.equal("error", err, nil)
			h.ran("m0 m1 m2")

			for i, key := range []string{"k0", "k1", "k2"} {
				h.equal(key+" is reported if it is lost", slices.Contains(ids(response), fmt.Sprint("m", i)), slices.Contains(c.lost, key))
			}
		})
	}
}

// Of a FIFO group, the handler gets nothing behind a message that cannot be worked on, or whose key is worked on in another
// group: that one ends when the handler has ended. Each message still has one answer, one line in the log and one call of SQS.
func TestBatchOfAFIFOQueueIsNotGivenWhatComesBehindAFailure(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		event           events.SQSEvent // the key "held" is another worker's
		reports, failed []string
		given           string
		released        []string // keys that were not given, so that no attempt counts
		again           string   // what is given of the failed ones, when nothing fails
		left            []string // what comes back then
	}{
		"behind a key that is held, and behind a failure": {
			batch("m1 a1 a", "m2 b1 b", "m3 held a", "m4 b2 b", "m5 a3 a", "m6 a4 a", "m7 b3 b", "m8 a1 a"),
			[]string{"m4"}, []string{"m3", "m4", "m5", "m6", "m7", "m8"}, "m1 m2 m4 m7", []string{"a3", "a4"}, "m3 m4 m5 m6 m7", nil,
		},
		"a key of two groups": {batch("m1 x a", "m2 held b", "m3 x b"), []string{"m1"}, []string{"m1", "m2", "m3"}, "m1", nil, "m1 m2", nil},
		"behind a key of another group": {
			batch("m1 x a", "m2 x b", "m3 y b", "m4 z c"), []string{"m1"}, []string{"m1", "m2", "m3"}, "m1 m4", nil, "m1", []string{"m3"},
		},
		"a key that it gave back": {
			batch("m1 held b", "m2 x b", "m3 x a", "m4 z c"), nil, []string{"m1", "m2", "m3"}, "m4", []string{"x"}, "m1 m2", nil,
		},
		"the order of one group says enough": {batch("m5 u a", "m6 u a", "m7 v a", "m8 u", "m9 w"), nil, nil, "m5 m7 m9", nil, "", nil},
	} {
		each(t, name, everyMode, func(h *harness) {
			held, queue := claim(h, h.store, "held"), h.hiding(nil)
			h.expect(h.event(reporting(c.reports...)), deliveredFor(c.event, 1), c.failed, []string{c.given})
			h.oneLine(c.failed...)
			h.equal("hidden", len(queue.seconds), len(c.failed))

			for _, key := range c.released {
				h.equal(key, []string{h.state(key), h.attempts(key)}, []string{"INPROGRESS released", "0"})
			}

			back := events.SQSEvent{Records: []events.SQSMessage{}}
			for _, m := range c.event.Records {
				if slices.Contains(c.failed, m.MessageId) {
					h.equal("calls of SQS for "+m.MessageId, len(queue.of(m.MessageId)), 1)

					back.Records = append(back.Records, m)
				}
			}

			h.equal("error", held.Release(h.Context(), nil), nil)
			h.runs.clear()
			h.answered(h.event(reporting()), back, c.left...)
			h.equal("given again", strings.Join(h.runs.all(), ""), c.again)
		})
	}
}

func TestABatchOfAFIFOQueueCompletesNothingBehindAReportedMessage(t *testing.T) {
	everyMode(t, func(h *harness) {
		ends := h.outcomes()
		function := h.event(func(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
			h.steal("f")

			return reporting("m1", "m4")(ctx, e)
		})
		event := deliveredFor(batch("m0 a g", "m1 b g", "m2 c g", "m3 d other", "m4 e g", "m5 b g", "m6 f g"), 1)

		h.answeredIn(time.Minute, function, event, "m1", "m2", "m4", "m5", "m6")
		h.equal("records", []string{h.state("a"), h.state("b"), h.state("c"), h.state("d"), h.state("e")},
			[]string{"COMPLETED", "INPROGRESS released", "INPROGRESS released", "COMPLETED", "INPROGRESS released"})
		h.sorted("ends", ends, "m0 completed", "m1 released", "m2 blocked", "m3 completed", "m4 released", "m5 released", "m6 fenced")
	})
}

// The order of a group holds for a message without a key, too: the dead-letter queue does not get it before the message in front
// of it is done.
func TestNoWrapperDeadLettersAMessageBehindAFailureOfItsGroup(t *testing.T) {
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		held := claim(h, h.store, "held")

		dead := h.parking()
		h.opts.Key = keyless(lambdawrap.ErrNoKey, "none")

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
		each(t, fmt.Sprint("single: ", single), inBubble(&idemddb.Options{Lease: 4 * time.Second, Single: single}), func(h *harness) {
			h.equal("failed", h.heldElsewhere("dead", 0).Fail(h.Context(), errBank), nil)

			h.opts.DeadLetter = hookOf(slowly(10 * time.Second))

			begun := time.Now()
			h.throttled("a", func() bool { return time.Since(begun) > time.Second && time.Since(begun) < 9*time.Second })

			function := h.whole(succeed)
			h.answeredIn(time.Minute, function, batch("m0 a g", "m1 dead other", "m2 a g", "m3 b third"), "m0", "m2", "m3")
			h.ran()

			h.answeredIn(time.Minute, function, batch("m0 a g", "m2 a g", "m3 b third"))
		})
	}
}
