package outbox_test

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/outbox"
)

// These tests use the SDK's own clients against a server, so that what goes over the wire is what the services document, and what
// they answer arrives as what the senders expect.

// wire is a server that keeps the bodies of its requests and answers with one text.
type wire struct {
	config aws.Config
	header http.Header
	bodies [][]byte
}

func newWire(t *testing.T, status int, header http.Header, answer string) *wire {
	t.Helper()

	w := &wire{}

	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}

		w.header, w.bodies = r.Header, append(w.bodies, body)

		maps.Copy(rw.Header(), header)
		rw.WriteHeader(status)
		fmt.Fprint(rw, answer)
	}))
	t.Cleanup(server.Close)

	w.config = aws.Config{
		Region: "eu-west-1", BaseEndpoint: aws.String(server.URL), Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
		HTTPClient: server.Client(), RetryMaxAttempts: 1,
	}

	return w
}

// wantSent compares the JSON of the last request.
func (w *wire) wantSent(t *testing.T, text string) {
	t.Helper()

	var want, got any
	if err := errors.Join(json.Unmarshal([]byte(text), &want), json.Unmarshal(w.bodies[len(w.bodies)-1], &got)); err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

// two are a message with everything and one with little.
func two() []idemddb.Message {
	return []idemddb.Message{captured(), {ID: "tx-1", Body: "{}"}}
}

func TestSQSOnTheWire(t *testing.T) {
	t.Parallel()

	digest := md5.Sum([]byte(captured().Body))
	w := newWire(t, http.StatusOK, http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, `{"Successful": [{"Id": "0", "MessageId": "m", "MD5OfMessageBody": "`+hex.EncodeToString(digest[:])+`"}],
			"Failed": [{"Id": "1", "Code": "InvalidMessageContents", "Message": "bad", "SenderFault": true}]}`)

	answers := outbox.SQS(sqs.NewFromConfig(w.config), queueURL+".fifo").Send(t.Context(), "ledger", two())
	if diff := cmp.Diff([]string{"sent", "parked"}, became(answers)); diff != "" {
		t.Errorf("answers %v (-want +got):\n%s", answers, diff)
	}

	if got := w.header.Get("X-Amz-Target"); got != "AmazonSQS.SendMessageBatch" {
		t.Errorf("target %s", got)
	}

	w.wantSent(t, `{"QueueUrl": "`+queueURL+`.fifo", "Entries": [
		{"Id": "0", "MessageBody": "{\"paymentId\":\"p-1\"}", "MessageGroupId": "ann", "MessageDeduplicationId": "tx-0", "MessageAttributes": {
			"tenant": {"DataType": "String", "StringValue": "seven"}, "idemddb-id": {"DataType": "String", "StringValue": "tx-0"},
			"idemddb-sequence": {"DataType": "Number", "StringValue": "42"}}},
		{"Id": "1", "MessageBody": "{}", "MessageGroupId": "tx-1", "MessageDeduplicationId": "tx-1", "MessageAttributes": {
			"idemddb-id": {"DataType": "String", "StringValue": "tx-1"}}}
	]}`)
}

func TestSNSOnTheWire(t *testing.T) {
	t.Parallel()

	w := newWire(t, http.StatusOK, http.Header{"Content-Type": {"text/xml"}}, `<PublishBatchResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><PublishBatchResult>
			<Failed><member><Id>1</Id><Code>InternalError</Code><Message>bad</Message><SenderFault>false</SenderFault></member></Failed>
			<Successful><member><Id>0</Id><MessageId>m</MessageId></member></Successful>
		</PublishBatchResult></PublishBatchResponse>`)

	answers := outbox.SNS(sns.NewFromConfig(w.config), topicARN+".fifo").Send(t.Context(), "ledger", two())
	if diff := cmp.Diff([]string{"sent", "kept"}, became(answers)); diff != "" {
		t.Errorf("answers %v (-want +got):\n%s", answers, diff)
	}

	got, err := url.ParseQuery(string(w.bodies[0]))
	if err != nil {
		t.Fatal(err)
	}

	// A map has no order on the wire, so the attributes of the first message are compared without their numbers.
	var attributes []string

	for _, n := range []string{"1", "2", "3"} {
		at := "PublishBatchRequestEntries.member.1.MessageAttributes.entry." + n
		attributes = append(attributes, got.Get(at+".Name")+" "+got.Get(at+".Value.DataType")+" "+got.Get(at+".Value.StringValue"))

		got.Del(at + ".Name")
		got.Del(at + ".Value.DataType")
		got.Del(at + ".Value.StringValue")
	}

	slices.Sort(attributes)

	if diff := cmp.Diff([]string{"idemddb-id String tx-0", "idemddb-sequence Number 42", "tenant String seven"}, attributes); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}

	entry := "PublishBatchRequestEntries.member."
	if diff := cmp.Diff(url.Values{
		"Action": {"PublishBatch"}, "Version": {"2010-03-31"}, "TopicArn": {topicARN + ".fifo"},
		entry + "1.Id": {"0"}, entry + "1.Message": {captured().Body}, entry + "1.MessageGroupId": {"ann"}, entry + "1.MessageDeduplicationId": {"tx-0"},
		entry + "2.Id": {"1"}, entry + "2.Message": {"{}"}, entry + "2.MessageGroupId": {"tx-1"}, entry + "2.MessageDeduplicationId": {"tx-1"},
		entry + "2.MessageAttributes.entry.1.Name":              {"idemddb-id"},
		entry + "2.MessageAttributes.entry.1.Value.DataType":    {"String"},
		entry + "2.MessageAttributes.entry.1.Value.StringValue": {"tx-1"},
	}, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestEventBridgeOnTheWire(t *testing.T) {
	t.Parallel()

	w := newWire(t, http.StatusOK, http.Header{"Content-Type": {"application/x-amz-json-1.1"}}, `{"FailedEntryCount": 1, "Entries": [{"EventId": "e"}, {"ErrorCode": "MalformedDetail", "ErrorMessage": "Detail is malformed."}]}`)

	ms := two()
	ms[0].Attributes = nil

	answers := outbox.EventBridge(eventbridge.NewFromConfig(w.config), "bus", "payments", "captured").Send(t.Context(), "ledger", ms)
	if diff := cmp.Diff([]string{"sent", "parked"}, became(answers)); diff != "" {
		t.Errorf("answers %v (-want +got):\n%s", answers, diff)
	}

	if got := w.header.Get("X-Amz-Target"); got != "AWSEvents.PutEvents" {
		t.Errorf("target %s", got)
	}

	w.wantSent(t, `{"Entries": [
		{"EventBusName": "bus", "Source": "payments", "DetailType": "captured", "Detail": "{\"paymentId\":\"p-1\"}", "Resources": ["idemddb:tx-0", "idemddb-sequence:42"]},
		{"EventBusName": "bus", "Source": "payments", "DetailType": "captured", "Detail": "{}", "Resources": ["idemddb:tx-1"]}
	]}`)
}

// The codes are those that the SDK makes of the services' answers.
func TestRefusalsOnTheWire(t *testing.T) {
	t.Parallel()

	const notFound = `<ErrorResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><Error><Type>Sender</Type><Code>NotFound</Code>` +
		`<Message>Topic does not exist</Message></Error><RequestId>r</RequestId></ErrorResponse>`

	const denied = `<ErrorResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><Error><Type>Sender</Type><Code>AuthorizationError</Code>` +
		`<Message>no</Message></Error><RequestId>r</RequestId></ErrorResponse>`

	toSQS := func(c aws.Config) idemddb.Sender { return outbox.SQS(sqs.NewFromConfig(c), queueURL) }
	toSNS := func(c aws.Config) idemddb.Sender { return outbox.SNS(sns.NewFromConfig(c), topicARN) }
	toBus := func(c aws.Config) idemddb.Sender {
		return outbox.EventBridge(eventbridge.NewFromConfig(c), "bus", "payments", "captured")
	}

	for name, c := range map[string]struct {
		sender func(aws.Config) idemddb.Sender
		status int
		header http.Header
		answer string
		want   string
	}{
		"no queue": {toSQS, 400, nil, `{"__type": "com.amazonaws.sqs#QueueDoesNotExist", "message": "no"}`, "parked"},
		"no queue, with the code of the older protocol": {
			toSQS, 400, http.Header{"X-Amzn-Query-Error": {"AWS.SimpleQueueService.NonExistentQueue;Sender"}},
			`{"__type": "com.amazonaws.sqs#QueueDoesNotExist", "message": "no"}`, "parked",
		},
		"SQS denies":                       {toSQS, 403, nil, `{"__type": "com.amazon.coral.service#AccessDeniedException", "message": "no"}`, "kept"},
		"SQS throttles":                    {toSQS, 400, nil, `{"__type": "com.amazonaws.sqs#RequestThrottled", "message": "no"}`, "kept"},
		"a message too large":              {toSQS, 400, nil, `{"__type": "com.amazonaws.sqs#BatchRequestTooLong", "message": "no"}`, "parked"},
		"no topic":                         {toSNS, 404, nil, notFound, "parked"},
		"SNS denies":                       {toSNS, 403, nil, denied, "kept"},
		"no bus":                           {toBus, 400, nil, `{"__type": "ResourceNotFoundException", "message": "no"}`, "parked"},
		"an event too large":               {toBus, 400, nil, `{"__type": "ValidationException", "message": "no"}`, "parked"},
		"EventBridge is down":              {toBus, 500, nil, `{"__type": "InternalException", "message": "no"}`, "kept"},
		"something else answers":           {toBus, 502, nil, `<html>Bad Gateway</html>`, "kept"},
		"a success without content":        {toBus, 200, nil, ``, "kept"},
		"a success of SQS without content": {toSQS, 200, nil, `{}`, "kept"},
	} {
		w := newWire(t, c.status, c.header, c.answer)

		answers := c.sender(w.config).Send(t.Context(), "ledger", messages("{}"))
		if diff := cmp.Diff([]string{c.want}, became(answers)); diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, answers, diff)
		}
	}
}
