package lambdawrap_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// keyOfEvent is the key or ErrNoKey, as text.
func keyOfEvent[In any](t *testing.T, find func(context.Context, In) (string, error), in In) string {
	t.Helper()

	key, err := find(t.Context(), in)

	switch {
	case err == nil:
		return key
	case errors.Is(err, lambdawrap.ErrNoKey) && key == "":
		return "no key"
	default:
		t.Fatalf("got %q, %v", key, err)

		return ""
	}
}

func sns(m events.SNSEntity) events.SNSEvent {
	return events.SNSEvent{Records: []events.SNSEventRecord{{SNS: m}}}
}

func s3(name, bucket, key, version, sequencer string) events.S3Event {
	return events.S3Event{Records: []events.S3EventRecord{{EventName: name, S3: events.S3Entity{
		Bucket: events.S3Bucket{Name: bucket}, Object: events.S3Object{Key: key, VersionID: version, Sequencer: sequencer},
	}}}}
}

func TestKeysOfEvents(t *testing.T) {
	t.Parallel()

	two := sns(events.SNSEntity{TopicArn: "arn", MessageID: "m"})
	two.Records = append(two.Records, two.Records[0])

	staged := map[string]any{"idemddb-id": map[string]any{"Type": "String", "Value": "tx-0"}}
	bridge := func(source, id string, resources ...string) string {
		return keyOfEvent(t, lambdawrap.EventBridgeID, events.EventBridgeEvent{Source: source, ID: id, Resources: resources})
	}
	object := func(e events.S3Event) string { return keyOfEvent(t, lambdawrap.S3ObjectVersion, e) }

	for name, c := range map[string]struct{ got, want string }{
		"EventBridge":                     {bridge("shop", "e-1", "arn:of:something"), `#["shop","e-1"]`},
		"EventBridge, staged":             {bridge("shop", "e-1", "arn:of:something", "idemddb:tx-0"), "tx-0"},
		"EventBridge, without an id":      {bridge("shop", ""), "no key"},
		"EventBridge, without a source":   {bridge("", "e-1"), "no key"},
		"EventBridge, of no text":         {bridge("shop\xff", "e-1"), "no key"},
		"SNS":                             {keyOfEvent(t, lambdawrap.SNSMessageID, sns(events.SNSEntity{TopicArn: "arn", MessageID: "m"})), `#["arn","m"]`},
		"SNS, staged":                     {keyOfEvent(t, lambdawrap.SNSMessageID, sns(events.SNSEntity{TopicArn: "arn", MessageID: "m", MessageAttributes: staged})), "tx-0"},
		"SNS, two":                        {keyOfEvent(t, lambdawrap.SNSMessageID, two), "no key"},
		"SNS, none":                       {keyOfEvent(t, lambdawrap.SNSMessageID, events.SNSEvent{}), "no key"},
		"SNS, without a topic":            {keyOfEvent(t, lambdawrap.SNSMessageID, sns(events.SNSEntity{MessageID: "m"})), "no key"},
		"S3, a version":                   {object(s3("ObjectCreated:Put", "b", "k", "v", "1")), `#["ObjectCreated:Put","b","k","v"]`},
		"S3, the same version is removed": {object(s3("ObjectRemoved:Delete", "b", "k", "v", "2")), `#["ObjectRemoved:Delete","b","k","v"]`},
		"S3, no versions":                 {object(s3("ObjectCreated:Put", "b", "k", "", "1")), `#["ObjectCreated:Put","b","k","1"]`},
		"S3, versions suspended":          {object(s3("ObjectCreated:Put", "b", "k", "null", "1")), `#["ObjectCreated:Put","b","k","1"]`},
		"S3, neither":                     {object(s3("ObjectCreated:Put", "b", "k", "", "")), "no key"},
		"S3, tags":                        {object(s3("ObjectTagging:Put", "b", "k", "v", "")), "no key"},
		"S3, none":                        {object(events.S3Event{}), "no key"},
		"a request": {keyOfEvent(t, func(ctx context.Context, in int) (string, error) {
			return lambdawrap.RequestID(inLambda(ctx, "r-1"), in)
		}, 0), `#["r-1"]`},
		"outside of Lambda": {keyOfEvent(t, lambdawrap.RequestID, 0), "no key"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %s, want %s", name, c.got, c.want)
		}
	}
}

func TestSentMessageHasTheKeyOfMessageIDWhereThereIsNoIDOfOurs(t *testing.T) {
	t.Parallel()

	for name, m := range map[string]events.SQSMessage{
		"a plain body":             {Body: "hello"},
		"another attribute":        {MessageAttributes: map[string]events.SQSMessageAttribute{"other": {DataType: "String", StringValue: aws.String("tx-0")}}},
		"an empty attribute":       {MessageAttributes: map[string]events.SQSMessageAttribute{"idemddb-id": {DataType: "String", StringValue: aws.String("")}}},
		"an envelope without it":   {Body: `{"Type":"Notification","MessageAttributes":{"other":{"Type":"String","Value":"tx-0"}}}`},
		"an envelope of no text":   {Body: `{"Type":"Notification","MessageAttributes":{"idemddb-id":"tx-0"}}`},
		"what is no envelope":      {Body: `{"MessageAttributes":{"idemddb-id":{"Type":"String","Value":"tx-0"}}}`},
		"what is no event":         {Body: `{"resources":["idemddb:tx-0"]}`},
		"an event without it":      {Body: `{"detail-type":"captured","resources":["arn"]}`},
		"an event of another kind": {Body: `{"detail-type":"captured","resources":"idemddb:tx-0"}`},
	} {
		m.MessageId, m.EventSourceARN = "m-1", "arn"

		if key, err := lambdawrap.SentMessageID(t.Context(), m); key != `#["arn","m-1"]` || err != nil {
			t.Errorf("%s: got %s, %v", name, key, err)
		}
	}
}
