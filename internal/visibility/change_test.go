package visibility

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"
)

func TestQueueURL(t *testing.T) {
	t.Parallel()

	for arn, want := range map[string]string{
		"arn:aws:sqs:eu-west-1:111122223333:payments":           "https://sqs.eu-west-1.amazonaws.com/111122223333/payments",
		"arn:aws:sqs:us-east-1:000000000000:A-b_9.fifo":         "https://sqs.us-east-1.amazonaws.com/000000000000/A-b_9.fifo",
		"arn:aws-us-gov:sqs:us-gov-west-1:111122223333:q":       "https://sqs.us-gov-west-1.amazonaws.com/111122223333/q",
		"arn:aws-cn:sqs:cn-north-1:111122223333:q":              "https://sqs.cn-north-1.amazonaws.com.cn/111122223333/q",
		"arn:aws-eusc:sqs:eusc-de-east-1:111122223333:q":        "https://sqs.eusc-de-east-1.amazonaws.eu/111122223333/q",
		"arn:aws-iso:sqs:us-iso-east-1:111122223333:q":          "https://sqs.us-iso-east-1.c2s.ic.gov/111122223333/q",
		"arn:aws-iso-b:sqs:us-isob-east-1:111122223333:q":       "https://sqs.us-isob-east-1.sc2s.sgov.gov/111122223333/q",
		"arn:aws-iso-e:sqs:eu-isoe-west-1:111122223333:q":       "https://sqs.eu-isoe-west-1.cloud.adc-e.uk/111122223333/q",
		"arn:aws-iso-f:sqs:us-isof-south-1:111122223333:q.fifo": "https://sqs.us-isof-south-1.csp.hci.ic.gov/111122223333/q.fifo",
	} {
		got, err := queueURL(t.Context(), arn)
		if err != nil || got != want {
			t.Errorf("queueURL(%q) = %q, %v, want %q", arn, got, err, want)
		}
	}
}

// A partition or a region that this version of the SDK does not list gets the host to which the SDK's client would send for
// that region. So a new one needs no change here.
func TestQueueURLOfAnUnknownPartition(t *testing.T) {
	t.Parallel()

	got, err := queueURL(t.Context(), "arn:aws-mars:sqs:mars-1:111122223333:payments")
	if want := "https://sqs.mars-1.amazonaws.com/111122223333/payments"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestQueueURLRefuses(t *testing.T) {
	t.Parallel()

	for _, arn := range []string{
		"",
		"payments",
		"https://sqs.eu-west-1.amazonaws.com/111122223333/payments",
		"arn:aws:sqs:eu-west-1:111122223333",              // no name
		"arn:aws:sqs:eu-west-1:111122223333:",             // an empty one
		"arn:aws:sqs::111122223333:payments",              // no region
		"arn:aws:sqs:eu-west-1::payments",                 // no account
		"arn:aws:sqs:eu-west-1:111122223333:payments:x",   // a part too many
		"arn:aws:sqs:eu-west-1:111122223333:pay/ments",    // not a name
		"arn:aws:sqs:evil.example/#:111122223333:q",       // not a region
		"arn:aws:sqs:eu-west-1:1111/../2222:q",            // not an account
		"arn:aws:sns:eu-west-1:111122223333:payments",     // another service
		"arn:aws:kinesis:eu-west-1:111122223333:stream/s", // another service
		"urn:aws:sqs:eu-west-1:111122223333:payments",
	} {
		if got, err := queueURL(t.Context(), arn); err == nil || got != "" || !strings.HasPrefix(err.Error(), "eventSourceARN: ") {
			t.Errorf("queueURL(%q) = %q, %v, want an error that names the field", arn, got, err)
		}
	}
}

func TestChange(t *testing.T) {
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
		err := Change(t.Context(), func(
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

// transport stands for the network.
type transport func(*http.Request) (status int, body string)

func (f transport) Do(r *http.Request) (*http.Response, error) {
	status, body := f(r)

	return &http.Response{
		StatusCode: status, Body: io.NopCloser(strings.NewReader(body)),
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
	}, nil
}

// The request goes to the client's endpoint, whatever the queue's URL is. So an ARN is enough to make the URL.
func TestChangeOverTheWire(t *testing.T) {
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
	if err := Change(t.Context(), client.ChangeMessageVisibility, m, 0); err != nil {
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
