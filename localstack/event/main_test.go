package main

import (
	"bytes"
	"crypto/md5"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
)

// The tests set the environment, so they do not run in parallel.

// queues is an SQS whose receipt handles are "handle of" and the body. It remembers what it was asked for.
type queues struct {
	asked   []string
	waiting []string
}

func (q *queues) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct {
		QueueName, QueueUrl, MessageBody string //nolint:revive // as they are sent
		Attributes                       map[string]string
	}

	_ = json.NewDecoder(r.Body).Decode(&in)

	var out any

	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	queue := in.QueueName + in.QueueUrl[strings.LastIndex(in.QueueUrl, "/")+1:]
	q.asked = append(q.asked, strings.TrimSpace(operation+" "+queue+" "+in.Attributes["FifoQueue"]))

	switch operation {
	case "CreateQueue":
		out = map[string]string{"QueueUrl": "http://localhost/1/" + in.QueueName}
	case "SendMessage":
		q.waiting = append(q.waiting, in.MessageBody)
		out = map[string]string{"MessageId": "m", "MD5OfMessageBody": fmt.Sprintf("%x", md5.Sum([]byte(in.MessageBody)))}
	case "ReceiveMessage":
		body := q.waiting[0]
		q.waiting = q.waiting[1:]
		out = map[string]any{"Messages": []map[string]string{{
			"MessageId": "m", "ReceiptHandle": "handle of " + body, "Body": body, "MD5OfBody": fmt.Sprintf("%x", md5.Sum([]byte(body))),
		}}}
	}

	text, err := json.Marshal(out)
	if err != nil {
		panic(err) // texts can always be encoded
	}

	_, _ = w.Write(text)
}

func TestEveryEventIsInFlight(t *testing.T) {
	files, err := filepath.Glob("../events/*.json")
	if err != nil || len(files) < 5 {
		t.Fatalf("%v, %v", files, err)
	}

	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			sqs := &queues{}

			server := httptest.NewServer(sqs)
			defer server.Close()

			for name, value := range map[string]string{
				"AWS_ENDPOINT_URL": server.URL, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_CA_BUNDLE": "",
			} {
				t.Setenv(name, value)
			}

			var out bytes.Buffer
			if err := run(t.Context(), &out, "captured", file); err != nil {
				t.Fatal(err)
			}

			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}

			var want, got events.SQSEvent
			if err := errors.Join(json.Unmarshal(text, &want), json.Unmarshal(out.Bytes(), &got)); err != nil {
				t.Fatal(err)
			}

			asked := []string{"CreateQueue captured"}

			for i, m := range want.Records {
				want.Records[i].ReceiptHandle = "handle of " + m.Body
				queue := m.EventSourceARN[strings.LastIndex(m.EventSourceARN, ":")+1:]
				create := "CreateQueue " + queue

				if strings.HasSuffix(queue, ".fifo") {
					create += " true"
				}

				asked = append(asked, create, "SendMessage "+queue, "ReceiveMessage "+queue)
			}

			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("event (-want +got):\n%s", diff)
			}

			if diff := cmp.Diff(asked, sqs.asked); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

func TestItIsNotForAWS(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL", "")

	if err := run(t.Context(), &bytes.Buffer{}, "captured", "../events/fresh.json"); err == nil || !strings.Contains(err.Error(), "not for AWS") {
		t.Errorf("got %v", err)
	}
}
