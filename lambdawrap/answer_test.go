package lambdawrap_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestAMessageIsDoneOnce(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(h *harness) {
		function := h.handle(succeed)

		h.expect(function, batch("m1 k1", "m2 k2"), nil, []string{"m1", "m2"})
		h.equal("record", h.state("k1"), "COMPLETED")
		h.equal("requests", len(h.db.Requests()), 2)
		h.db.ResetRequests()
		h.expect(function, batch("m1 k1", "m3 k2"), nil, nil)
		h.equal("requests", len(h.db.Requests()), 2)
		h.equal("log", h.log.String(), "")
	})
}

func TestWhatAllDoneAnswersToLambda(t *testing.T) {
	t.Parallel()
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

func TestThoseThatFailAreReportedAndOnlyTheyRunAgain(t *testing.T) {
	t.Parallel()
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		closed := always()
		function := wrap(failing(closed, "k2", "k4"))
		event := batch("m1 k1", "m2 k2", "m3 k3", "m4 k4", "m5 k5")

		h.check(function, event, []string{"m2", "m4"}, []string{"m1", "m2", "m3", "m4", "m5"})
		h.equal("k1", h.state("k1"), "COMPLETED")
		h.equal("k2", h.state("k2"), "INPROGRESS released")

		closed.Store(false)
		h.check(function, deliveredFor(event, 2), nil, []string{"m2", "m4"}) // the whole batch comes again, as after a time-out
		h.equal("attempts", h.attempts("k2"), "2")
		h.check(function, deliveredFor(event, 3), nil, nil)
	})
}

func TestAllFailedIsEveryIDAndNoInvocationError(t *testing.T) {
	t.Parallel()
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		function := wrap(failing(always(), "k0", "k1", "k2"))
		all := []string{"m0", "m1", "m2"}
		h.check(function, numbered(3), all, all)
	})
}

func TestTheSameMessageTwiceIsReportedOnce(t *testing.T) {
	t.Parallel()

	h := newHarness(t, nil)
	function := h.handle(func(context.Context, events.SQSMessage) error { return errBank })
	h.expect(function, batch("m1 k", "m1 k"), []string{"m1"}, []string{"m1"})
}

func TestAnEmptyMessageIdThatFailsIsAnInvocationError(t *testing.T) {
	t.Parallel()

	h := newHarness(t, nil)
	function := h.handle(func(_ context.Context, m events.SQSMessage) error {
		if m.Body == "bad" {
			return errBank
		}

		return nil
	})
	event := batch("m1 bad", "m2 k")
	event.Records[0].MessageId = ""

	response, err := function(t.Context(), event)
	if err == nil || len(response.BatchItemFailures) != 0 {
		t.Errorf("got %v, %v, want an error", response, err)
	}

	event.Records[0].Body = "good"
	h.expect(function, event, nil, []string{""})
}

func TestEveryMessageFailsAtFullParallelismAndEachIsReportedOnce(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(all *harness) {
		const size = 12

		for round := range rounds(300) {
			mode := modes[round%len(modes)]
			mode.opts.Observe = func(context.Context, idemddb.Event) {}
			h := newHarness(all.TB, &mode.opts)
			h.opts.Workers = 1 + round%(size+3)
			h.opts.Logger = slog.New(slog.DiscardHandler)

			if round%5 == 0 { // one key is held elsewhere, and the claim of another one fails
				claim(h, h.store, "k3")
				h.db.InterceptStatements(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
					if r.Operation == "INSERT" && cmp.Equal(r.Key, recordKey("k4"), ignoreUnexported) {
						return idemddbtest.ServerError
					}

					return idemddbtest.None
				})
			}

			function := lambdawrap.SQS(h.store, func(ctx context.Context, m events.SQSMessage) error {
				switch (round + int(m.Body[len(m.Body)-1])) % 4 {
				case 0:
					panic("nil map")
				case 1:
					goexit()
				case 2:
					<-ctx.Done()
					time.Sleep(time.Minute) // it ignores its context
				}

				return errBank
			}, h.opts)

			ctx, cancel := context.WithTimeout(h.Context(), 10*time.Second)
			response, err := function(ctx, numbered(size))

			if err != nil || !slices.Equal(ids(response), messageIDs(size)) || ctx.Err() != nil {
				t.Fatalf("round %d: %v, %v, %v", round, ids(response), err, ctx.Err())
			}

			cancel()
		}

		time.Sleep(2 * time.Minute) // the handlers that ignore their contexts end meanwhile
	})
}
