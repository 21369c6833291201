package lambdawrap_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// FuzzKafkaEvent sends any JSON through Lambda's own decoding. The function returns an error before anything runs, or names a record of the event
// for each topic-partition that has a failure, and no later one than the first.
func FuzzKafkaEvent(f *testing.F) {
	recorded, err := os.ReadFile("testdata/kafka.json")
	if err != nil {
		f.Fatal(err)
	}

	for _, seed := range []string{
		string(recorded),
		`{"eventSource":"SelfManagedKafka","records":{"t-0":[{"topic":"t","partition":0,"offset":2,"timestamp":1,"value":"YmFk"},{"topic":"t","partition":0,"offset":1,"timestamp":1,"value":"b2s="}],"t-1":[{"topic":"t","partition":1,"offset":10,"timestamp":1,"value":"YmFk"},{"topic":"t","partition":1,"offset":9,"timestamp":1,"value":"YmFk"}]}}`,
		`{"records":{"t-0":[{"topic":"t","offset":1,"timestamp":-1,"key":"YQ==","value":null,"headers":[{"a":[1,-2],"b":[]},{}]}]}}`,
		`{"records":{"":[{"topic":"t"}],"x":null}}`, `{"records":{}}`, `{"records":null}`, `{"records":[]}`, `null`,
	} {
		f.Add([]byte(seed), uint8(1))
		f.Add([]byte(seed), uint8(5))
	}

	f.Fuzz(func(t *testing.T, payload []byte, workers uint8) {
		var (
			event    events.KafkaEvent
			response lambdawrap.KafkaEventResponse
		)

		h, ran, failed := newHarness(t, nil), journal{}, journal{}

		answer, err := lambda.NewHandler(lambdawrap.Kafka(h.store, func(_ context.Context, r lambdawrap.KafkaRecord) error {
			ran.add(r.Topic)

			if strings.Contains(string(r.Value), "bad") {
				failed.add(r.Topic)

				return errBank
			}

			return nil
		}, &lambdawrap.KafkaOptions{
			Workers: int(workers), Logger: slog.New(slog.DiscardHandler), OnRecord: func(context.Context, lambdawrap.KafkaRecord, lambdawrap.Outcome) {},
		})).Invoke(t.Context(), payload)
		if err != nil {
			h.equal("runs before an error", ran.all(), []string(nil))

			return
		}

		if json.Unmarshal(payload, &event) != nil || json.Unmarshal(answer, &response) != nil || len(failed.all()) > 0 && len(response.BatchItemFailures) == 0 {
			t.Fatalf("answered %s", answer)
		}

		for _, f := range response.BatchItemFailures {
			isKnown := false

			for _, r := range event.Records[f.ItemIdentifier.Partition] {
				isKnown = isKnown || r.Offset == f.ItemIdentifier.Offset
			}

			h.equal("the answer is of the batch", isKnown, true)
		}
	})
}
