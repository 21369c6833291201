package lambdawrap

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
)

func TestOutcomesOfMessagesAreMetrics(t *testing.T) {
	t.Parallel()

	countOutcome(t.Context(), "permanent") // no batch is counted in this context

	for outcome, want := range map[string]map[string]float64{
		"permanent":   {"Permanent": 1},
		"refused":     {"Permanent": 1},
		"mismatch":    {"Permanent": 1},
		"no_key":      {"Permanent": 1},
		"dead_letter": {"DeadLetters": 1},
		"late":        {"Late": 1},
		"failed":      {},
		"":            {},
	} {
		var out bytes.Buffer

		h := NewMetrics(&out, "Payments").Wrap(func(ctx context.Context, _ events.SQSEvent) (events.SQSEventResponse, error) {
			countOutcome(ctx, outcome)

			return events.SQSEventResponse{}, nil
		})
		if _, err := h(t.Context(), events.SQSEvent{Records: make([]events.SQSMessage, 1)}); err != nil {
			t.Fatal(err)
		}

		got := map[string]any{}
		if err := json.Unmarshal(out.Bytes(), &got); err != nil { // one line: a counted outcome keeps the warning away
			t.Fatalf("%q: %v\n%s", outcome, err, &out)
		}

		counted := map[string]float64{}

		for _, metric := range lineMetrics {
			if n, ok := got[metric.name].(float64); ok && n != 0 && metric.name != "Messages" {
				counted[metric.name] = n
			}
		}

		if diff := cmp.Diff(want, counted); diff != "" {
			t.Errorf("%q (-want +got):\n%s", outcome, diff)
		}
	}
}
