package queue

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// transport stands for the network.
type transport func(*http.Request) (status int, body string)

func (f transport) Do(r *http.Request) (*http.Response, error) {
	status, body := f(r)

	return &http.Response{
		StatusCode: status, Body: io.NopCloser(strings.NewReader(body)),
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
	}, nil
}

// clientOver returns the SDK's client with a fake network.
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

	sum := md5.Sum([]byte(message.MessageBody)) // the SDK compares the sum with that of the message it has sent

	return http.StatusOK, `{"MessageId":"new","MD5OfMessageBody":"` + hex.EncodeToString(sum[:]) + `"}`
}

func TestDeadLetterOverTheWire(t *testing.T) {
	t.Parallel()

	var (
		address string
		sent    map[string]any
	)

	client := clientOver(func(r *http.Request) (int, string) {
		address = r.Header.Get("X-Amz-Target") + " " + r.URL.String()

		return accept(t, r, &sent)
	})

	if err := NewDeadLetter(client.SendMessage, fifoURL).Send(t.Context(), payment(t), errClosed); err != nil {
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

func TestDeadLetterSendsTheBodyByteForByte(t *testing.T) {
	t.Parallel()

	var got struct{ MessageBody string }

	client := clientOver(func(r *http.Request) (int, string) {
		got.MessageBody = ""

		return accept(t, r, &got)
	})
	queue := NewDeadLetter(client.SendMessage, standardURL)

	check := func(t rapid.TB, body string) {
		if err := queue.Send(context.Background(), events.SQSMessage{MessageId: "m", Body: body}, errClosed); err != nil {
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

func TestDeadLetterReadsTheServicesAnswers(t *testing.T) {
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

		err := NewDeadLetter(client.SendMessage, standardURL).Send(t.Context(), payment(t), errClosed)
		if err == nil || requests != c.requests {
			t.Errorf("%s: %v after %d requests, want %d", name, err, requests, c.requests)
		}
	}
}
