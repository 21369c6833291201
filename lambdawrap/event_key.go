package lambdawrap

import (
	"context"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/delivery"
	"github.com/idemddb/go-idemddb/internal/engine"
)

// This file holds the key functions that take a key from what an AWS service has put into the event: SentMessageID for SQS; and
// for Func those for EventBridge, SNS, S3 and asynchronous invocations. key.go holds the other ones for SQS.

// SentMessageID is a [KeyFunc] for queues that get messages which another function staged ([idemddb.Stage]). Such a message is
// sent at least once, each time with a new message id and with one id of ours, which is the key: as a message attribute, inside
// of the envelope that SNS makes, or in the event that EventBridge sends to the queue. All other messages have the key, or the
// error, of [MessageID]. Of several messages in one Options.Envelope, each after the first has its number in the key, too.
func SentMessageID(ctx context.Context, m events.SQSMessage) (string, error) {
	id := aws.ToString(m.MessageAttributes[delivery.IDAttribute].StringValue)
	if id == "" {
		id = delivery.IDInEnvelope(m.Body)
	}

	number := numberInEnvelope(m)

	switch {
	case id == "":
		return MessageID(ctx, m)
	case len(number) > 0:
		return listKey("is this a staged message?", field{delivery.IDAttribute, id}, field{"its number", number[0]})
	default:
		return idemddb.TextKey(id), nil
	}
}

// EventBridgeID is a key function for [Func]: the event's source and its id, which are the same whenever EventBridge delivers the
// event again. A producer that puts an event again gives it a new id; one that another function staged keeps the id that it had,
// which is then the key, as for [SentMessageID].
//
// An event of EventBridge Scheduler has no id of its own. Its key is made of the schedule's ARN and the scheduled time, which the
// schedule must put into its input. The error is [ErrNoKey] if the source or the id is empty.
func EventBridgeID(_ context.Context, e events.EventBridgeEvent) (string, error) {
	if id := delivery.IDInResources(e.Resources); id != "" {
		return idemddb.TextKey(id), nil
	}

	return listKey("is this an event of EventBridge?", field{"source", e.Source}, field{"id", e.ID})
}

// SNSMessageID is a key function for [Func]: the topic's ARN and the message's id. A message that another function staged keeps
// its own id whenever it is sent, which is then the key, as for [SentMessageID]. SNS invokes a function with one message at a
// time; any other number is [ErrNoKey].
func SNSMessageID(_ context.Context, e events.SNSEvent) (string, error) {
	if len(e.Records) != 1 {
		return "", noKey("the event has %d Records, and SNS sends one at a time", len(e.Records))
	}

	m := e.Records[0].SNS
	attribute, _ := m.MessageAttributes[delivery.IDAttribute].(map[string]any)
	if id, _ := attribute["Value"].(string); id != "" {
		return idemddb.TextKey(id), nil
	}

	return listKey("is this an event of SNS?", field{"TopicArn", m.TopicArn}, field{"MessageId", m.MessageID})
}

// S3ObjectVersion is a key function for [Func]: what happened, the bucket, the object's key, and the object's version, or the
// event's sequencer where the bucket keeps no versions. S3 delivers an event at least once, and invokes a function with one at a
// time; any other number is [ErrNoKey].
//
// Only events of objects that were created or removed differ from each other in these fields. Those of tags, access lists,
// restores and the like have no key here: two of them may have equal fields, and one key would let the second one go undone.
func S3ObjectVersion(_ context.Context, e events.S3Event) (string, error) {
	if len(e.Records) != 1 {
		return "", noKey("the event has %d Records, and S3 sends one at a time", len(e.Records))
	}

	r := e.Records[0]
	if !isCreatedOrRemoved(r) {
		return "", noKey("eventName is none of an object that was created or removed; write a key function for events like this one")
	}

	version := field{"versionId or sequencer", r.S3.Object.VersionID}
	if version.value == "" || version.value == "null" { // the version of what was written while versioning is suspended, each time
		version.value = r.S3.Object.Sequencer
	}

	return listKey("is this an event of S3?", field{"eventName", r.EventName}, field{"bucket.name", r.S3.Bucket.Name},
		field{"object.key", r.S3.Object.Key}, version)
}

// isCreatedOrRemoved reports whether an event of S3 is of an object that was created or removed. Only these have a sequencer of
// their own, by the documentation of S3: each restore of an object, for example, has that of its creation.
func isCreatedOrRemoved(r events.S3EventRecord) bool {
	return strings.HasPrefix(r.EventName, "ObjectCreated:") || strings.HasPrefix(r.EventName, "ObjectRemoved:")
}

// RequestID is a key function for [Func]: the invocation's request id. It is for asynchronous invocations: Lambda tries one up to
// three times, each time with the same id. A caller that invokes again gets a new id, and so does each synchronous invocation and
// each event that its source delivers twice; they need a key from their content. The error is [ErrNoKey] if the context has no
// request id, as outside of Lambda.
func RequestID[In any](ctx context.Context, _ In) (string, error) {
	return listKey("is this an invocation of Lambda?", field{"the request id", engine.RequestID(ctx)})
}

// DurableKey returns a key of the durable execution whose handler has this context, and of a name that tells its steps apart. A
// step of a durable function runs again if its process dies before the checkpoint; with this key its work is done once all the
// same:
//
//	key, err := lambdawrap.DurableKey(ctx, "charge") // in the handler; the context of a step does not name its execution
//	...
//	durable.Step(ctx, func(ctx durable.StepContext) (Receipt, error) {
//		return idemddb.Do(ctx, store, key, nil, charge)
//	})
//
// All branches of an execution have its ARN, so in a loop, in Map and in Parallel the name needs what tells the items apart, such
// as "charge " + order.ID: with one name, the first item's step would answer for all of them. The error is [ErrNoKey] if the
// context is that of no durable handler, or if the name is empty.
func DurableKey(ctx context.Context, step string) (string, error) {
	arn, _ := engine.DurableExecution(ctx)

	return listKey("is this the handler of a durable function, and has the step a name?",
		field{"the execution's ARN", arn}, field{"the step's name", step})
}
