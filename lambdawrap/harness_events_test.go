package lambdawrap_test

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// batch makes an event of messages "id key", or "id key group" for a FIFO queue.
func batch(messages ...string) events.SQSEvent {
	var event events.SQSEvent

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

// numbered is a batch of n messages: m0 with key k0 and so on.
func numbered(n int) events.SQSEvent {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprintf("m%d k%d", i, i)
	}

	return batch(texts...)
}

// deliveredFor sets how often the messages of an event were delivered.
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

func ids(response events.SQSEventResponse) []string {
	var failed []string
	for _, f := range response.BatchItemFailures {
		failed = append(failed, f.ItemIdentifier)
	}

	return failed
}
