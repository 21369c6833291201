package lambdawrap_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// outcomeCase is a message and its handler. want is the outcome that OnMessage is given.
type outcomeCase struct {
	set  func(h *harness)   // nil for nothing
	work lambdawrap.Handler // nil for one whose key another worker takes over
	want lambdawrap.Outcome
}

func TestOnMessageIsGivenTheOutcomeOfItsMessage(t *testing.T) {
	t.Parallel()

	keyOfAll := func(key string, err error) func(*harness) {
		return func(h *harness) {
			h.opts.Key = func(context.Context, events.SQSMessage) (string, error) { return key, err }
		}
	}
	faults := func(is func(idemddbtest.Request) bool) func(*harness) {
		return func(h *harness) { h.db.Intercept(faultFor(isCallOf(is), idemddbtest.Throttle)) }
	}

	for name, c := range map[string]outcomeCase{
		"completed": {nil, succeed, lambdawrap.OutcomeCompleted},
		"replayed": {func(h *harness) {
			h.equal("completed", h.heldElsewhere("k0", 0).Complete(h.Context(), nil), nil)
		}, succeed, lambdawrap.OutcomeReplayed},
		"unrecorded": {faults(isCompletion), succeed, lambdawrap.OutcomeUnrecorded},
		"fenced":     {nil, nil, lambdawrap.OutcomeFenced},
		"failed":     {nil, failWith(lambdawrap.Permanent(errBank)), lambdawrap.OutcomeFailed},
		"refused": {func(h *harness) {
			h.equal("failed", h.heldElsewhere("k0", 0).Fail(h.Context(), errBank), nil)
		}, succeed, lambdawrap.OutcomeRefused},
		"mismatch": {func(h *harness) {
			another, record, err := h.store.Claim(h.Context(), "k0", &idemddb.ClaimOptions{Fingerprint: "another"})
			if another == nil {
				h.Fatalf("got record %v, error %v, want a claim", record, err)
			}

			h.equal("error", another.Complete(h.Context(), nil), nil)

			h.opts.Fingerprint = func(context.Context, events.SQSMessage) (string, error) { return "this", nil }
		}, succeed, lambdawrap.OutcomeMismatch},
		"no key": {keyOfAll("", nil), succeed, lambdawrap.OutcomeNoKey},
		"corrupt": {func(h *harness) {
			h.put(map[string]types.AttributeValue{
				"pk": &types.AttributeValueMemberS{Value: "payments#k0"}, "v": &types.AttributeValueMemberN{Value: "99"},
			})
		}, succeed, lambdawrap.OutcomeCorrupt},
		"a key function that fails": {keyOfAll("", errBank), succeed, lambdawrap.OutcomeReleased},
		"released":                  {nil, failWith(errBank), lambdawrap.OutcomeReleased},
		"in progress":               {func(h *harness) { h.heldElsewhere("k0", 0) }, succeed, lambdawrap.OutcomeInProgress},
		"unanswered":                {faults(isClaim), succeed, lambdawrap.OutcomeUnanswered},
		"no time":                   {func(h *harness) { h.opts.Reserve = 20 * time.Second }, succeed, lambdawrap.OutcomeNoTime},
		"late":                      {nil, slowly(time.Minute), lambdawrap.OutcomeLate},
	} {
		for _, w := range ways {
			if w.name == "Batch" {
				w.wrap = (*harness).strict
			}

			each(t, name+", "+w.name, bothModes, func(h *harness) {
				ends := h.outcomes()

				if c.set != nil {
					c.set(h)
				}

				work := c.work
				if work == nil {
					work = does(func() error { h.steal("k0"); return nil })
				}

				h.within(20*time.Second, w.wrap(h, work), numbered(1))
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
	everyMode(t, func(h *harness) {
		h.opts.OnMessage = func(context.Context, events.SQSMessage, lambdawrap.Outcome) { time.Sleep(time.Second) }

		took := h.answeredIn(time.Minute, h.handle(succeed), batch("m0 a", "m1 a", "m2 b"))
		h.equal("the hooks run side by side", took < time.Second+10*moment, true)
	})
}

// A completion without an answer is tried for as long as there is time. A program counts such messages in OnMessage, so time is
// left for this call: it ends before the answer, and is not taken for a hook that hangs.
func TestOnMessageIsCalledBeforeTheAnswerForAMessageWhoseCompletionHasNone(t *testing.T) {
	bothModes(t, func(h *harness) {
		ends := h.outcomes()
		h.opts.Workers = 10
		h.db.Intercept(faultFor(isCallOf(isCompletion), idemddbtest.LateReply))

		h.answeredIn(3*time.Second, h.handle(succeed), numbered(5))
		h.sorted("ends", ends, "m0 unrecorded", "m1 unrecorded", "m2 unrecorded", "m3 unrecorded", "m4 unrecorded")

		if strings.Contains(h.log.String(), "the hook for ended messages") {
			h.Errorf("the log is\n%s", h.log)
		}
	})
}

// Batch gives back the claims of what its handler does not get, and that is tried for as long.
func TestOnMessageIsCalledBeforeTheAnswerForAMessageWhoseClaimIsGivenBack(t *testing.T) {
	bothModes(t, func(h *harness) {
		ends := h.outcomes()
		h.heldElsewhere("k0", 0)
		h.db.Intercept(faultFor(func(r idemddbtest.Request) bool { return !isCallOf(isClaim)(r) }, idemddbtest.LateReply))

		h.answeredIn(3*time.Second, h.whole(succeed), batch("m0 k0 g", "m1 k1 g", "m2 k2 g"), "m0", "m1", "m2")
		h.sorted("ends", ends, "m0 in_progress", "m1 blocked", "m2 blocked")

		if strings.Contains(h.log.String(), "the hook for ended messages") {
			h.Errorf("the log is\n%s", h.log)
		}
	})
}
