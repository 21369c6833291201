package lambdawrap_test

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

const (
	queue = "arn:aws:sqs:us-east-1:123456789012:payments"
	fifo  = queue + ".fifo"
)

// batch returns an event of messages that are written as "id key", or as "id key group" for a FIFO queue.
func batch(messages ...string) events.SQSEvent {
	event := events.SQSEvent{Records: []events.SQSMessage{}}

	for _, text := range messages {
		fields := strings.Split(text, " ")
		m := events.SQSMessage{MessageId: fields[0], Body: fields[1], EventSourceARN: queue}

		if len(fields) > 2 {
			m.EventSourceARN = fifo
			m.Attributes = map[string]string{"MessageGroupId": fields[2]}
		}

		event.Records = append(event.Records, m)
	}

	return event
}

// numbered returns a batch of n messages: m0 with the key k0, and so on.
func numbered(n int) events.SQSEvent {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprintf("m%d k%d", i, i)
	}

	return batch(texts...)
}

// deliveredFor sets how often the messages of an event were delivered, and gives each a receipt handle.
func deliveredFor(event events.SQSEvent, times int) events.SQSEvent {
	for i := range event.Records {
		m := &event.Records[i]
		m.ReceiptHandle = "receipt of " + m.MessageId
		m.Attributes = maps.Clone(m.Attributes)

		if m.Attributes == nil {
			m.Attributes = map[string]string{}
		}

		m.Attributes["ApproximateReceiveCount"] = strconv.Itoa(times)
	}

	return event
}

// ids returns the ids that an answer reports as failed.
func ids(response events.SQSEventResponse) []string {
	var failed []string
	for _, f := range response.BatchItemFailures {
		failed = append(failed, f.ItemIdentifier)
	}

	return failed
}

// messageIDs returns the ids of the first n messages of numbered.
func messageIDs(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("m%d", i)
	}

	return all
}
