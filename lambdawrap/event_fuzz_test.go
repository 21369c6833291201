package lambdawrap_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// FuzzEvent sends whatever JSON through Lambda's own decoding to the wrapper: it answers with ids of the batch, each once, or with
// an error; never with less than what failed.
func FuzzEvent(f *testing.F) {
	for _, seed := range []string{
		`{"Records":[{"messageId":"m1","eventSourceARN":"arn:aws:sqs:eu-west-1:1:q","body":"ok"},{"messageId":"m2","eventSourceARN":"arn:aws:sqs:eu-west-1:1:q","body":"bad"}]}`,
		`{"Records":[{"messageId":"m1","eventSourceARN":"arn:q.fifo","body":"bad","attributes":{"MessageGroupId":"a"}},{"messageId":"m2","eventSourceARN":"arn:q.fifo","body":"ok","attributes":{"MessageGroupId":"a"}}]}`,
		`{"Records":[{"messageId":"","eventSourceARN":"q","body":"bad"}]}`, `{"Records":[{"messageId":"m"},{"messageId":"m"}]}`,
		`{"Records":null}`, `{}`, `[]`, `null`, `{"records":[{}]}`, `{"Records":[null]}`, ``,
	} {
		f.Add([]byte(seed))
	}

	f.Fuzz(func(t *testing.T, payload []byte) {
		l := newLab(t, nil)
		handler := lambda.NewHandler(lambdawrap.SQS(l.store, func(_ context.Context, m events.SQSMessage) error {
			if m.Body == "bad" {
				return errors.New("bank closed")
			}

			return nil
		}, &lambdawrap.Options{Logger: slog.New(slog.DiscardHandler)}))

		answer, err := handler.Invoke(t.Context(), payload)
		if err != nil {
			return // the whole batch comes back
		}

		var (
			event    events.SQSEvent
			response events.SQSEventResponse
		)

		if err := errors.Join(json.NewDecoder(bytes.NewReader(payload)).Decode(&event), json.Unmarshal(answer, &response)); err != nil {
			t.Fatalf("answered %s: %v", answer, err)
		}

		failed := map[string]bool{}

		for _, id := range ids(response) {
			if id == "" || failed[id] {
				t.Errorf("answered %s", answer)
			}

			failed[id] = true
		}

		for _, m := range event.Records {
			if m.Body == "bad" && !failed[m.MessageId] {
				t.Errorf("%q failed and is not in %s", m.MessageId, answer)
			}

			delete(failed, m.MessageId)
		}

		if len(failed) > 0 {
			t.Errorf("%v are not in the batch", failed)
		}
	})
}
