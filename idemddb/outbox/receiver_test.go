package outbox_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/outbox"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// The keys that docs/outbox.md names pick the id out of what a receiver gets: the same key for each sending, and another one for
// each message.
func TestReceiversKeysPickTheID(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		key     func() (lambdawrap.KeyFunc, error)
		receive func(t *testing.T, m idemddb.Message) events.SQSMessage
	}{
		"from SQS":                               {attributeKey, fromSQS},
		"from SNS, with raw message delivery":    {attributeKey, fromRawSNS},
		"from SNS, without raw message delivery": {bodyKey(`MessageAttributes."idemddb-id".Value`), fromSNS},
		"from EventBridge, by way of a queue":    {bodyKey("resources[0]"), fromEventBridge},

		"SentMessageID, from SQS":                               {sentMessage, fromSQS},
		"SentMessageID, from SNS, with raw message delivery":    {sentMessage, fromRawSNS},
		"SentMessageID, from SNS, without raw message delivery": {sentMessage, fromSNS},
		"SentMessageID, from EventBridge, by way of a queue":    {sentMessage, fromEventBridge},
	} {
		key, err := c.key()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}

		keys := map[string]bool{}

		for _, id := range []string{"tx-0", "tx-0", "tx-1"} {
			m := captured()
			m.ID, m.Attributes = id, nil

			got, err := key(t.Context(), c.receive(t, m))
			if isWhole := strings.HasPrefix(name, "SentMessageID"); err != nil || !strings.Contains(got, id) || isWhole && got != id {
				t.Errorf("%s: message %s has the key %q, error %v", name, id, got, err)
			}

			keys[got] = true
		}

		if len(keys) != 2 {
			t.Errorf("%s: keys %v, want one for each of two messages", name, keys)
		}
	}
}

func attributeKey() (lambdawrap.KeyFunc, error) { return lambdawrap.Attribute("idemddb-id"), nil }

func sentMessage() (lambdawrap.KeyFunc, error) { return lambdawrap.SentMessageID, nil }

// One message has one key, on whichever way it comes: also where it invokes a function.
func TestSentMessageHasOneKeyForAllWaysOfAMessage(t *testing.T) {
	t.Parallel()

	m := captured()
	m.ID, m.Attributes = "tx-0", nil

	for invoked, key := range map[string]func() (string, error){
		"by SNS": func() (string, error) { return lambdawrap.SNSMessageID(t.Context(), toFunction(t, fromSNS(t, m))) },
		"by EventBridge": func() (string, error) {
			return lambdawrap.EventBridgeID(t.Context(), eventIn(t, fromEventBridge(t, m)))
		},
	} {
		if key, err := key(); key != "tx-0" || err != nil {
			t.Errorf("%s: got %q, %v, want the id", invoked, key, err)
		}
	}
}

// toFunction is a message of SNS as a function gets it that is subscribed itself.
func toFunction(t *testing.T, m events.SQSMessage) events.SNSEvent {
	t.Helper()

	var entity events.SNSEntity
	if err := json.Unmarshal([]byte(m.Body), &entity); err != nil {
		t.Fatal(err)
	}

	return events.SNSEvent{Records: []events.SNSEventRecord{{SNS: entity}}}
}

func eventIn(t *testing.T, m events.SQSMessage) (event events.EventBridgeEvent) {
	t.Helper()

	if err := json.Unmarshal([]byte(m.Body), &event); err != nil {
		t.Fatal(err)
	}

	return event
}

func bodyKey(path string) func() (lambdawrap.KeyFunc, error) {
	return func() (lambdawrap.KeyFunc, error) { return lambdawrap.Body(path) }
}

func sendOne(t *testing.T, sender idemddb.Sender, m idemddb.Message) {
	t.Helper()

	if err := sender.Send(t.Context(), m.To, []idemddb.Message{m})[0]; err != nil {
		t.Fatal(err)
	}
}

func fromSQS(t *testing.T, m idemddb.Message) events.SQSMessage {
	t.Helper()

	s := &services{}
	sendOne(t, outbox.SQS(s, queueURL), m)

	return events.SQSMessage{Body: s.entries[0].body, MessageAttributes: s.entries[0].attributes}
}

func fromRawSNS(t *testing.T, m idemddb.Message) events.SQSMessage {
	t.Helper()

	s := &services{}
	sendOne(t, outbox.SNS(s, topicARN), m)

	return events.SQSMessage{Body: s.entries[0].body, MessageAttributes: s.entries[0].attributes}
}

func fromSNS(t *testing.T, m idemddb.Message) events.SQSMessage {
	t.Helper()

	raw, attributes := fromRawSNS(t, m), map[string]any{}
	for name, a := range raw.MessageAttributes {
		attributes[name] = map[string]string{"Type": a.DataType, "Value": *a.StringValue}
	}

	return inBody(t, map[string]any{"Type": "Notification", "Message": raw.Body, "MessageAttributes": attributes})
}

func fromEventBridge(t *testing.T, m idemddb.Message) events.SQSMessage {
	t.Helper()

	s := &services{}
	sendOne(t, outbox.EventBridge(s, "bus", "payments", "captured"), m)

	return inBody(t, events.EventBridgeEvent{
		Source: *s.events[0].Source, DetailType: *s.events[0].DetailType, Resources: s.events[0].Resources, Detail: json.RawMessage(*s.events[0].Detail),
	})
}

func inBody(t *testing.T, v any) events.SQSMessage {
	t.Helper()

	body, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}

	return events.SQSMessage{Body: string(body)}
}
