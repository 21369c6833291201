package lambdawrap

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/idemddb/go-idemddb/internal/panicerror"
	"github.com/idemddb/go-idemddb/internal/schedule"
	"github.com/idemddb/go-idemddb/internal/strictjson"
)

// KeyFunc returns the idempotency key of a message: messages with equal keys are one piece of work, which is done once.
//
// It must return the same key for a redelivery as for the first delivery. So it must not use ReceiptHandle or the attributes that
// change (ApproximateReceiveCount, ApproximateFirstReceiveTimestamp). It must never return one key for two pieces of work: the
// second would be answered from the record of the first and would not run. It is called concurrently.
//
// It may ask another service, because the keys of a batch are found side by side, up to Options.Workers at a time, beside as many
// handlers. Its context is that of the message (Options.MessageContext), or else of the invocation, with its values. It ends when
// nothing starts any more, at the latest when Options.Reserve begins. A message whose key is not there when it is too late for
// its handler to start ends as [OutcomeNoTime]: it is reported failed and nothing is claimed. What its function returns later is
// dropped, so a function that ignores its context costs its own message only. A function that takes half of the time in which
// handlers may start does not count as one of Workers any more. In a FIFO group a message waits for the keys of the messages
// before it; otherwise no message waits for the key of another one. [Batch] waits for all keys, at most until half of
// Options.Reserve before the last moment at which its handler can start.
//
// A key may be of any length, because [idemddb.Store] stores a long one as its digest; it must be valid UTF-8 and not empty. A
// KeyFunc of your own that returns [idemddb.TextKey] of a string shares the key with [Body] where both pick the same string, and
// else only with the ids of other services (SentMessageID, SNSMessageID, EventBridgeID), which are such strings, too. All other
// keys of this package begin with a single '#'.
//
// An error that wraps [ErrNoKey] or is marked by [Permanent] says that the message will never have a key. Any other error is a
// failure that may pass, such as that of a lookup: the message is reported failed and comes back. In both cases nothing is
// claimed and the handler does not run.
type KeyFunc func(context.Context, events.SQSMessage) (string, error)

// ErrNoKey is wrapped by every error of the key functions that this package provides: the message has nothing that could be its
// key. Having no key is a property of the message, so that no further delivery would change it. The message is therefore handled
// as if its handler had returned a [Permanent] error: it is given to Options.DeadLetter, or without that hook it is reported
// failed. The errors never quote the message. A KeyFunc of your own may wrap ErrNoKey to say the same.
var ErrNoKey = errors.New("lambdawrap: no key in the message")

// MessageID returns a key of the queue's ARN and the message's id, such as
// #["arn:aws:sqs:eu-west-1:111122223333:payments","059f…"]. It is the default.
//
// The key is the same for every delivery of one message. It is another one when a producer sends the same content again, and
// after a redrive from a dead-letter queue, because both give the message a new id. Work that must not be repeated then needs a
// key from its content, by [Body] or [Attribute], or on a FIFO queue [DeduplicationID]. The ARN keeps the queues of one function
// apart. The error is [ErrNoKey] if the ARN or the id is empty, as for what is no message of an SQS event.
func MessageID(_ context.Context, m events.SQSMessage) (string, error) { return keyOfMessage(m) }

func keyOfMessage(m events.SQSMessage) (string, error) {
	return listKey("is this a message of an SQS event?", field{"eventSourceARN", m.EventSourceARN}, field{"messageId", m.MessageId})
}

// DeduplicationID returns a key of the queue's ARN, the message's group and its MessageDeduplicationId, for FIFO queues.
//
// SQS itself discards a message that repeats this id within five minutes. With this key the work of such a message is not
// repeated for as long as records are retained. Where the queue makes the id from the content, the id is a digest of the body
// alone and does not cover message attributes.
//
// The group belongs to the key because a queue with the DeduplicationScope messageGroup accepts one id in two groups as two
// messages, and a message does not say which scope its queue has. So no message is lost under either scope. A producer that sends
// an id again in another group, more than five minutes later, runs the work again. Of several messages in one Options.Envelope,
// each after the first has its number in the key, too. The error is [ErrNoKey] for a message without the id, as in a queue that
// is not FIFO.
func DeduplicationID(_ context.Context, m events.SQSMessage) (string, error) {
	id := m.Attributes["MessageDeduplicationId"]
	switch {
	case m.EventSourceARN == "":
		return "", noKey("eventSourceARN is empty; is this a message of an SQS event?")
	case id == "":
		return "", noKey("attribute MessageDeduplicationId is absent, so its queue is not FIFO; " +
			"use MessageID, Attribute or Body")
	}

	key, err := strictjson.ListKey(append([]string{m.EventSourceARN, m.Attributes["MessageGroupId"], id}, numberInEnvelope(m)...)...)
	if err != nil {
		return "", noKey("eventSourceARN, MessageGroupId or MessageDeduplicationId %w", err)
	}

	return key, nil
}

// numberInEnvelope returns the number that [EnvelopeFunc.Open] puts behind the id of each message in an envelope but the first
// one, so that a key of the queue's message does not stand for several pieces of work; none for any other message.
func numberInEnvelope(m events.SQSMessage) []string {
	if _, number, isThere := strings.Cut(m.MessageId, "/"); isThere {
		return []string{number}
	}

	return nil
}

// Attribute returns a key function for a message attribute. Its keys consist of the attribute's type, which is String, Number
// or Binary, and its value, in base64 if it is binary.
//
// The type keeps the String 1 and the Number 1 apart. A label behind the type, as in Number.int, does not count. The value counts
// as it was sent: the Numbers 1 and 1.0 are two keys here, unlike in [Body], because JSON encoders differ in how they write one
// number. A message whose attribute is absent or empty has no key.
func Attribute(name string) KeyFunc {
	return func(_ context.Context, m events.SQSMessage) (string, error) {
		attribute, isPresent := m.MessageAttributes[name]
		dataType, _, _ := strings.Cut(attribute.DataType, ".")

		value := aws.ToString(attribute.StringValue)
		if dataType == "Binary" {
			value = base64.StdEncoding.EncodeToString(attribute.BinaryValue)
		}

		switch {
		case !isPresent:
			return "", noKey("message attribute %q is absent; have its producer send it", name)
		case !slices.Contains([]string{"String", "Number", "Binary"}, dataType):
			return "", noKey("message attribute %q has none of the types String, Number and Binary", name)
		case value == "":
			return "", noKey("message attribute %q is empty; have its producer fill it", name)
		}

		key, err := strictjson.ListKey(dataType, value)
		if err != nil {
			return "", noKey("message attribute %q %w", name, err)
		}

		return key, nil
	}
}

// Body returns a key function for one or several parts of a JSON body. Each part is picked by a path of names and indexes:
//
//	Body("paymentId")                      the member paymentId
//	Body("customer.id", "orders[0].id")    two parts, which make one key together
//	Body(`detail."order-id"`)              a name with other characters than ASCII letters, digits and _ stands in double quotes
//	Body("Message.orderId")                a member inside a string, here the string Message of an SNS envelope
//
// A name picks from an object and an index, counted from 0, from an array. Where a path leads further into a string, the string
// is read as JSON under the same rules as the body. Names are compared as they stand, as by [JSON], so that its handler sees what
// the key saw. encoding/json alone fills a struct without regard to case. A path cannot compute or choose. For that, and for
// parts that may be missing, write a [KeyFunc].
//
// If one path picks a string, this string is the key: "p-1" has the key p-1, which [idemddb.Do] takes and a person types (only a
// '#' at its beginning is doubled, see [idemddb.TextKey]). Any other part, or the list of several parts, has the key '#' and its
// canonical JSON. White space and the order of members do not count. Neither does the spelling of a number: 1, 1.0, 1e0 and
// 100e-2 are one key, and so are 0 and -0. All digits count, also beyond 2^53. The number 123 and the string "123" are two keys.
// Two messages have one key only if their parts are equal, one by one.
//
// One part that is an array has the same key as several parts that equal its elements. Functions with different keys therefore
// need different namespaces.
//
// A message has no key, which is [ErrNoKey], when
//   - a part, one alone or one of several, is absent, null, "", [] or {}, or holds nothing else, as {"a":[null]} does.
//     0 and false are present;
//   - the body is not exactly one JSON value in valid UTF-8, or has one name twice in an object, or two names that differ
//     only in case (readers disagree about which member counts), half a surrogate pair, a number whose exponent has more
//     than 18 digits, or more than 10,000 levels.
//
// Body returns an error that says what to write instead if it is given no path, or a text that is no path.
func Body(paths ...string) (KeyFunc, error) {
	parts, err := strictjson.ParsePaths(paths...)
	if err != nil {
		return nil, fmt.Errorf("lambdawrap: Body: %w", err)
	}

	return func(_ context.Context, m events.SQSMessage) (string, error) {
		if m.Body == "" { // SQS takes no empty body.
			return "", noKey("the body is empty; is this a message of an SQS event?")
		}

		body, err := strictjson.Read(m.Body)
		if err != nil {
			return "", noKey("the body %w; have its producer send another one, or choose a key outside the body", err)
		}

		key, err := parts.Key(body)
		if err != nil {
			return "", noKey("%w", err)
		}

		return key, nil
	}, nil
}

// keyOf calls a key function, and if there is a key, the function for the fingerprint, which may be nil. An empty fingerprint
// would be none, which every other input matches.
func keyOf[R any](ctx context.Context, record R, key, fingerprint func(context.Context, R) (string, error)) (asks schedule.Work, err error) {
	if asks.Key, err = key(ctx, record); err == nil && asks.Key != "" && fingerprint != nil {
		if asks.Fingerprint, err = fingerprint(ctx, record); err == nil && asks.Fingerprint == "" {
			err = noKey("Fingerprint returned an empty text; return one that stands for such an input")
		}
	}

	return asks, err
}

// field is a part of a key, with its name in the event.
type field struct{ name, value string }

// listKey returns the key of several fields, all of which must be there.
func listKey(question string, fields ...field) (string, error) {
	values := make([]string, len(fields))

	for i, f := range fields {
		if f.value == "" {
			return "", noKey("%s is empty; %s", f.name, question)
		}

		values[i] = f.value
	}

	key, err := strictjson.ListKey(values...)
	if err != nil {
		return "", noKey("a part %w", err)
	}

	return key, nil
}

func noKey(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrNoKey, fmt.Errorf(format, args...))
}

// callFind calls the user's functions for a message's key and fingerprint. Its error says why there is no key. number is ""
// unless the Store is off: then it is the key, and no two messages are one piece of work.
func callFind(
	ctx context.Context, number string, find func(context.Context) (schedule.Work, error),
) (found schedule.Work, err error) {
	if number != "" {
		return schedule.Work{Key: number}, nil
	}

	defer func() {
		if p := recover(); p != nil {
			err = newPanicError(p)
		}
	}()

	found, err = find(ctx)

	switch {
	case err != nil:
		return found, panicerror.Readable(err)
	case found.Key == "":
		return found, noKey("the key function returned an empty key")
	default:
		return found, nil
	}
}
