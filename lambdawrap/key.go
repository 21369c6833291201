package lambdawrap

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// KeyFunc names the piece of work that a message asks for: messages with equal keys are one piece of work, done once.
//
// It must give a redelivery the key of the first delivery, so it must not use ReceiptHandle or the attributes that
// change (ApproximateReceiveCount, ApproximateFirstReceiveTimestamp). It must never give two pieces of work one key:
// the second would be answered from the first one's record and not run. A message for which it returns an error is
// reported failed, and nothing is claimed for it. It is called concurrently.
//
// The key functions here return errors that wrap [ErrNoKey] and never quote the message. A key may be of any length;
// [idemddb.Store] stores a long one as its digest.
type KeyFunc func(events.SQSMessage) (string, error)

// ErrNoKey is wrapped by every error of the key functions here: the message has nothing that could be its key. Nothing
// was claimed and the handler did not run; the message is reported failed, so that it comes back and ends in the
// dead-letter queue.
var ErrNoKey = errors.New("lambdawrap: no key in the message")

// MessageID is the key of the queue's ARN and the message's id, the default.
//
// It is the same for every delivery of one message. It is another one when a producer sends the same content again, and
// after a redrive from a dead-letter queue, which gives the message a new id: a piece of work that must not be repeated
// then needs a key from its content, by [Body] or [Attribute], or on a FIFO queue [DeduplicationID]. With the ARN in
// it, two queues of one function never share a key.
func MessageID(m events.SQSMessage) (string, error) {
	switch {
	case m.EventSourceARN == "":
		return "", noKey("eventSourceARN is empty; is this a message of an SQS event?")
	case m.MessageId == "":
		return "", noKey("messageId is empty; is this a message of an SQS event?")
	}

	key, err := composeKey(m.EventSourceARN, m.MessageId)
	if err != nil {
		return "", noKey("eventSourceARN or messageId %w", err)
	}

	return key, nil
}

// DeduplicationID is the key of the queue's ARN, the message's group and its MessageDeduplicationId, for FIFO queues.
//
// SQS itself drops what repeats that id within five minutes; with this key it is dropped for as long as records are
// retained. Where the queue makes the id from the content, it is a digest of the body alone: message attributes are not
// in it.
//
// The group belongs to the key because a queue with DeduplicationScope messageGroup accepts the same id in two groups
// as two messages, and the message does not say which scope its queue has. So nothing is lost under either scope; a
// producer that sends the same id again in another group, later than SQS looks back, runs the work again.
func DeduplicationID(m events.SQSMessage) (string, error) {
	id := m.Attributes["MessageDeduplicationId"]
	switch {
	case m.EventSourceARN == "":
		return "", noKey("eventSourceARN is empty; is this a message of an SQS event?")
	case id == "":
		return "", noKey("attribute MessageDeduplicationId is absent, so its queue is not FIFO; " +
			"use MessageID, Attribute or Body")
	}

	key, err := composeKey(m.EventSourceARN, m.Attributes["MessageGroupId"], id)
	if err != nil {
		return "", noKey("eventSourceARN, MessageGroupId or MessageDeduplicationId %w", err)
	}

	return key, nil
}

// Attribute is the key of a message attribute: its type, String, Number or Binary, and its value.
//
// The types are apart: the String 1 and the Number 1 are two keys. A label after the type, as in Number.int, does not
// count. The value counts as it was sent: the Numbers 1 and 1.0 are two keys here, unlike in [Body], where producers
// differ in how they write numbers without meaning to. An attribute that is absent or empty is an error.
func Attribute(name string) KeyFunc {
	return func(m events.SQSMessage) (string, error) {
		attribute, ok := m.MessageAttributes[name]
		if !ok {
			return "", noKey("message attribute %q is absent; have its producer send it", name)
		}

		dataType, _, _ := strings.Cut(attribute.DataType, ".")

		var value string

		switch dataType {
		case "String", "Number":
			if attribute.StringValue != nil {
				value = *attribute.StringValue
			}
		case "Binary":
			value = base64.StdEncoding.EncodeToString(attribute.BinaryValue)
		default:
			return "", noKey("message attribute %q has none of the types String, Number and Binary", name)
		}

		if value == "" {
			return "", noKey("message attribute %q is empty; have its producer fill it", name)
		}

		key, err := composeKey(dataType, value)
		if err != nil {
			return "", noKey("message attribute %q %w", name, err)
		}

		return key, nil
	}
}

// Body is the key of one or several parts of a JSON body, each picked by a [JMESPath] expression: Body("paymentId"), or
// Body("customer.id", "order.number"). Body("@") is the whole body.
//
// The key is the canonical JSON of the part, or of the list of parts if there are several. So white space and the order
// of members do not count, and neither does how a number is written: 1, 1.0, 1e0 and 100e-2 are one key, and so are 0
// and -0. All digits count, beyond 2^53 too. The number 123 and the string "123" are two keys. Member names are
// compared exactly, whereas encoding/json fills a struct without regard to case: a handler that must see what the key
// saw checks the names.
//
// A message has no key when
//   - a single part is absent, null or "", or holds nothing else (such as [] or {"a":null}); 0 and false are keys;
//   - all of several parts are absent or null, or hold nothing else. If some are there, the key tells null from "" in
//     the others, but not absent from null: JMESPath does not;
//   - the body is not exactly one JSON value in valid UTF-8; half a surrogate pair; a member name that stands twice in
//     one object (readers disagree which one counts); a number whose exponent has more than 18 digits; nesting deeper
//     than 10,000;
//   - a JMESPath function meets a type that it does not take, or would have to round a number.
//
// Two lists of parts have one key only if the parts are equal, one by one. Body("a", "b") has the keys of Body("[a,
// b]"), and a single part that is a list may equal another function's list of parts: give functions with different keys
// different namespaces.
//
// It returns an error, which says what is wrong with which expression, if there is none, if one cannot be parsed, if
// none reads the body (as 'id', which is a constant; write id), or if one could yield a wrong key: avg, sum and
// to_number round, keys, values and * on an object have a random order, sort_by reorders the body, and [] and [? hide
// that a function before them failed. Comparison by size, such as [?n > `1`], works but fails on a body with a number
// that float64 does not hold exactly; == and != are exact.
//
// [JMESPath]: https://jmespath.org
func Body(jmespath ...string) (KeyFunc, error) {
	if len(jmespath) == 0 {
		return nil, errors.New("lambdawrap: Body: needs at least one expression")
	}

	parts, readsBody := make([]expression, len(jmespath)), false
	for i, text := range jmespath {
		var err error
		if parts[i], err = compileExpression(text); err != nil {
			return nil, fmt.Errorf("lambdawrap: Body: expression %s %w", quote(text), err)
		}

		readsBody = readsBody || parts[i].uses.body
	}

	if !readsBody {
		return nil, fmt.Errorf("lambdawrap: Body: expression %s is a constant, so that all messages would have one key; "+
			"write a member's name without quotes", quote(jmespath[0]))
	}

	return func(m events.SQSMessage) (string, error) { return bodyKey(m.Body, parts) }, nil
}

func bodyKey(body string, parts []expression) (string, error) {
	value, inexact, err := decodeJSON(body)
	if err != nil {
		return "", noKey("the body %w; have its producer send another one, or choose a key outside the body", err)
	}

	values := make([]any, len(parts))
	for i, part := range parts {
		if values[i], err = part.search(value, inexact); err != nil {
			return "", noKey("expression %s %w", quote(part.text), err)
		}
	}

	var key any = values
	if len(values) == 1 {
		key = values[0]
	}

	if holdsNothing(key, len(values) == 1) {
		return "", noKey("what %s picks is absent, null or empty; have its producer send it, or choose another part",
			quoteAll(parts))
	}

	text, err := appendCanonical(nil, key)
	if err != nil {
		return "", noKey("expression %s %w", quoteAll(parts), err)
	}

	return string(text), nil
}

// holdsNothing tells whether a value is null or holds nothing else. A message without its key would otherwise share a
// key with all others without it, and only the first of them would run.
func holdsNothing(value any, emptyText bool) bool {
	switch value := value.(type) {
	case nil:
		return true
	case string:
		return emptyText && value == ""
	case []any:
		for _, element := range value {
			if !holdsNothing(element, emptyText) {
				return false
			}
		}

		return true
	case map[string]any:
		for _, member := range value {
			if !holdsNothing(member, emptyText) {
				return false
			}
		}

		return true
	default:
		return false
	}
}

// composeKey makes one key of several texts, as Body does, so that no two lists of them have the same.
func composeKey(texts ...string) (string, error) {
	parts := make([]any, len(texts))
	for i, text := range texts {
		parts[i] = text
	}

	key, err := appendCanonical(nil, parts)

	return string(key), err
}

func noKey(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrNoKey, fmt.Errorf(format, args...))
}

// quote shows an expression in an error: the beginning of it, since it may be of any length.
func quote(text string) string {
	const most = 100
	if len(text) > most {
		return fmt.Sprintf("%.*q…", most, text)
	}

	return fmt.Sprintf("%q", text)
}

func quoteAll(parts []expression) string {
	texts := make([]string, len(parts))
	for i, part := range parts {
		texts[i] = quote(part.text)
	}

	return strings.Join(texts, ", ")
}
