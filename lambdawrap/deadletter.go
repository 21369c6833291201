package lambdawrap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
)

// SendMessageAPI is what [DeadLetterQueue] needs of SQS; *sqs.Client fits. It must be safe for concurrent use.
type SendMessageAPI interface {
	SendMessage(context.Context, *sqs.SendMessageInput, ...func(*sqs.Options)) (*sqs.SendMessageOutput, error)
}

// What the hook adds, each where there is something to say.
const (
	errorAttribute        = "idemddb.error"
	messageIDAttribute    = "idemddb.messageId"
	sourceAttribute       = "idemddb.source"
	receiveCountAttribute = "idemddb.receiveCount"
)

const (
	maxAttributes     = 10
	maxMessage        = 1 << 20 // bytes of body and attributes
	maxAttributeError = 1 << 10
)

// DeadLetterQueue is a hook for Options.DeadLetter: it sends the message to another queue, at once, and not only after the
// receive count of the queue's own redrive policy.
//
// The message arrives as it was: its body byte for byte, its attributes, its trace header. Attributes that say why are added,
// in this order and as far as they fit; SQS takes ten of them and 1 MiB with a message, and the message's own come first:
//
//	idemddb.error         String  the error's text, up to 1 KB, U+FFFD for characters that SQS does not take
//	idemddb.messageId     String  the id that it had, and that the wrapper's log lines have
//	idemddb.source        String  the ARN of the queue that it comes from
//	idemddb.receiveCount  Number  how often it was delivered
//
// Those that it has already, from an earlier time, are replaced. Where SQS refuses the whole as invalid, as a queue with a smaller
// MaximumMessageSize does, the message goes out once more with nothing added.
//
// To a FIFO queue (its URL ends in .fifo) the message goes in its own message group, or in a group for itself if it has none,
// with its id for MessageDeduplicationId: what the hook sends twice within five minutes is there once. On a standard queue it
// may be there twice. It keeps its message group there, too: as its tenant, where queues are fair, and as news of which group
// it left.
//
// It needs sqs:SendMessage on that queue, and kms:GenerateDataKey and kms:Decrypt where a KMS key of yours encrypts it. It
// costs one SQS request for each 64 KB of message.
//
// What it sends has a new message id, and so has what is moved back from there. With [MessageID] for Options.Key a message
// that was moved back is new work, and nothing tells that it is the same payment; with a key from its content it is the work
// that failed for good, and refused until [idemddb.Store.Reopen] or the command idem reopen. SQS moves messages back only from a
// queue that is another queue's dead-letter queue, and knows the source only of those that it moved there itself: name the
// destination.
//
// The hook's errors begin with "lambdawrap: dead-letter queue:" and mean that the message is reported failed; it may be in the
// queue all the same. A queueURL that is none is an error on every call, so that no message is lost. The hook logs nothing and
// is safe for concurrent use. DeadLetterQueue panics for a nil api.
func DeadLetterQueue(api SendMessageAPI, queueURL string) func(context.Context, events.SQSMessage, error) error {
	if api == nil {
		panic("lambdawrap: DeadLetterQueue: api: must not be nil")
	}

	q := &deadLetterQueue{api: api, url: queueURL, fifo: strings.HasSuffix(queueURL, ".fifo"), invalid: checkQueueURL(queueURL)}

	return func(ctx context.Context, m events.SQSMessage, cause error) error {
		if err := q.send(ctx, m, cause); err != nil {
			return fmt.Errorf("lambdawrap: dead-letter queue: %w", err)
		}

		return nil
	}
}

type deadLetterQueue struct {
	api     SendMessageAPI
	url     string
	fifo    bool
	invalid error // what is wrong with url; answered to every call, so that no message is lost
}

func checkQueueURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || len(path.Base(u.Path)) <= 1 {
		return fmt.Errorf("queueURL: must be a queue's URL, as https://sqs.REGION.amazonaws.com/ACCOUNT/NAME, is %q", text)
	}

	return nil
}

func (q *deadLetterQueue) send(ctx context.Context, m events.SQSMessage, cause error) error {
	if q.invalid != nil {
		return q.invalid
	}

	bare, err := q.bare(m)
	if err != nil {
		return err
	}

	full := explained(bare, m, cause)
	if _, err = q.api.SendMessage(ctx, full); !isInvalid(err) {
		return err //nolint:wrapcheck // the caller wraps it
	}

	// It may be for something added: this queue takes no message of that size, or it is of an SQS without fair queues. The same
	// message must not fail for that on every delivery.
	_, again := q.api.SendMessage(ctx, bare)
	if again != nil {
		return errors.Join(err, again)
	}

	return nil
}

// isInvalid tells SQS's answer to a parameter that it does not take.
func isInvalid(err error) bool {
	api, ok := errors.AsType[smithy.APIError](err)

	return ok && strings.HasPrefix(api.ErrorCode(), "InvalidParameterValue") // …Exception, by the protocol's own name
}

// bare is the message with nothing added but what its queue demands.
func (q *deadLetterQueue) bare(m events.SQSMessage) (*sqs.SendMessageInput, error) {
	// No message that SQS delivers. The SDK would replace what is not UTF-8 and say nothing.
	if !utf8.ValidString(m.Body) {
		return nil, errors.New("the body is not UTF-8 and would arrive changed")
	}

	in := &sqs.SendMessageInput{QueueUrl: aws.String(q.url), MessageBody: aws.String(m.Body)}

	if err := setAttributes(in, m.MessageAttributes); err != nil {
		return nil, err
	}

	if trace := m.Attributes["AWSTraceHeader"]; trace != "" {
		in.MessageSystemAttributes = map[string]types.MessageSystemAttributeValue{
			string(types.MessageSystemAttributeNameForSendsAWSTraceHeader): {
				DataType: aws.String("String"), StringValue: aws.String(trace),
			},
		}
	}

	if q.fifo {
		return in, setGroup(in, m)
	}

	return in, nil
}

// setAttributes gives a message the attributes that it arrived with, except those that an earlier hook added: they say what is no longer
// true.
func setAttributes(in *sqs.SendMessageInput, attributes map[string]events.SQSMessageAttribute) error {
	for name, a := range attributes {
		if !utf8.ValidString(name) || !utf8.ValidString(a.DataType) || !utf8.ValidString(aws.ToString(a.StringValue)) {
			return fmt.Errorf("message attribute %q is not UTF-8 and would arrive changed", name)
		}

		if !isAdded(name) {
			// SQS has no lists, though the event has places for them.
			setAttribute(in, name, types.MessageAttributeValue{
				DataType: aws.String(a.DataType), StringValue: a.StringValue, BinaryValue: a.BinaryValue,
			})
		}
	}

	return nil
}

// setGroup gives a message of a FIFO queue its deduplication id and its group.
func setGroup(in *sqs.SendMessageInput, m events.SQSMessage) error {
	if m.MessageId == "" {
		return errors.New("messageId is empty; is this a message of an SQS event?")
	}

	in.MessageDeduplicationId = aws.String(m.MessageId)
	in.MessageGroupId = aws.String(cmp.Or(m.Attributes["MessageGroupId"], m.MessageId))

	return nil
}

// explained is the message with everything that helps an operator.
func explained(bare *sqs.SendMessageInput, m events.SQSMessage, cause error) *sqs.SendMessageInput {
	in := *bare
	in.MessageAttributes = maps.Clone(bare.MessageAttributes)

	// On a standard queue a group orders nothing and holds nothing back; an SQS without fair queues refuses it.
	if group := m.Attributes["MessageGroupId"]; group != "" {
		in.MessageGroupId = aws.String(group)
	}

	text := ""
	if cause != nil {
		text = cause.Error()
	}

	addAttribute(&in, errorAttribute, "String", attributeText(text))
	addAttribute(&in, messageIDAttribute, "String", attributeText(m.MessageId))
	addAttribute(&in, sourceAttribute, "String", attributeText(m.EventSourceARN))

	if n, err := strconv.ParseUint(m.Attributes["ApproximateReceiveCount"], 10, 32); err == nil {
		addAttribute(&in, receiveCountAttribute, "Number", strconv.FormatUint(n, 10))
	}

	return &in
}

// addAttribute adds an attribute to a message that has none with this name, unless it has no value or SQS would refuse the message for it.
func addAttribute(in *sqs.SendMessageInput, name, dataType, value string) {
	size := messageSize(in) + len(name) + len(dataType) + len(value)
	if value == "" || len(in.MessageAttributes) >= maxAttributes || size > maxMessage {
		return
	}

	setAttribute(in, name, types.MessageAttributeValue{DataType: aws.String(dataType), StringValue: aws.String(value)})
}

func isAdded(name string) bool {
	switch name {
	case errorAttribute, messageIDAttribute, sourceAttribute, receiveCountAttribute:
		return true
	default:
		return false
	}
}

func setAttribute(in *sqs.SendMessageInput, name string, value types.MessageAttributeValue) {
	if in.MessageAttributes == nil {
		in.MessageAttributes = map[string]types.MessageAttributeValue{}
	}

	in.MessageAttributes[name] = value
}

// messageSize is what counts towards SQS's limit; system attributes do not.
func messageSize(in *sqs.SendMessageInput) int {
	size := len(*in.MessageBody)
	for name, a := range in.MessageAttributes {
		size += len(name) + len(*a.DataType) + len(aws.ToString(a.StringValue)) + len(a.BinaryValue)
	}

	return size
}

// attributeText is a text as SQS takes it: the characters of XML, and not too long.
func attributeText(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\t', r == '\n', r == '\r', r >= ' ' && r <= 0xD7FF, r >= 0xE000 && r <= 0xFFFD, r > 0xFFFF:
			return r
		default:
			return utf8.RuneError
		}
	}, text) // which gives RuneError for what is not UTF-8
	if len(text) <= maxAttributeError {
		return text
	}

	return strings.ToValidUTF8(text[:maxAttributeError-len("…")], "") + "…"
}
