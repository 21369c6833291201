package lambdawrap_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestBatchIsGivenWhatMustBeWorkedOnInOrder(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		h.opts.Key = func(_ context.Context, m events.SQSMessage) (string, error) {
			if m.Body == "none" {
				return "", lambdawrap.ErrNoKey
			}

			return m.Body, nil
		}

		for key, end := range map[string]func(*idemddb.Claim) error{
			"done": func(c *idemddb.Claim) error { return c.Complete(h.Context(), nil) },
			"dead": func(c *idemddb.Claim) error { return c.Fail(h.Context(), nil) },
			"held": func(*idemddb.Claim) error { return nil },
			"back": func(c *idemddb.Claim) error { return c.Release(h.Context(), nil) },
		} {
			h.equal("error", end(claim(h, h.store, key)), nil)
		}

		var calls journal

		function := h.event(&calls, reporting("m9"))
		h.answered(function, batch("m1 z", "m2 done", "m3 dead", "m4 y", "m5 held", "m6 none", "m7 y", "m8 back", "m9 x", "m10 done"),
			"m3", "m5", "m6", "m9")
		h.equal("calls", calls.all(), []string{"m1 m4 m8 m9"})

		// Each outcome is recorded, so that only the message that failed is given to the handler again.
		h.answered(function, batch("m1 z", "m4 y", "m7 y", "m8 back", "m9 x"), "m9")
		h.equal("calls", calls.all(), []string{"m1 m4 m8 m9", "m9"})
		h.equal("x", h.state("x"), "INPROGRESS released")
		h.equal("z", h.state("z"), "COMPLETED")
	})
}

func TestBatchGetsTheMessagesAsTheyCame(t *testing.T) {
	t.Parallel()

	h := newHarness(t, nil)
	event := deliveredFor(batch("m1 k1 g", "m2 k2 g"), 3)

	var got events.SQSEvent

	function := lambdawrap.Batch(h.store, func(_ context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
		got = e

		return events.SQSEventResponse{}, nil // nil BatchItemFailures mean that none failed
	}, h.opts)
	h.answered(function, event)
	h.equal("event", got, event)
}

func TestBatchIsNotCalledWhenThereIsNothingToDo(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		var calls journal

		function := h.event(&calls, reporting())
		h.answered(function, batch())
		h.answered(function, numbered(3))
		h.equal("calls", calls.all(), []string{"m0 m1 m2"})
		h.db.ResetRequests()
		h.answered(function, deliveredFor(numbered(3), 2))
		h.equal("calls", len(calls.all()), 1)

		h.opts.Key = func(context.Context, events.SQSMessage) (string, error) { return "", lambdawrap.ErrNoKey }
		h.answered(h.event(&calls, reporting()), numbered(2), "m0", "m1")
		h.equal("calls", len(calls.all()), 1)
	})
}

func TestWhatTheAnswerOfABatchHandlerBecomes(t *testing.T) {
	checkBatchAnswers(t, []batchAnswer{
		{"no failures", reporting(), nil, "COMPLETED, COMPLETED, COMPLETED", ""},
		{
			"one failure", reporting("m1"), []string{"m1"},
			"COMPLETED, INPROGRESS released, COMPLETED", "the handler reported it failed",
		},
		{"the same failure twice", reporting("m1", "m1"), []string{"m1"}, "COMPLETED, INPROGRESS released, COMPLETED", ""},
		{"all", reporting("m2", "m1", "m0"), []string{"m0", "m1", "m2"}, "INPROGRESS released, INPROGRESS released, INPROGRESS released", ""},
		{
			"an id that it was not given", reporting("m1", "m7"), []string{"m0", "m1", "m2"},
			"INPROGRESS released, INPROGRESS released, INPROGRESS released", "one that it was not given",
		},
		{
			"an empty id", reporting(""), []string{"m0", "m1", "m2"},
			"INPROGRESS released, INPROGRESS released, INPROGRESS released", "empty id",
		},
		{
			"the id of a second message of a key, which it was not given", reporting("second"), []string{"m0", "m1", "m2"},
			"INPROGRESS released, INPROGRESS released, INPROGRESS released", "one that it was not given",
		},
	})
}

func TestWhatABatchHandlerWithoutAnAnswerBecomes(t *testing.T) {
	cause := errors.New("no such account")

	checkBatchAnswers(t, []batchAnswer{
		{"an error", func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
			return events.SQSEventResponse{}, errBank
		}, []string{"m0", "m1", "m2"}, "INPROGRESS released, INPROGRESS released, INPROGRESS released", "bank closed"},
		{"an error beside an answer", func(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
			response, _ := reporting("m1")(ctx, e)

			return response, errBank
		}, []string{"m0", "m1", "m2"}, "INPROGRESS released, INPROGRESS released, INPROGRESS released", "bank closed"},
		{"a permanent error", func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
			return events.SQSEventResponse{}, lambdawrap.Permanent(cause)
		}, []string{"m0", "m1", "m2"}, "FAILED, FAILED, FAILED", "no such account"},
		{"a panic", func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) { panic("nil map") },
			[]string{"m0", "m1", "m2"}, "INPROGRESS released, INPROGRESS released, INPROGRESS released", "panic: nil map"},
		{"the end of its goroutine", func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
			goexit()

			return events.SQSEventResponse{}, nil
		}, []string{"m0", "m1", "m2"}, "INPROGRESS released, INPROGRESS released, INPROGRESS released", "ended its goroutine"},
	})
}

// batchAnswer is how the handler of three messages ends, and what becomes of them.
type batchAnswer struct {
	name   string
	answer wholeHandler
	failed []string
	states string // of k0, k1, k2
	log    string
}

func checkBatchAnswers(t *testing.T, cases []batchAnswer) {
	t.Helper()
	t.Parallel()

	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			everyMode(t, func(h *harness) {
				var calls journal

				function := h.event(&calls, c.answer)
				event := numbered(3)
				event.Records = append(event.Records, batch("second k1").Records...)
				want := c.failed

				if slices.Contains(want, "m1") {
					want = append(slices.Clone(want), "second") // it ends as the first message of its key
				}

				h.answered(function, event, want...)
				h.equal("calls", calls.all(), []string{"m0 m1 m2"})
				h.equal("records", strings.Join([]string{h.state("k0"), h.state("k1"), h.state("k2")}, ", "), c.states)

				if !strings.Contains(h.log.String(), c.log) || (c.log == "" && c.failed == nil && h.log.Len() > 0) {
					h.Errorf("the log lacks %q: %s", c.log, h.log)
				}

				h.equal("lines", strings.Count(h.log.String(), "msg="), len(want))
				h.noRenewals()
			})
		})
	}
}

func TestBatchOfMoreThanOneGroupIsOneCall(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		var calls journal

		function := h.event(&calls, reporting("m3", "m77"))
		h.answered(function, numbered(80), "m3", "m77")
		h.equal("calls", calls.all(), []string{strings.Join(messageIDs(80), " ")})
		h.answered(function, numbered(80), "m3", "m77")
		h.equal("calls", calls.all()[1:], []string{"m3 m77"})
	})
}
