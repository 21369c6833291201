package lambdawrap_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// FuzzPipe sends any JSON to the target of a pipe of Kinesis. It returns an error before anything runs, or names records of the array, all from the
// first failure on.
func FuzzPipe(f *testing.F) {
	for _, seed := range []string{
		`[{"partitionKey":"a","sequenceNumber":"9","data":"b2s=","eventSource":"aws:kinesis","eventID":"s:9","eventSourceARN":"arn"},{"partitionKey":"b","sequenceNumber":"10","data":"YmFk","eventSource":"aws:kinesis","eventID":"s:10","eventSourceARN":"arn"},{"sequenceNumber":"11","data":"b2s=","eventID":"s:11","eventSourceARN":"arn"}]`,
		`[{"eventID":"s:1","eventSourceARN":"arn","kinesis":{"sequenceNumber":"1","data":"YmFk"}}]`, `[{"sequenceNumber":"1","data":"YmFk"}]`,
		`[{"messageId":"m","eventSource":"aws:sqs"}]`, `[]`, ` [ null ]`, `{"Records":[]}`, `[1]`,
	} {
		f.Add([]byte(seed))
	}

	f.Fuzz(func(t *testing.T, payload []byte) {
		h, ran := newHarness(t, nil), journal{}

		answer, err := lambdawrap.Pipe(lambdawrap.Kinesis(h.store, func(_ context.Context, r events.KinesisEventRecord) error {
			ran.add(r.EventID)

			if strings.Contains(string(r.Kinesis.Data), "bad") {
				return errBank
			}

			return nil
		}, &lambdawrap.StreamOptions[events.KinesisEventRecord]{Logger: slog.New(slog.DiscardHandler)})).Invoke(t.Context(), payload)
		if err != nil {
			if !strings.Contains(err.Error(), "eventID") { // of a record that failed
				h.equal("runs before an error", ran.all(), []string(nil))
			}

			return
		}

		var array []struct {
			EventID string `json:"eventID"`
		}

		if err := json.Unmarshal(payload, &array); err != nil {
			t.Fatalf("answered %s: %v", answer, err)
		}

		known := map[string]bool{}
		for _, r := range array {
			known[r.EventID] = true
		}

		for _, id := range failedOf(t, answer) {
			h.equal("the answer is of the batch", known[id], true)
		}
	})
}
