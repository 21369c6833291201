package lambdawrap_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestTheDefaultKeyIsQueueAndMessage(t *testing.T) {
	t.Parallel()

	h := newHarness(t, nil)
	h.opts.Key = nil
	function := h.handle(succeed)
	event := batch("m1 body")

	h.expect(function, event, nil, []string{"m1"})

	event.Records[0].ReceiptHandle = "another"
	event.Records[0].Attributes = map[string]string{"ApproximateReceiveCount": "2"}
	h.expect(function, event, nil, nil)

	event.Records[0].EventSourceARN += "-2"
	h.expect(function, event, nil, []string{"m1"})
}

func TestAMessageWithoutAKeyFailsBeforeAnyRequest(t *testing.T) {
	t.Parallel()

	h := newHarness(t, nil)
	h.opts.Key = func(_ context.Context, m events.SQSMessage) (string, error) {
		switch m.Body {
		case "none":
			return "", lambdawrap.ErrNoKey
		case "panic":
			panic("key")
		case "empty":
			return "", nil
		default:
			return m.Body, nil
		}
	}
	h.expect(h.handle(succeed), batch("m1 none", "m2 panic", "m3 empty", "m4 k"), []string{"m1", "m2", "m3"}, []string{"m4"})
	h.equal("requests", len(h.db.Requests()), 2)
}

func TestABodyThatDoesNotParseCostsItsOwnMessage(t *testing.T) {
	t.Parallel()
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		h.opts.Key, _ = lambdawrap.Body("id")
		event := batch(`m1 {"id":1}`, `m2 {"id":`, `m3 {"id":3}`)
		function := wrap(succeed)
		h.check(function, event, []string{"m2"}, []string{"m1", "m3"})
		h.equal("records", len(h.db.Items("records")), 2)
		h.check(function, event, []string{"m2"}, nil)
	})
}

func TestAKeyFunctionThatPanicsIsItsMessagesFailure(t *testing.T) {
	t.Parallel()
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		h.opts.Key = func(_ context.Context, m events.SQSMessage) (string, error) {
			if m.Body == "k1" {
				panic("key")
			}

			return m.Body, nil
		}
		h.opts.Fingerprint = func(_ context.Context, m events.SQSMessage) (string, error) {
			if m.Body == "k2" {
				panic(errors.New("fingerprint"))
			}

			return m.Body, nil
		}
		h.check(wrap(succeed), numbered(4), []string{"m1", "m2"}, []string{"m0", "m3"})

		h.logs("panic: key", "panic: fingerprint", "stack=", "level=ERROR")
	})
}
