package lambdawrap_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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

// readLine checks what CloudWatch demands of a line: the directive's names are members of it, and numbers.
func readLine(t *testing.T, text string) (directive, map[string]any) {
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

func TestMetricsCountEachBatchForItself(t *testing.T) {
	t.Parallel()

	var out bytes.Buffer

	metrics := lambdawrap.NewMetrics(&out, "Payments", map[string]string{"Service": "s", "Function": "f"}, map[string]string{"Service": "s"})
	l := newLab(t, &idemddb.Options{Observe: metrics.Observe})
	l.opts.Workers = 4
	h := metrics.Wrap(l.handle(func(_ context.Context, m events.SQSMessage) error {
		if m.Body == "bad" {
			return errors.New("bank closed")
		}

		return nil
	}))

	var running sync.WaitGroup
	for range 20 {
		running.Go(func() { h(t.Context(), batch("m1 one", "m2 bad")) })
	}

	running.Wait()

	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 20 {
		t.Fatalf("%d lines, want 20", len(lines))
	}

	completions := 0.0

	for _, text := range lines {
		d, line := readLine(t, text)
		if diff := cmp.Diff([][]string{{"Function", "Service"}, {"Service"}}, d.CloudWatchMetrics[0].Dimensions); diff != "" || d.Timestamp == 0 {
			t.Errorf("timestamp %d, dimensions %s", d.Timestamp, diff)
		}

		if line["Messages"] != 2.0 || line["Failures"] == 0.0 {
			t.Errorf("got %s", text)
		}

		if n, ok := line["Completions"].(float64); ok {
			completions += n
		}
	}

	if completions != 1 {
		t.Errorf("%v completions, want 1", completions)
	}
}

func TestMetricsOfABatchThatComesBackAreFailures(t *testing.T) {
	t.Parallel()

	var out bytes.Buffer

	broken := errors.New("broken")
	h := lambdawrap.NewMetrics(&out, "Payments").Wrap(func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
		return events.SQSEventResponse{}, broken
	})

	if _, err := h(t.Context(), batch("m1 a", "m2 b")); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}

	if _, line := readLine(t, out.String()); line["Failures"] != 2.0 {
		t.Errorf("got %s", &out)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestMetricsThatCannotBeWrittenCostNoMessage(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	h := lambdawrap.NewMetrics(brokenWriter{}, "Payments").Wrap(l.handle(succeed))

	if response, err := h(t.Context(), batch("m1 a")); err != nil || len(response.BatchItemFailures) != 0 {
		t.Errorf("got %v, %v", response, err)
	}
}

func TestMetricsRefuseWhatCloudWatchWould(t *testing.T) {
	t.Parallel()

	many := map[string]string{}
	for i := range 31 {
		many[strings.Repeat("x", i+1)] = "v"
	}

	for name, c := range map[string]struct {
		namespace  string
		dimensions map[string]string
		want       string
	}{
		"no namespace":                   {"", nil, "namespace"},
		"a long namespace":               {strings.Repeat("n", 256), nil, "namespace"},
		"too many dimensions":            {"n", many, "dimensions"},
		"a dimension without a value":    {"n", map[string]string{"Function": ""}, `"Function"`},
		"a dimension named as a metric":  {"n", map[string]string{"Fenced": "x"}, `"Fenced"`},
		"one dimension with two values":  {"n", map[string]string{"Service": "t"}, `"Service"`},
		"a dimension named as directive": {"n", map[string]string{"_aws": "x"}, `"_aws"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			h := lambdawrap.NewMetrics(&bytes.Buffer{}, c.namespace, map[string]string{"Service": "s"}, c.dimensions).Wrap(
				func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
					t.Error("the handler ran")

					return events.SQSEventResponse{}, nil
				})
			if _, err := h(t.Context(), batch("m1 a")); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error that names %s", err, c.want)
			}
		})
	}
}
