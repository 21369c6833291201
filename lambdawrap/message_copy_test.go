package lambdawrap_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// attributed is a message with everything that it may share with a copy of itself.
func attributed() events.SQSMessage {
	m := deliveredFor(numbered(1), 3).Records[0]
	m.MessageAttributes = map[string]events.SQSMessageAttribute{
		"text": {StringValue: new("as it was"), DataType: "String"}, "bytes": {BinaryValue: []byte("as it was"), DataType: "Binary"},
	}

	return m
}

// spoil changes everything that a message shares with its copies.
func spoil(m events.SQSMessage) {
	m.Attributes["ApproximateReceiveCount"] = "99"
	delete(m.Attributes, "MessageGroupId")

	*m.MessageAttributes["text"].StringValue = "changed"
	copy(m.MessageAttributes["bytes"].BinaryValue, "changed")
	m.MessageAttributes["more"] = events.SQSMessageAttribute{}
}

func TestHooksGetTheMessageAsItArrived(t *testing.T) {
	t.Parallel()

	test := func(h *harness, wrap func(*harness, lambdawrap.Handler) wrapped) {
		var end theEnd

		h.opts.OnMessage = end.hook

		dead := 0
		h.opts.DeadLetter = func(_ context.Context, m events.SQSMessage, _ error) error {
			dead++

			if diff := cmp.Diff(attributed(), m); diff != "" {
				h.Errorf("the dead-letter hook's message (-want +got):\n%s", diff)
			}

			spoil(m) // OnMessage does not see that either

			return nil
		}
		key := h.opts.Key
		h.opts.Key = func(ctx context.Context, m events.SQSMessage) (string, error) {
			text, err := key(ctx, m)
			delete(m.MessageAttributes, "more") // what a key function changes does not reach the hooks

			return text, err
		}

		for range 2 { // the first delivery fails for good, and the second is refused
			failed, _ := h.within(time.Minute, wrap(h, func(_ context.Context, m events.SQSMessage) error {
				spoil(m)

				return lambdawrap.Permanent(errBank)
			}), events.SQSEvent{Records: []events.SQSMessage{attributed()}})
			h.equal("failed", failed, []string(nil))
		}

		h.equal("calls of the hook", dead, 2)

		for _, m := range end.got {
			if diff := cmp.Diff(attributed(), m); diff != "" {
				h.Errorf("OnMessage's message (-want +got):\n%s", diff)
			}
		}
	}

	everyMode(t, func(h *harness) { test(h, (*harness).handle) })
	everyMode(t, func(h *harness) { test(h, (*harness).strict) })
}

func TestWhatTheKeyFunctionChangesReachesNoHookEither(t *testing.T) {
	t.Parallel()
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		h.opts.Key = func(_ context.Context, m events.SQSMessage) (string, error) {
			spoil(m)

			return "", lambdawrap.Permanent(errBank)
		}
		h.opts.DeadLetter = func(_ context.Context, m events.SQSMessage, _ error) error {
			if diff := cmp.Diff(attributed(), m); diff != "" {
				h.Errorf("the dead-letter hook's message (-want +got):\n%s", diff)
			}

			return nil
		}

		failed, _ := h.within(time.Minute, wrap(succeed), events.SQSEvent{Records: []events.SQSMessage{attributed()}})
		h.equal("failed", failed, []string(nil))
	})
}

func TestAHandlerOfValuesCanReadItsMessage(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		h.opts.Key = lambdawrap.MessageID

		ids := map[string]int{}
		function := lambdawrap.SQS(h.store, lambdawrap.JSON(func(ctx context.Context, n int) error {
			m, ok := lambdawrap.MessageFrom(ctx)
			h.equal("found", ok, true)

			ids[m.MessageId] = n

			return nil
		}), h.opts)

		failed, _ := h.within(time.Minute, function, batch("m0 10", "m1 11"))
		h.equal("failed", failed, []string(nil))
		h.equal("messages", ids, map[string]int{"m0": 10, "m1": 11})

		_, ok := lambdawrap.MessageFrom(h.Context())
		h.equal("outside of a handler", ok, false)
	})
	everyMode(t, func(h *harness) {
		function := h.whole(func(ctx context.Context, _ events.SQSMessage) error {
			_, ok := lambdawrap.MessageFrom(ctx)
			h.equal("in Batch", ok, false)

			return nil
		})
		h.within(time.Minute, function, numbered(2))
	})
}
