package queue

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
)

const (
	standardURL = "https://sqs.eu-west-1.amazonaws.com/111122223333/dead"
	fifoURL     = standardURL + ".fifo"
)

var errClosed = errors.New("account is closed")

// outbox stands for SQS. It keeps the messages that are sent, and returns one error after another, then success.
type outbox struct {
	sent    []*sqs.SendMessageInput
	answers []error
}

func (o *outbox) SendMessage(_ context.Context, in *sqs.SendMessageInput, _ ...func(*sqs.Options)) (*sqs.SendMessageOutput, error) {
	o.sent = append(o.sent, in)
	if len(o.answers) < len(o.sent) {
		return &sqs.SendMessageOutput{}, nil
	}

	return nil, o.answers[len(o.sent)-1]
}

// attributes returns those of the last message that was sent, as "name type value", in order.
func (o *outbox) attributes() []string {
	var texts []string

	for name, a := range o.sent[len(o.sent)-1].MessageAttributes {
		text := name + " " + *a.DataType + " " + aws.ToString(a.StringValue)
		if a.BinaryValue != nil {
			text += hex.EncodeToString(a.BinaryValue)
		}

		texts = append(texts, text)
	}

	slices.Sort(texts)

	return texts
}

func stringAttribute(value string) events.SQSMessageAttribute {
	return events.SQSMessageAttribute{DataType: "String", StringValue: &value}
}

// payment returns a message as Lambda delivers it, with everything that a message can have.
func payment(t testing.TB) events.SQSMessage {
	t.Helper()

	var m events.SQSMessage
	if err := json.Unmarshal([]byte(`{
		"messageId": "5d1c7b0e-8a41-4d8c-9a53-7a0c64a2a9b1",
		"receiptHandle": "AQEB",
		"body": "{\"paymentId\":\"p-1\"}",
		"eventSource": "aws:sqs",
		"eventSourceARN": "arn:aws:sqs:eu-west-1:111122223333:payments",
		"awsRegion": "eu-west-1",
		"attributes": {
			"ApproximateReceiveCount": "3",
			"SentTimestamp": "1767355200000",
			"AWSTraceHeader": "Root=1-5759e988-bd862e3fe1be46a994272793",
			"MessageGroupId": "tenant-7"
		},
		"messageAttributes": {
			"tenant": {"stringValue": "seven", "stringListValues": [], "binaryListValues": [], "dataType": "String"},
			"amount": {"stringValue": "12.50", "stringListValues": [], "binaryListValues": [], "dataType": "Number.int"},
			"proof":  {"binaryValue": "AP8Q", "stringListValues": [], "binaryListValues": [], "dataType": "Binary.png"}
		}
	}`), &m); err != nil {
		t.Fatal(err)
	}

	return m
}

func TestDeadLetterSendsTheMessage(t *testing.T) {
	t.Parallel()

	o, m := &outbox{}, payment(t)
	if err := NewDeadLetter(o.SendMessage, standardURL).Send(t.Context(), m, errClosed); err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(payment(t), m); diff != "" { // the function may use it again
		t.Error(diff)
	}

	in := o.sent[0]
	if *in.QueueUrl != standardURL || *in.MessageBody != `{"paymentId":"p-1"}` || in.DelaySeconds != 0 || len(o.sent) != 1 {
		t.Errorf("sent %v", in)
	}

	if diff := cmp.Diff([]string{
		"amount Number.int 12.50",
		"idemddb.error String account is closed",
		"idemddb.messageId String 5d1c7b0e-8a41-4d8c-9a53-7a0c64a2a9b1",
		"idemddb.receiveCount Number 3",
		"idemddb.source String arn:aws:sqs:eu-west-1:111122223333:payments",
		"proof Binary.png 00ff10",
		"tenant String seven",
	}, o.attributes()); diff != "" {
		t.Error(diff)
	}

	trace := in.MessageSystemAttributes["AWSTraceHeader"]
	if len(in.MessageSystemAttributes) != 1 || *trace.DataType != "String" || *trace.StringValue != "Root=1-5759e988-bd862e3fe1be46a994272793" {
		t.Errorf("system attributes: %v", in.MessageSystemAttributes)
	}
}

func TestDeadLetterGroups(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		url, group        string
		wantGroup, wantID string
	}{
		"to a FIFO queue, with a group":        {fifoURL, "g", "g", "m-1"},
		"to a FIFO queue, without":             {fifoURL, "", "m-1", "m-1"},
		"to a standard queue, with a group":    {standardURL, "g", "g", ""},
		"to a standard queue, without a group": {standardURL, "", "", ""},
	} {
		o := &outbox{}
		m := events.SQSMessage{MessageId: "m-1", Body: "b", Attributes: map[string]string{"MessageGroupId": c.group, "MessageDeduplicationId": "x"}}

		if err := NewDeadLetter(o.SendMessage, c.url).Send(t.Context(), m, errClosed); err != nil {
			t.Errorf("%s: %v", name, err)
		}

		if g, d := aws.ToString(o.sent[0].MessageGroupId), aws.ToString(o.sent[0].MessageDeduplicationId); g != c.wantGroup || d != c.wantID {
			t.Errorf("%s: group %q, deduplication id %q, want %q, %q", name, g, d, c.wantGroup, c.wantID)
		}
	}
}

func TestDeadLetterGoesWithoutWhatTheQueueRefuses(t *testing.T) {
	t.Parallel()

	invalid := &smithy.GenericAPIError{Code: "InvalidParameterValue", Message: "Message must be shorter than 262144 bytes."}
	denied := &smithy.GenericAPIError{Code: "AccessDenied"}

	for name, c := range map[string]struct {
		answers  []error
		requests int
		want     []error
	}{
		"as invalid":                 {[]error{fmt.Errorf("SendMessage: %w", invalid)}, 2, nil},
		"as invalid, by its type":    {[]error{&smithy.GenericAPIError{Code: "InvalidParameterValueException"}}, 2, nil},
		"as invalid, and then again": {[]error{invalid, invalid}, 2, []error{invalid}},
		"as invalid, and then denied": {
			[]error{invalid, denied}, 2, []error{invalid, denied},
		},
		"for another reason": {[]error{denied}, 1, []error{denied}},
		"not at all":         {[]error{context.DeadlineExceeded}, 1, []error{context.DeadlineExceeded}},
	} {
		for _, url := range []string{standardURL, fifoURL} {
			o := &outbox{answers: c.answers}
			m := payment(t)

			err := NewDeadLetter(o.SendMessage, url).Send(t.Context(), m, errClosed)
			if diff := cmp.Diff(payment(t), m); diff != "" {
				t.Errorf("%s: the message is changed: %s", name, diff)
			}

			if (err == nil) != (c.want == nil) || len(o.sent) != c.requests {
				t.Errorf("%s: %v after %d requests", name, err, len(o.sent))
			}

			for _, want := range c.want {
				if !errors.Is(err, want) {
					t.Errorf("%s: %v, want %v", name, err, want)
				}
			}

			if c.requests == 1 {
				continue
			}

			if got, want := o.attributes(), []string{"amount Number.int 12.50", "proof Binary.png 00ff10", "tenant String seven"}; !cmp.Equal(got, want) {
				t.Errorf("%s: attributes of the second: %v", name, got)
			}

			second := o.sent[1]
			if group := aws.ToString(second.MessageGroupId); *second.MessageBody != m.Body || (group == "") != (url == standardURL) {
				t.Errorf("%s: the second: %v", name, second)
			}
		}
	}
}

func TestDeadLetterRefuses(t *testing.T) {
	t.Parallel()

	bad := "\xff"

	for name, c := range map[string]struct {
		url  string
		m    events.SQSMessage
		want string
	}{
		"an ARN": {"arn:aws:sqs:eu-west-1:111122223333:dead", events.SQSMessage{}, `queueURL: must be a queue's URL`},
		"a message without an id for a FIFO queue": {
			fifoURL, events.SQSMessage{Body: "b"}, "messageId is empty",
		},
		"a body that is not UTF-8": {standardURL, events.SQSMessage{Body: bad}, "the body is not UTF-8"},
		"an attribute with a name that is not UTF-8": {
			standardURL, events.SQSMessage{Body: "b", MessageAttributes: map[string]events.SQSMessageAttribute{bad: stringAttribute("a")}},
			`message attribute "\xff" is not UTF-8`,
		},
		"an attribute with a type that is not UTF-8": {
			standardURL, events.SQSMessage{Body: "b", MessageAttributes: map[string]events.SQSMessageAttribute{"a": {DataType: bad}}},
			`message attribute "a" is not UTF-8`,
		},
		"an attribute that is not UTF-8": {
			standardURL, events.SQSMessage{Body: "b", MessageAttributes: map[string]events.SQSMessageAttribute{"a": stringAttribute(bad)}},
			`message attribute "a" is not UTF-8`,
		},
	} {
		o := &outbox{}

		err := NewDeadLetter(o.SendMessage, c.url).Send(t.Context(), c.m, errClosed)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || len(o.sent) != 0 {
			t.Errorf("%s: %v after %d requests, want %s", name, err, len(o.sent), c.want)
		}
	}
}
