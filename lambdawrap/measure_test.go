package lambdawrap_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// measured is what a line has of these metrics.
func measured(t *testing.T, out *bytes.Buffer, names ...string) map[string]any {
	t.Helper()

	_, line := readLine(t, out.String())
	out.Reset()

	got := map[string]any{}
	for _, name := range names {
		got[name] = line[name]
	}

	return got
}

func TestMeasureCountsAllRecordsOfAStreamThatFailed(t *testing.T) {
	t.Parallel()

	var out bytes.Buffer

	metrics := lambdawrap.NewMetrics(&out, "Payments")
	h := newHarness(t, &idemddb.Options{Observe: metrics.Observe})
	function := lambdawrap.Measure(metrics, lambdawrap.Kinesis(h.store, func(_ context.Context, r events.KinesisEventRecord) error {
		if string(r.Kinesis.Data) == "bad" {
			return lambdawrap.Permanent(errBank)
		}

		return nil
	}, &lambdawrap.StreamOptions[events.KinesisEventRecord]{Logger: h.opts.Logger}))

	event := events.KinesisEvent{}
	for _, m := range batch("1 a a", "2 bad b", "3 b2 b", "4 bad c").Records {
		event.Records = append(event.Records, kinesisRecord(m))
	}

	response, err := function(t.Context(), event)
	h.equal("error", err, nil)
	h.equal("failed", response.BatchItemFailures, []events.KinesisBatchItemFailure{{ItemIdentifier: "2"}})
	h.equal("metrics", measured(t, &out, "Messages", "NotDone", "Completed", "Permanent"),
		map[string]any{"Messages": 4.0, "NotDone": 3.0, "Completed": 1.0, "Permanent": 2.0})

	_, err = function(t.Context(), events.KinesisEvent{})
	h.equal("refused", err != nil, true)
	h.equal("metrics", measured(t, &out, "Messages", "NotDone"), map[string]any{"Messages": 1.0, "NotDone": 1.0})
}

func TestMeasureCountsInvocationsOfFunc(t *testing.T) {
	t.Parallel()

	var out bytes.Buffer

	metrics := lambdawrap.NewMetrics(&out, "Payments")
	f := newFunc(newHarness(t, &idemddb.Options{Observe: metrics.Observe}))
	answer := errBank
	function := lambdawrap.Measure(metrics, f.wrap(func(ctx context.Context, o order) (paid, error) {
		p, _ := settleOrder(ctx, o)

		return p, answer
	}))

	for _, c := range []struct {
		id     string
		answer error
		want   map[string]any
	}{
		{"o-1", errBank, map[string]any{"Messages": 1.0, "NotDone": 1.0, "Completed": 0.0, "Replayed": 0.0, "Permanent": 0.0}},
		{"o-1", nil, map[string]any{"Messages": 1.0, "NotDone": 0.0, "Completed": 1.0, "Replayed": 0.0, "Permanent": 0.0}},
		{"o-1", nil, map[string]any{"Messages": 1.0, "NotDone": 0.0, "Completed": 0.0, "Replayed": 1.0, "Permanent": 0.0}},
		{"o-2", lambdawrap.Permanent(errBank), map[string]any{"Messages": 1.0, "NotDone": 1.0, "Completed": 0.0, "Replayed": 0.0, "Permanent": 1.0}},
		{"o-2", nil, map[string]any{"Messages": 1.0, "NotDone": 1.0, "Completed": 0.0, "Replayed": 0.0, "Permanent": 1.0}},
		// The error of a nested Do.
		{"o-3", &idemddb.FailedError{}, map[string]any{"Messages": 1.0, "NotDone": 1.0, "Completed": 0.0, "Replayed": 0.0, "Permanent": 0.0}},
		{"", nil, map[string]any{"Messages": 1.0, "NotDone": 1.0, "Completed": 0.0, "Replayed": 0.0, "Permanent": 1.0}},
	} {
		answer = c.answer
		_, err := function(t.Context(), order{ID: c.id})
		f.equal("metrics", measured(t, &out, "Messages", "NotDone", "Completed", "Replayed", "Permanent"), c.want)
		f.equal("error", err != nil, c.want["NotDone"] == 1.0)
	}
}

// Dimensions that CloudWatch does not take fail each invocation before its work begins.
func TestMeasureRefusesWhatCloudWatchRefuses(t *testing.T) {
	t.Parallel()

	h := newHarness(t, nil)
	_, err := lambdawrap.Measure(lambdawrap.NewMetrics(&bytes.Buffer{}, ""), func(context.Context, int) (int, error) {
		return 0, errors.New("it ran")
	})(t.Context(), 0)

	h.equal("refused", err != nil && err.Error() != "it ran", true)
}
