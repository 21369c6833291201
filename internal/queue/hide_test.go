package queue

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"
)

func TestHide(t *testing.T) {
	t.Parallel()

	const arn = "arn:aws:sqs:eu-west-1:111122223333:payments"

	refused := errors.New("refused")

	for name, c := range map[string]struct {
		m       events.SQSMessage
		answer  error
		request bool
		want    string
	}{
		"done":              {events.SQSMessage{EventSourceARN: arn, ReceiptHandle: "r"}, nil, true, ""},
		"refused":           {events.SQSMessage{EventSourceARN: arn, ReceiptHandle: "r"}, refused, true, "refused"},
		"no receipt handle": {events.SQSMessage{EventSourceARN: arn}, nil, false, "receiptHandle is empty"},
		"no ARN":            {events.SQSMessage{ReceiptHandle: "r"}, nil, false, `eventSourceARN: must be a queue's ARN, is ""`},
		"a stream's ARN": {
			events.SQSMessage{EventSourceARN: "arn:aws:kinesis:eu-west-1:111122223333:stream/s", ReceiptHandle: "r"},
			nil, false, "eventSourceARN: must be a queue's ARN",
		},
	} {
		requests := 0
		err := Hide(t.Context(), func(
			_ context.Context, in *sqs.ChangeMessageVisibilityInput, _ ...func(*sqs.Options),
		) (*sqs.ChangeMessageVisibilityOutput, error) {
			requests++

			if *in.QueueUrl != "https://sqs.eu-west-1.amazonaws.com/111122223333/payments" || *in.ReceiptHandle != "r" || in.VisibilityTimeout != 7 {
				t.Errorf("%s: sent %v", name, in)
			}

			return nil, c.answer // a simple fake returns no output
		}, c.m, 7)

		switch {
		case requests == 1 != c.request:
			t.Errorf("%s: %d requests", name, requests)
		case c.want == "" && err != nil, !errors.Is(err, c.answer) && c.answer != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)):
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// The request goes to the client's endpoint, whatever the queue's URL is. So an ARN is enough to make the URL.
func TestHideOverTheWire(t *testing.T) {
	t.Parallel()

	var (
		host, target string
		sent         map[string]any
	)

	client := sqs.New(sqs.Options{
		Region: "eu-west-1", BaseEndpoint: aws.String("http://localhost:4566"),
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
		HTTPClient: transport(func(r *http.Request) (int, string) {
			host, target = r.URL.Host, r.Header.Get("X-Amz-Target")
			if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
				t.Error(err)
			}

			return http.StatusOK, ""
		}),
	})

	m := events.SQSMessage{EventSourceARN: "arn:aws:sqs:eu-west-1:111122223333:payments.fifo", ReceiptHandle: "AQEB+/="}
	if err := Hide(t.Context(), client.ChangeMessageVisibility, m, 0); err != nil {
		t.Fatal(err)
	}

	if host != "localhost:4566" || target != "AmazonSQS.ChangeMessageVisibility" {
		t.Errorf("sent %s to %s", target, host)
	}

	want := map[string]any{
		"QueueUrl": "https://sqs.eu-west-1.amazonaws.com/111122223333/payments.fifo", "ReceiptHandle": "AQEB+/=",
		"VisibilityTimeout": 0.0, // the zero value is sent, too
	}
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Error(diff)
	}
}
