package queue

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// The attributes that are added, each where there is something to say.
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

// bare returns the message with nothing added but what the other queue demands.
func (q *DeadLetter) bare(m events.SQSMessage) (*sqs.SendMessageInput, error) {
	// SQS delivers no such message. The SDK would replace text that is not UTF-8 and return no error.
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

// setAttributes gives a message the attributes that it arrived with. It leaves out those that an earlier move to a dead-letter
// queue added, because they describe that move and not this one.
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

// explained returns the message with everything that helps an operator.
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

// addAttribute adds an attribute to a message that has none with this name, unless it has no value or SQS would refuse the
// message for it.
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

// messageSize returns how many bytes count towards SQS's limit. System attributes do not count.
func messageSize(in *sqs.SendMessageInput) int {
	size := len(*in.MessageBody)
	for name, a := range in.MessageAttributes {
		size += len(name) + len(*a.DataType) + len(aws.ToString(a.StringValue)) + len(a.BinaryValue)
	}

	return size
}

// attributeText returns a text that SQS takes: it has only the characters of XML, and is not too long.
func attributeText(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\t', r == '\n', r == '\r', r >= ' ' && r <= 0xD7FF, r >= 0xE000 && r <= 0xFFFD, r > 0xFFFF:
			return r
		default:
			return utf8.RuneError
		}
	}, text) // strings.Map passes RuneError for bytes that are not UTF-8
	if len(text) <= maxAttributeError {
		return text
	}

	return strings.ToValidUTF8(text[:maxAttributeError-len("…")], "") + "…"
}
