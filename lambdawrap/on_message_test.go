package lambdawrap_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// outcomeCase prepares one message and returns its handler. want is the outcome that OnMessage is given.
type outcomeCase struct {
	set  func(h *harness) lambdawrap.Handler
	want lambdawrap.Outcome
}

func TestOnMessageIsGivenTheOutcomeOfItsMessage(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]outcomeCase{
		"completed": {func(*harness) lambdawrap.Handler { return succeed }, lambdawrap.OutcomeCompleted},
		"replayed": {func(h *harness) lambdawrap.Handler {
			h.heldElsewhere("k0", time.Nanosecond)
			time.Sleep(moment)

			return succeed
		}, lambdawrap.OutcomeReplayed},
		"unrecorded": {func(h *harness) lambdawrap.Handler {
			h.db.Intercept(faultFor(isCallOf(isCompletion), idemddbtest.Throttle))

			return succeed
		}, lambdawrap.OutcomeUnrecorded},
		"fenced": {func(h *harness) lambdawrap.Handler {
			return func(context.Context, events.SQSMessage) error {
				h.steal("k0")

				return nil
			}
		}, lambdawrap.OutcomeFenced},
		"failed": {func(*harness) lambdawrap.Handler { return failWith(lambdawrap.Permanent(errBank)) }, lambdawrap.OutcomeFailed},
		"refused": {func(h *harness) lambdawrap.Handler {
			h.equal("failed", h.heldElsewhere("k0", 0).Fail(h.Context(), errBank), nil)

			return succeed
		}, lambdawrap.OutcomeRefused},
		"mismatch": {func(h *harness) lambdawrap.Handler {
			another, record, err := h.store.Claim(h.Context(), "k0", &idemddb.ClaimOptions{Fingerprint: "another"})
			if another == nil {
				h.Fatalf("got record %v, error %v, want a claim", record, err)
			}

			h.equal("error", another.Complete(h.Context(), nil), nil)

			h.opts.Fingerprint = func(context.Context, events.SQSMessage) (string, error) { return "this", nil }

			return succeed
		}, lambdawrap.OutcomeMismatch},
		"no key": {func(h *harness) lambdawrap.Handler {
			h.opts.Key = func(context.Context, events.SQSMessage) (string, error) { return "", nil }

			return succeed
		}, lambdawrap.OutcomeNoKey},
		"corrupt": {func(h *harness) lambdawrap.Handler {
			h.put(map[string]types.AttributeValue{
				"pk": &types.AttributeValueMemberS{Value: "payments#k0"}, "v": &types.AttributeValueMemberN{Value: "99"},
			})

			return succeed
		}, lambdawrap.OutcomeCorrupt},
		"a key function that fails": {func(h *harness) lambdawrap.Handler {
			h.opts.Key = func(context.Context, events.SQSMessage) (string, error) { return "", errBank }

			return succeed
		}, lambdawrap.OutcomeReleased},
		"released": {func(*harness) lambdawrap.Handler { return failWith(errBank) }, lambdawrap.OutcomeReleased},
		"in progress": {func(h *harness) lambdawrap.Handler {
			h.heldElsewhere("k0", 0)

			return succeed
		}, lambdawrap.OutcomeInProgress},
		"unanswered": {func(h *harness) lambdawrap.Handler {
			h.db.Intercept(faultFor(isCallOf(isClaim), idemddbtest.Throttle))

			return succeed
		}, lambdawrap.OutcomeUnanswered},
		"no time": {func(h *harness) lambdawrap.Handler {
			h.opts.Reserve = 20 * time.Second

			return succeed
		}, lambdawrap.OutcomeNoTime},
		"late": {func(*harness) lambdawrap.Handler { return slowly(time.Minute) }, lambdawrap.OutcomeLate},
	} {
		for _, w := range wraps {
			if w.name == "Batch" {
				w.wrap = (*harness).strict
			}

			each(t, name+", "+w.name, bothModes, func(h *harness) {
				ends := h.outcomes()
				h.opts.Workers = w.workers
				function := w.wrap(h, c.set(h))

				h.within(20*time.Second, function, numbered(1))
				h.sorted("ends", ends, "m0 "+string(c.want))
			})
		}
	}
}

// strict is whole for a handler whose first error is that of the whole event.
func (h *harness) strict(work lambdawrap.Handler) wrapped {
	return h.event(func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		for _, m := range event.Records {
			if err := work(ctx, m); err != nil {
				return events.SQSEventResponse{}, err
			}
		}

		return events.SQSEventResponse{}, nil
	})
}

// steal takes a key over, however long its lease is, and leaves it in progress.
func (h *harness) steal(key string) *idemddb.Claim {
	h.Helper()

	return claim(h, h.open(h.db, &idemddb.Options{Now: func() time.Time { return time.Now().Add(time.Hour) }}), key)
}

func TestOnMessageSaysReplayedForDuplicatesOnly(t *testing.T) {
	t.Parallel()
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		ends := h.outcomes()
		function := wrap(succeed)

		h.within(time.Minute, function, batch("m0 a", "m1 a", "m2 b", "m3 a")) // a runs once, and so does b
		h.sorted("ends", ends, "m0 completed", "m1 replayed", "m2 completed", "m3 replayed")
		h.ran("m0", "m2")

		ends.clear()
		h.within(time.Minute, function, batch("m0 a", "m1 a", "m2 b", "m3 c"))
		h.sorted("ends", ends, "m0 replayed", "m1 replayed", "m2 replayed", "m3 completed")
	})
}

// What waits for the work of a message does not wait for its hook.
func TestAnOnMessageThatTakesLongDelaysNoOtherMessage(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		h.opts.OnMessage = func(context.Context, events.SQSMessage, lambdawrap.Outcome) { time.Sleep(time.Second) }

		took := h.answeredIn(time.Minute, h.handle(succeed), batch("m0 a", "m1 a", "m2 b"))
		h.equal("the hooks run side by side", took < time.Second+10*moment, true)
	})
}

func TestAnOnMessageThatFailsChangesNothing(t *testing.T) {
	t.Parallel()

	for name, fail := range map[string]func(context.Context){
		"it panics":           func(context.Context) { panic("hook") },
		"it exits":            func(context.Context) { goexit() },
		"it panics with nil":  func(context.Context) { panic((*codeError)(nil)) },
		"it hangs for a time": func(context.Context) { time.Sleep(time.Second) },
	} {
		each(t, name, everyWay, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
			h.opts.OnMessage = func(ctx context.Context, _ events.SQSMessage, _ lambdawrap.Outcome) { fail(ctx) }
			function := wrap(failingWith(errBank, "k1"))

			h.answeredIn(time.Minute, function, numbered(4), "m1")
			h.equal("it is logged", strings.Contains(h.log.String(), "the hook for ended messages failed"), name != "it hangs for a time")

			for i, want := range []string{"COMPLETED", "INPROGRESS released", "COMPLETED", "COMPLETED"} {
				h.equal(fmt.Sprint("record ", i), h.state(fmt.Sprint("k", i)), want)
			}
		})
	}
}
