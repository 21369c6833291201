package lambdawrap_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// FuzzEvent sends any JSON through Lambda's own decoding to the wrappers. They return an error, or the ids of the batch that
// failed, each once. On a FIFO queue all messages behind a failed one of their group are reported failed, too.
func FuzzEvent(f *testing.F) {
	for _, seed := range []string{
		`{"Records":[{"messageId":"m1","eventSourceARN":"arn:aws:sqs:eu-west-1:1:q","body":"ok"},{"messageId":"m2","eventSourceARN":"arn:aws:sqs:eu-west-1:1:q","body":"bad"}]}`,
		`{"Records":[{"messageId":"m1","eventSourceARN":"arn:q.fifo","body":"bad","attributes":{"MessageGroupId":"a"}},{"messageId":"m2","eventSourceARN":"arn:q.fifo","body":"ok","attributes":{"MessageGroupId":"a"}}]}`,
		`{"Records":[{"messageId":"m1","eventSourceARN":"q.fifo","body":"x","attributes":{"MessageGroupId":"a"}},{"messageId":"m2","eventSourceARN":"q.fifo","body":"bad","attributes":{"MessageGroupId":"b"}},{"messageId":"m3","eventSourceARN":"q.fifo","body":"x","attributes":{"MessageGroupId":"b"}},{"messageId":"m4","eventSourceARN":"q.fifo","body":"y","attributes":{"MessageGroupId":"a"}}]}`,
		`{"Records":[{"messageId":"","eventSourceARN":"q","body":"bad"}]}`, `{"Records":[{"messageId":"m"},{"messageId":"m"}]}`,
		`{"Records":[{"messageId":"m1","eventSourceARN":"q","body":"final"},{"messageId":"m2","eventSourceARN":"q","body":"final","attributes":{"ApproximateReceiveCount":"2"}}]}`,
		`{"Records":null}`, `{}`, `[]`, `null`, `{"records":[{}]}`, `{"Records":[null]}`, ``,
	} {
		f.Add([]byte(seed), uint8(1), false)
		f.Add([]byte(seed), uint8(3), true)
	}

	f.Fuzz(func(t *testing.T, payload []byte, workers uint8, byBody bool) {
		var event events.SQSEvent

		decoded := json.NewDecoder(bytes.NewReader(payload)).Decode(&event) == nil

		for name, wrap := range map[string]func(*harness, lambdawrap.Handler) wrapped{"SQS": (*harness).handle, "Batch": (*harness).whole} {
			h := newHarness(t, nil)
			h.opts = &lambdawrap.Options{Logger: slog.New(slog.DiscardHandler), Workers: int(workers)}

			if byBody { // messages with one body share a key
				h.opts.Key = func(_ context.Context, m events.SQSMessage) (string, error) { return m.Body, nil }
			}

			answer, err := lambda.NewHandler(wrap(h, fuzzedWork)).Invoke(t.Context(), payload)
			if err != nil {
				continue // the whole batch comes back
			}

			var response events.SQSEventResponse
			if err := json.Unmarshal(answer, &response); err != nil || !decoded || event.Records == nil {
				t.Fatalf("%s answered %s: %v", name, answer, err)
			}

			h.judge(name, event, response)
		}
	})
}

func fuzzedWork(_ context.Context, m events.SQSMessage) error {
	return map[string]error{"bad": errBank, "final": lambdawrap.Permanent(errBank)}[m.Body]
}

// judge compares an answer with its event.
func (h *harness) judge(name string, event events.SQSEvent, response events.SQSEventResponse) {
	h.Helper()

	failed, known := map[string]bool{}, map[string]bool{}

	for _, id := range ids(response) {
		if id == "" || failed[id] {
			h.Errorf("%s answered %v", name, ids(response))
		}

		failed[id] = true
	}

	stopped := map[string]bool{} // these groups are blocked by a failure

	for _, m := range event.Records {
		known[m.MessageId] = true

		if fuzzedWork(h.Context(), m) != nil && !failed[m.MessageId] {
			h.Errorf("%s: %q failed and is not in %v", name, m.MessageId, ids(response))
		}

		group, fifo := m.EventSourceARN+" "+m.Attributes["MessageGroupId"], strings.HasSuffix(m.EventSourceARN, ".fifo")
		if fifo && stopped[group] && !failed[m.MessageId] {
			h.Errorf("%s: %q comes behind a failure and is not in %v", name, m.MessageId, ids(response))
		}

		stopped[group] = stopped[group] || fifo && failed[m.MessageId]
	}

	for id := range failed {
		if !known[id] {
			h.Errorf("%s: %q is not in the batch", name, id)
		}
	}

	h.once(name, event)
}

// once demands that no message ran more often than the event has it.
func (h *harness) once(name string, event events.SQSEvent) {
	h.Helper()

	times, records := map[string]int{}, map[string]int{}
	for _, m := range event.Records {
		records[m.MessageId]++
	}

	for _, id := range h.runs.all() {
		if times[id]++; times[id] > records[id] {
			h.Errorf("%s: %q ran %d times", name, id, times[id])
		}
	}
}
