package lambdawrap

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const (
	standardURL = "https://sqs.eu-west-1.amazonaws.com/111122223333/dead"
	fifoURL     = standardURL + ".fifo"
)

var errClosed = errors.New("account is closed")

// outbox is SQS: it keeps what is sent, and answers with one error after another, then with success.
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

// attributes are those of the last message sent: "name type value", in order.
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

// payment is a message as Lambda hands it over, with everything that a message can have.
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

func TestDeadLetterQueueSendsTheMessage(t *testing.T) {
	t.Parallel()

	o := &outbox{}
	if err := DeadLetterQueue(o, standardURL)(t.Context(), payment(t), errClosed); err != nil {
		t.Fatal(err)
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

func TestDeadLetterQueueGroups(t *testing.T) {
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

		if err := DeadLetterQueue(o, c.url)(t.Context(), m, errClosed); err != nil {
			t.Errorf("%s: %v", name, err)
		}

		if g, d := aws.ToString(o.sent[0].MessageGroupId), aws.ToString(o.sent[0].MessageDeduplicationId); g != c.wantGroup || d != c.wantID {
			t.Errorf("%s: group %q, deduplication id %q, want %q, %q", name, g, d, c.wantGroup, c.wantID)
		}
	}
}

func TestDeadLetterQueueAddsWhatThereIsToSay(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		m     events.SQSMessage
		cause error
		want  []string
	}{
		"nothing": {events.SQSMessage{Body: "b"}, nil, nil},
		"an error without words": {
			events.SQSMessage{Body: "b", MessageId: "m"}, errors.New(""), []string{"idemddb.messageId String m"},
		},
		"a receive count that is none": {
			events.SQSMessage{Body: "b", Attributes: map[string]string{"ApproximateReceiveCount": "NaN"}}, errClosed,
			[]string{"idemddb.error String account is closed"},
		},
		"what an earlier time left is replaced, and gone where there is nothing new": {
			events.SQSMessage{Body: "b", MessageAttributes: map[string]events.SQSMessageAttribute{
				"idemddb.error": stringAttribute("old"), "idemddb.source": stringAttribute("old"), "idemddb.mine": stringAttribute("kept"),
			}}, errClosed,
			[]string{"idemddb.error String account is closed", "idemddb.mine String kept"},
		},
		"characters that SQS does not take": {
			events.SQSMessage{Body: "b"}, errors.New("a\x00b\x1fc\ud7ff\ufffe\uffff\xffd\t\r\n\U0001F600\U0010FFFF"),
			[]string{"idemddb.error String a\ufffdb\ufffdc\ud7ff\ufffd\ufffd\ufffdd\t\r\n\U0001F600\U0010FFFF"},
		},
	} {
		o := &outbox{}
		if err := DeadLetterQueue(o, standardURL)(t.Context(), c.m, c.cause); err != nil {
			t.Errorf("%s: %v", name, err)
		}

		if diff := cmp.Diff(c.want, o.attributes()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestDeadLetterQueueKeepsTheMessagesOwnAttributes(t *testing.T) {
	t.Parallel()

	for own, want := range map[int]string{
		6:  "error messageId receiveCount source",
		7:  "error messageId source",
		8:  "error messageId",
		9:  "error",
		10: "",
		11: "", // SQS will say what it thinks of it
	} {
		o, m := &outbox{}, payment(t)
		m.MessageAttributes = map[string]events.SQSMessageAttribute{}

		for i := range own {
			m.MessageAttributes[fmt.Sprintf("own%02d", i)] = stringAttribute("x")
		}

		if err := DeadLetterQueue(o, standardURL)(t.Context(), m, errClosed); err != nil {
			t.Fatal(err)
		}

		var added []string

		for _, text := range o.attributes() {
			if name, ok := strings.CutPrefix(text, "idemddb."); ok {
				name, _, _ = strings.Cut(name, " ")
				added = append(added, name)
			}
		}

		if got := strings.Join(added, " "); got != want || len(o.attributes()) != own+len(added) {
			t.Errorf("beside %d of its own: %q, want %q; all: %v", own, got, want, o.attributes())
		}
	}
}

func TestDeadLetterQueueKeepsWithinSQSsSize(t *testing.T) {
	t.Parallel()

	const limit = 1 << 20

	cause := errors.New(strings.Repeat("é", 5000))

	for free, want := range map[int][]string{
		0:    nil,
		23:   nil,
		24:   {"idemddb.messageId String m"}, // name, type and value: 17+6+1
		50:   {"idemddb.messageId String m"},
		51:   {"idemddb.messageId String m", "idemddb.receiveCount Number 3"}, // 20+6+1
		1100: {"idemddb.error", "idemddb.messageId String m", "idemddb.receiveCount Number 3"},
	} {
		o := &outbox{}
		m := events.SQSMessage{
			MessageId: "m", Body: strings.Repeat("b", limit-free-len("own"+"String"+"x"+"bin"+"Binary")-3),
			Attributes: map[string]string{"ApproximateReceiveCount": "3", "AWSTraceHeader": "Root=1-5759e988"}, // which does not count
			MessageAttributes: map[string]events.SQSMessageAttribute{
				"own": stringAttribute("x"), "bin": {DataType: "Binary", BinaryValue: []byte{1, 2, 3}},
			},
		}

		if err := DeadLetterQueue(o, standardURL)(t.Context(), m, cause); err != nil {
			t.Fatal(err)
		}

		var got []string

		for _, text := range o.attributes() {
			if strings.HasPrefix(text, "idemddb.error") {
				text = "idemddb.error"
			}

			if strings.HasPrefix(text, "idemddb.") {
				got = append(got, text)
			}
		}

		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("with %d bytes free: %s", free, diff)
		}
	}
}

func TestAttributeText(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringN(1000, 1100, -1),
			rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOfN(rapid.Byte(), 0, 2000).Draw(t, "bytes")) }),
		).Draw(t, "text")
		got := attributeText(text)

		if len(got) > 1024 || !utf8.ValidString(got) {
			t.Fatalf("%d bytes: %q", len(got), got)
		}

		for _, r := range got {
			if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF {
				t.Fatalf("%q has %U", got, r)
			}
		}

		if (text == "") != (got == "") {
			t.Fatalf("%q became %q", text, got)
		}

		if attributeText(got) != got {
			t.Fatalf("%q is not kept", got)
		}
	})
}

func TestDeadLetterQueueGoesWithoutWhatTheQueueRefuses(t *testing.T) {
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

			err := DeadLetterQueue(o, url)(t.Context(), m, errClosed)
			if (err == nil) != (c.want == nil) || len(o.sent) != c.requests {
				t.Errorf("%s: %v after %d requests", name, err, len(o.sent))
			}

			if err != nil && !strings.HasPrefix(err.Error(), "lambdawrap: dead-letter queue: ") {
				t.Errorf("%s: %v", name, err)
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

func TestDeadLetterQueueRefuses(t *testing.T) {
	t.Parallel()

	bad := "\xff"

	for name, c := range map[string]struct {
		url  string
		m    events.SQSMessage
		want string
	}{
		"no URL":            {"", events.SQSMessage{}, `queueURL: must be a queue's URL`},
		"an ARN":            {"arn:aws:sqs:eu-west-1:111122223333:dead", events.SQSMessage{}, `queueURL: must be a queue's URL`},
		"a name":            {"dead", events.SQSMessage{}, `queueURL: must be a queue's URL`},
		"a URL of no queue": {"https://sqs.eu-west-1.amazonaws.com/", events.SQSMessage{}, `queueURL: must be a queue's URL`},
		"a URL of no host":  {"https:///111122223333/dead", events.SQSMessage{}, `queueURL: must be a queue's URL`},
		"a line":            {standardURL + "\n", events.SQSMessage{}, `queueURL: must be a queue's URL`},
		"a message without an id for a FIFO queue": {
			fifoURL, events.SQSMessage{Body: "b"}, "messageId is empty",
		},
		"a body that is not UTF-8": {standardURL, events.SQSMessage{Body: bad}, "the body is not UTF-8"},
		"an attribute that is not UTF-8": {
			standardURL, events.SQSMessage{Body: "b", MessageAttributes: map[string]events.SQSMessageAttribute{"a": stringAttribute(bad)}},
			`message attribute "a" is not UTF-8`,
		},
	} {
		o := &outbox{}

		err := DeadLetterQueue(o, c.url)(t.Context(), c.m, errClosed)
		if err == nil || !strings.HasPrefix(err.Error(), "lambdawrap: dead-letter queue: "+c.want) || len(o.sent) != 0 {
			t.Errorf("%s: %v after %d requests, want %s", name, err, len(o.sent), c.want)
		}
	}

	for _, url := range []string{
		standardURL, fifoURL, "http://localhost:4566/000000000000/dead",
		"http://sqs.eu-west-1.localhost.localstack.cloud:4566/000000000000/dead", "http://localhost:4566/queue/eu-west-1/000000000000/dead",
	} {
		if err := DeadLetterQueue(&outbox{}, url)(t.Context(), payment(t), errClosed); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestDeadLetterQueuePanicsWithoutAPI(t *testing.T) {
	t.Parallel()

	defer func() {
		if v := recover(); v != "lambdawrap: DeadLetterQueue: api: must not be nil" {
			t.Errorf("panicked with %v", v)
		}
	}()

	DeadLetterQueue(nil, standardURL)
}

// The event is the function's; it may look at it again after the hook.
func TestDeadLetterQueueLeavesTheEventAlone(t *testing.T) {
	t.Parallel()

	m := payment(t)
	if err := DeadLetterQueue(&outbox{}, fifoURL)(t.Context(), m, errClosed); err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(payment(t), m); diff != "" {
		t.Error(diff)
	}
}

// clientOver is the SDK's client, over a network that answers so.
func clientOver(network transport) *sqs.Client {
	return sqs.New(sqs.Options{
		Region: "eu-west-1", Retryer: aws.NopRetryer{}, HTTPClient: network,
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	})
}

func accept(t testing.TB, r *http.Request, sent any) (status int, body string) {
	t.Helper()

	var raw bytes.Buffer
	if _, err := raw.ReadFrom(r.Body); err != nil {
		t.Error(err)
	}

	if err := json.Unmarshal(raw.Bytes(), sent); err != nil {
		t.Errorf("%v in %s", err, raw.Bytes())
	}

	var message struct{ MessageBody string }
	if err := json.Unmarshal(raw.Bytes(), &message); err != nil {
		t.Error(err)
	}

	sum := md5.Sum([]byte(message.MessageBody)) // the SDK compares it with what it was given

	return http.StatusOK, `{"MessageId":"new","MD5OfMessageBody":"` + hex.EncodeToString(sum[:]) + `"}`
}

func TestDeadLetterQueueOverTheWire(t *testing.T) {
	t.Parallel()

	var (
		address string
		sent    map[string]any
	)

	client := clientOver(func(r *http.Request) (int, string) {
		address = r.Header.Get("X-Amz-Target") + " " + r.URL.String()

		return accept(t, r, &sent)
	})

	if err := DeadLetterQueue(client, fifoURL)(t.Context(), payment(t), Permanent(errClosed)); err != nil {
		t.Fatal(err)
	}

	if want := "AmazonSQS.SendMessage https://sqs.eu-west-1.amazonaws.com/"; address != want {
		t.Errorf("sent to %s, want %s", address, want)
	}

	attribute := func(dataType, value string) any { return map[string]any{"DataType": dataType, "StringValue": value} }
	if diff := cmp.Diff(map[string]any{
		"QueueUrl":               fifoURL,
		"MessageBody":            `{"paymentId":"p-1"}`,
		"MessageGroupId":         "tenant-7",
		"MessageDeduplicationId": "5d1c7b0e-8a41-4d8c-9a53-7a0c64a2a9b1",
		"MessageAttributes": map[string]any{
			"tenant":               attribute("String", "seven"),
			"amount":               attribute("Number.int", "12.50"),
			"proof":                map[string]any{"DataType": "Binary.png", "BinaryValue": "AP8Q"},
			"idemddb.error":        attribute("String", "account is closed"),
			"idemddb.messageId":    attribute("String", "5d1c7b0e-8a41-4d8c-9a53-7a0c64a2a9b1"),
			"idemddb.source":       attribute("String", "arn:aws:sqs:eu-west-1:111122223333:payments"),
			"idemddb.receiveCount": attribute("Number", "3"),
		},
		"MessageSystemAttributes": map[string]any{"AWSTraceHeader": attribute("String", "Root=1-5759e988-bd862e3fe1be46a994272793")},
	}, sent); diff != "" {
		t.Error(diff)
	}
}

func TestDeadLetterQueueSendsTheBodyByteForByte(t *testing.T) {
	t.Parallel()

	var got struct{ MessageBody string }

	client := clientOver(func(r *http.Request) (int, string) {
		got.MessageBody = ""

		return accept(t, r, &got)
	})
	hook := DeadLetterQueue(client, standardURL)

	check := func(t rapid.TB, body string) {
		if err := hook(context.Background(), events.SQSMessage{MessageId: "m", Body: body}, errClosed); err != nil {
			t.Fatalf("%v", err)
		}

		if got.MessageBody != body {
			t.Fatalf("%q arrived as %q", body, got.MessageBody)
		}
	}

	for _, body := range []string{
		" \t\r\n{ \"a\" : 1.0 , \"a\" : 1e0 }\r\n", `<a href="x&y">'\\"</a>`, "\u2028\u2029\ufeff\ufffd", "e\u0301 é ж \U0001F600",
		"\x7f\u0080\u0085\ud7ff\ue000", strings.Repeat("x", 1<<20),
	} {
		check(t, body)
	}

	rapid.Check(t, func(t *rapid.T) { check(t, rapid.StringN(1, -1, -1).Draw(t, "body")) })
}

func TestDeadLetterQueueReadsTheServicesAnswers(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		status   int
		body     string
		requests int
	}{
		"invalid":                    {http.StatusBadRequest, `{"__type":"com.amazon.coral.service#InvalidParameterValueException","message":"too long"}`, 2},
		"denied":                     {http.StatusForbidden, `{"__type":"com.amazon.coral.service#AccessDeniedException","message":"no"}`, 1},
		"gone":                       {http.StatusBadRequest, `{"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"no"}`, 1},
		"down":                       {http.StatusServiceUnavailable, ``, 1},
		"another body than was sent": {http.StatusOK, `{"MessageId":"new","MD5OfMessageBody":"00000000000000000000000000000000"}`, 1},
	} {
		requests := 0
		client := clientOver(func(*http.Request) (int, string) {
			requests++

			return c.status, c.body
		})

		err := DeadLetterQueue(client, standardURL)(t.Context(), payment(t), errClosed)
		if err == nil || !strings.HasPrefix(err.Error(), "lambdawrap: dead-letter queue: ") || requests != c.requests {
			t.Errorf("%s: %v after %d requests, want %d", name, err, requests, c.requests)
		}
	}
}
