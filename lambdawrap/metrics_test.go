package lambdawrap_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

type directive struct {
	Timestamp         int64
	CloudWatchMetrics []struct {
		Namespace  string
		Dimensions [][]string
		Metrics    []struct{ Name, Unit string }
	}
}

// readLine checks that the metrics which the directive of a line names are numbers in the line, and the dimensions texts.
func readLine(t testing.TB, text string) (directive, map[string]any) {
	t.Helper()

	var (
		line map[string]any
		d    struct {
			AWS directive `json:"_aws"`
		}
	)

	if err := errors.Join(json.Unmarshal([]byte(text), &line), json.Unmarshal([]byte(text), &d)); err != nil {
		t.Fatalf("%s: %v", text, err)
	}

	for _, m := range d.AWS.CloudWatchMetrics[0].Metrics {
		if _, ok := line[m.Name].(float64); !ok || m.Unit != "Count" {
			t.Errorf("metric %s of unit %q is %v", m.Name, m.Unit, line[m.Name])
		}
	}

	for _, name := range slices.Concat(d.AWS.CloudWatchMetrics[0].Dimensions...) {
		if _, ok := line[name].(string); !ok {
			t.Errorf("dimension %s is %v", name, line[name])
		}
	}

	return d.AWS, line
}

// metered returns a harness whose Store is observed by these metrics, and what they write.
func metered(t testing.TB) (*harness, *lambdawrap.Metrics, *bytes.Buffer) {
	t.Helper()

	out := &bytes.Buffer{}
	metrics := lambdawrap.NewMetrics(out, "Payments")

	return newHarness(t, &idemddb.Options{Observe: metrics.Observe}), metrics, out
}

func TestMetricsCountEachBatchForItself(t *testing.T) {
	t.Parallel()

	var out bytes.Buffer

	metrics := lambdawrap.NewMetrics(&out, "Payments", map[string]string{"Service": "s", "Function": "f"}, map[string]string{"Service": "s"})
	another := lambdawrap.NewMetrics(&out, "Another") // its events count for the call all the same
	h := newHarness(t, &idemddb.Options{Observe: another.Observe})
	h.opts.Workers = 4
	function := lambdawrap.Measure(metrics, h.handle(failingWith(errors.New("bank closed"), "bad")))

	var running sync.WaitGroup
	for range 20 {
		running.Go(func() { function(t.Context(), batch("m1 one", "m2 bad")) })
	}

	running.Wait()

	lines, completions := strings.Split(strings.TrimSpace(out.String()), "\n"), 0.0
	h.equal("lines", len(lines), 20)

	for _, text := range lines {
		d, line := readLine(t, text)
		if diff := cmp.Diff([][]string{{"Function", "Service"}, {"Service"}}, d.CloudWatchMetrics[0].Dimensions); diff != "" || d.Timestamp == 0 {
			t.Errorf("timestamp %d, dimensions %s", d.Timestamp, diff)
		}

		if line["Messages"] != 2.0 || line["NotDone"] == 0.0 {
			t.Errorf("got %s", text)
		}

		if n, ok := line["Completed"].(float64); ok {
			completions += n
		}
	}

	h.equal("completions", completions, 1.0)
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestMetricsThatCannotBeWrittenCostNoMessage(t *testing.T) {
	h := parallelHarness(t)
	h.answered(lambdawrap.Measure(lambdawrap.NewMetrics(brokenWriter{}, "Payments"), h.handle(succeed)), batch("m1 a"))
}

func TestMetricsWithoutObserveWarnOnce(t *testing.T) {
	t.Parallel()

	var out bytes.Buffer

	h := newHarness(t, nil)
	h.opts.Envelope, h.opts.Key = plus, nil
	function := lambdawrap.Measure(lambdawrap.NewMetrics(&out, "Payments"), h.handle(failingWith(errors.New("bank closed"), "bad")))

	// The first three batches have no message that was worked on and done.
	want := []string{"metrics", "metrics", "metrics", "metrics", "WARN", "metrics"}

	for _, messages := range [][]string{nil, {"m1 bad"}, {"m2 none"}, {"m3 a"}, {"m4 b"}} {
		_, err := function(inLambda(t.Context(), "r-1"), batch(messages...))
		h.equal("error", err, nil)
	}

	var got []string

	for text := range strings.Lines(out.String()) {
		var line struct {
			AWS                                  any `json:"_aws"`
			Level, Message, Timestamp, RequestID string
		}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("%s: %v", text, err)
		}

		if line.AWS != nil {
			got = append(got, "metrics")

			continue
		}

		if got = append(got, line.Level); !strings.Contains(line.Message, "Observe") || line.Timestamp == "" || line.RequestID != "r-1" {
			t.Errorf("got %s", text)
		}
	}

	h.equal("lines", got, want)
}

func TestMetricsWithoutObserveWarnOfAnInvocationOfFuncThatIsDone(t *testing.T) {
	t.Parallel()

	var out bytes.Buffer

	answer := errBank
	f := newFunc(newHarness(t, nil))
	function := lambdawrap.Measure(lambdawrap.NewMetrics(&out, "Payments"), f.wrap(func(context.Context, order) (paid, error) { return paid{}, answer }))

	for _, answer = range []error{errBank, nil} {
		_, err := function(t.Context(), order{ID: "o-1"})
		f.fails(err, answer)
		f.equal("warns", strings.Contains(out.String(), "WARN"), answer == nil)
	}
}

func TestMetricsWithADisabledStoreDoNotWarn(t *testing.T) {
	t.Setenv("IDEMDDB_DISABLED", "1")

	h, metrics, out := metered(t)
	h.opts.Envelope = plus

	for _, message := range []string{"m1 a", "m2 none"} { // nothing is to be done for the second one, so there is no event of it
		h.answered(lambdawrap.Measure(metrics, h.handle(succeed)), batch(message))
		h.equal("warns", strings.Contains(out.String(), "WARN"), false)
	}
}

// A message that the hook did not take is in no queue of dead letters.
func TestMetricsCountTheDeadLettersThatWereTaken(t *testing.T) {
	t.Parallel()

	for want, failure := range map[float64]error{1: nil, 0: errBank} {
		h, metrics, out := metered(t)
		h.opts.DeadLetter = hookOf(failWith(failure))
		function := lambdawrap.Measure(metrics, h.handle(failingWith(lambdawrap.Permanent(errBank), "a")))

		_, err := function(h.Context(), batch("m1 a", "m2 good"))
		h.equal("error", err, nil)
		h.equal("dead letters", measured(t, out, "DeadLetters"), map[string]any{"DeadLetters": want})
	}
}

// The claim goes on without its traceparent, so nothing but this metric shows that Options.Trace must be mended.
func TestMetricsCountPanics(t *testing.T) {
	t.Parallel()

	var out bytes.Buffer

	metrics := lambdawrap.NewMetrics(&out, "Payments")
	h := newHarness(t, &idemddb.Options{Observe: metrics.Observe, Trace: func(context.Context) string { panic("no span") }})
	h.check(lambdawrap.Measure(metrics, h.handle(succeed)), batch("m1 a", "m2 b"), nil, []string{"m1", "m2"})

	h.equal("metrics", measured(t, &out, "Panicked", "Completed"), map[string]any{"Panicked": 2.0, "Completed": 2.0})
}

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

	h, metrics, out := metered(t)
	opts := &kinesisOptions{Workers: 1}
	function := lambdawrap.Measure(metrics, h.userRecords(failingWith(lambdawrap.Permanent(errBank), "bad"), opts))

	event := events.KinesisEvent{}
	for _, m := range batch("1 a a", "2 bad b", "3 b2 b", "4 bad c").Records {
		event.Records = append(event.Records, kinesisRecord(m))
	}

	h.reports(function, event, "2")
	h.equal("metrics", measured(t, out, "Messages", "NotDone", "Completed", "Permanent"),
		map[string]any{"Messages": 4.0, "NotDone": 3.0, "Completed": 1.0, "Permanent": 2.0})

	_, err := function(t.Context(), events.KinesisEvent{})
	h.equal("refused", err != nil, true)
	h.equal("metrics", measured(t, out, "Messages", "NotDone"), map[string]any{"Messages": 1.0, "NotDone": 1.0})
}

func TestMeasureCountsInvocationsOfFunc(t *testing.T) {
	t.Parallel()

	h, metrics, out := metered(t)
	f := newFunc(h)
	answer := errBank
	function := lambdawrap.Measure(metrics, f.wrap(func(context.Context, order) (paid, error) { return paid{}, answer }))

	for i, c := range []struct {
		id                                       string
		answer                                   error
		notDone, completed, replayed, permanents float64
	}{
		{"o-1", errBank, 1, 0, 0, 0},
		{"o-1", nil, 0, 1, 0, 0},
		{"o-1", nil, 0, 0, 1, 0},
		{"o-2", lambdawrap.Permanent(errBank), 1, 0, 0, 1},
		{"o-2", nil, 1, 0, 0, 1},
		{"o-3", &idemddb.FailedError{}, 1, 0, 0, 0}, // the error of a nested Do
		{"", nil, 1, 0, 0, 1},
		{"a\xff", nil, 1, 0, 0, 1},
	} {
		answer = c.answer
		_, err := function(t.Context(), order{ID: c.id})
		f.equal("error", err != nil, c.notDone == 1)
		f.equal(fmt.Sprint("metrics of ", i), measured(t, out, "Messages", "NotDone", "Completed", "Replayed", "Permanent"),
			map[string]any{"Messages": 1.0, "NotDone": c.notDone, "Completed": c.completed, "Replayed": c.replayed, "Permanent": c.permanents})
	}
}

// One invocation of Func is one message, also if its input is that of SQS. What happens after its line has no effect.
func TestMeasureCountsOneMessageOfFuncWhateverItsInputIs(t *testing.T) {
	t.Parallel()

	var late func() // reports an event of the first invocation

	h, metrics, out := metered(t)
	want := map[string]any{"Messages": 1.0, "NotDone": 1.0}

	_, err := lambdawrap.Measure(metrics, lambdawrap.Func(h.store, func(ctx context.Context, _ events.SQSEvent) (string, error) {
		late = func() { metrics.Observe(ctx, idemddb.Event{Kind: idemddb.KindCompleted}) }

		return "", errBank
	}, &lambdawrap.FuncOptions[events.SQSEvent]{Key: lambdawrap.RequestID[events.SQSEvent]}))(inLambda(t.Context(), "r-1"), batch("m1 a", "m2 b"))
	h.equal("error", errors.Is(err, errBank), true)
	h.equal("metrics", measured(t, out, "Messages", "NotDone"), want)
	late()
}

func TestMetricsWithARuleBrokenRunNoHandler(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		namespace  string
		dimensions map[string]string
		want       string
	}{
		"a namespace of AWS":                  {"AWS/Lambda", nil, `namespace "AWS/Lambda": must not begin with "AWS/"`},
		"a dimension named as a metric":       {"n", map[string]string{"Fenced": "x"}, `"Fenced"`},
		"a dimension named as a new metric":   {"n", map[string]string{"DeadLetters": "x"}, `"DeadLetters"`},
		"one dimension with two values":       {"n", map[string]string{"Service": "t"}, `dimension "Service": must have one value in all sets, has "t" and "s"`},
		"a dimension named as the request id": {"n", map[string]string{"requestId": "x"}, `"requestId"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			function := lambdawrap.Measure(lambdawrap.NewMetrics(&bytes.Buffer{}, c.namespace, map[string]string{"Service": "s"}, c.dimensions),
				func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
					t.Error("the handler ran")

					return events.SQSEventResponse{}, nil
				})
			_, err := function(t.Context(), batch("m1 a"))
			if err == nil || !strings.HasPrefix(err.Error(), "lambdawrap: NewMetrics: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error that names %s", err, c.want)
			}
		})
	}
}
