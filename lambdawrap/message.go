package lambdawrap

import (
	"bytes"
	"context"
	"maps"
	"strconv"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// message is one record of the event: planned, worked on, answered.
type message struct {
	events.SQSMessage // as it arrived

	given       events.SQSMessage // what the handler and the key functions get
	index       int               // in the batch
	key         string
	fingerprint string
	noKey       error  // why there is no key
	group       string // of a FIFO queue; "" on a standard queue
	fifo        bool
	unclaimed   bool // its handler runs without a claim
	receives    int  // how often it was delivered

	// The answer, written by the one goroutine that has the message.
	failed  bool
	outcome Outcome
	seconds int32 // until it comes back, if Options.Visibility says so
}

type messageKey struct{}

// MessageFrom returns the message whose handler runs with this context: for a handler of [JSON] that needs the message's id, attributes
// or receive count. With [Batch] there is none.
func MessageFrom(ctx context.Context) (events.SQSMessage, bool) {
	m, ok := ctx.Value(messageKey{}).(*message)
	if !ok {
		return events.SQSMessage{}, false
	}

	return m.given, true
}

// plan finds each message's key.
func (w *wrapper) plan(event events.SQSEvent) []*message {
	messages := make([]*message, len(event.Records))

	for i, record := range event.Records {
		m := &message{SQSMessage: record, given: record, index: i, receives: receiveCount(record), failed: true} // until proven done
		// The ARN says it: standard queues with fair queues have message groups, too, without an order.
		if m.fifo = strings.HasSuffix(record.EventSourceARN, ".fifo"); m.fifo {
			m.group = record.EventSourceARN + "\n" + record.Attributes["MessageGroupId"]
		}

		if w.opts.DeadLetter != nil || w.opts.OnMessage != nil {
			m.given = clone(record)
		}

		m.unclaimed = w.isOptimistic(m)
		m.noKey = recovered(func() error { return readable(w.findKey(m)) })
		messages[i] = m
	}

	return messages
}

func (w *wrapper) findKey(m *message) (err error) {
	if w.disabled {
		m.key = strconv.Itoa(m.index) // no two messages are one piece of work

		return nil
	}

	if m.key, err = w.opts.Key(m.given); err == nil && m.key == "" {
		err = noKey("the key function returned an empty key")
	}

	if err != nil || w.opts.Fingerprint == nil {
		return err
	}

	m.fingerprint, err = w.opts.Fingerprint(m.given)

	return err
}

// clone returns a copy that shares nothing with the message: what a handler does to its message must not reach the dead-letter hook.
func clone(m events.SQSMessage) events.SQSMessage {
	m.Attributes = maps.Clone(m.Attributes)
	m.MessageAttributes = maps.Clone(m.MessageAttributes)

	for name, a := range m.MessageAttributes {
		if a.StringValue != nil {
			a.StringValue = new(*a.StringValue)
		}

		a.BinaryValue = bytes.Clone(a.BinaryValue)
		m.MessageAttributes[name] = a
	}

	return m
}

// receiveCount is how often the message was delivered, at least once. If its attribute is missing or unreadable, this is the first
// time.
func receiveCount(m events.SQSMessage) int {
	n, err := strconv.Atoi(m.Attributes["ApproximateReceiveCount"])
	if err != nil {
		return 1
	}

	return max(n, 1)
}
