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
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
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
		"no namespace":                        {"", nil, "namespace"},
		"a long namespace":                    {strings.Repeat("n", 256), nil, "namespace"},
		"a namespace of AWS":                  {"AWS/Lambda", nil, `namespace "AWS/Lambda": must not begin with "AWS/"`},
		"a namespace that begins with colon":  {":n", nil, `namespace ":n": must not begin with a colon`},
		"a blank namespace":                   {"  ", nil, "blank"},
		"a namespace that is not ASCII":       {"Zahlungen ä", nil, "ASCII"},
		"a namespace with a control":          {"a\x7f", nil, "ASCII"},
		"a namespace with another character":  {"Payments!", nil, "namespace"},
		"too many dimensions":                 {"n", many, "dimensions"},
		"a dimension without a value":         {"n", map[string]string{"Function": ""}, `"Function"`},
		"a dimension without a name":          {"n", map[string]string{"": "v"}, `dimension "": its name must have 1 to 255 bytes`},
		"a dimension with a long name":        {"n", map[string]string{strings.Repeat("x", 256): "v"}, "1 to 255 bytes, has 256"},
		"a dimension with a long value":       {"n", map[string]string{"Function": strings.Repeat("v", 1025)}, "1 to 1024 bytes, has 1025"},
		"a name that begins with a colon":     {"n", map[string]string{":a": "v"}, "colon"},
		"a blank name":                        {"n", map[string]string{" ": "v"}, "blank"},
		"a blank value":                       {"n", map[string]string{"Function": "  "}, "blank"},
		"a name that is not ASCII":            {"n", map[string]string{"Straße": "v"}, "ASCII"},
		"a value that is not ASCII":           {"n", map[string]string{"Function": "ü"}, "ASCII"},
		"a name that is not UTF-8":            {"n", map[string]string{"a\xff": "v"}, "ASCII"},
		"a value with a line end":             {"n", map[string]string{"Function": "a\nb"}, "control"},
		"a dimension named as a metric":       {"n", map[string]string{"Fenced": "x"}, `"Fenced"`},
		"a dimension named as a new metric":   {"n", map[string]string{"DeadLetters": "x"}, `"DeadLetters"`},
		"one dimension with two values":       {"n", map[string]string{"Service": "t"}, `dimension "Service": must have one value in all sets, has "t" and "s"`},
		"a dimension named as the directive":  {"n", map[string]string{"_aws": "x"}, `"_aws"`},
		"a dimension named as the request id": {"n", map[string]string{"requestId": "x"}, `"requestId"`},
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

func TestMetricsTakeWhatCloudWatchTakes(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		namespace  string
		dimensions map[string]string
	}{
		"the longest texts":              {strings.Repeat("n", 255), map[string]string{strings.Repeat("d", 255): strings.Repeat("v", 1024)}},
		"all marks of a namespace":       {"a.b_c-d/e#f:g 9", nil},
		"a namespace that has AWS in it": {"Shop/AWS/Lambda", nil},
		"marks in dimensions":            {"n", map[string]string{"a: b!": ":v ~"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var out bytes.Buffer

			h := lambdawrap.NewMetrics(&out, c.namespace, c.dimensions).Wrap(nothingFails)
			if _, err := h(t.Context(), events.SQSEvent{}); err != nil {
				t.Fatal(err)
			}

			if d, _ := readLine(t, out.String()); d.CloudWatchMetrics[0].Namespace != c.namespace {
				t.Errorf("got %s", &out)
			}
		})
	}
}

func nothingFails(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	return events.SQSEventResponse{}, nil
}

func TestMetricsHaveTheRequestIDAsAProperty(t *testing.T) {
	t.Parallel()

	var out bytes.Buffer

	ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "r-1"})
	if _, err := lambdawrap.NewMetrics(&out, "Payments").Wrap(nothingFails)(ctx, events.SQSEvent{}); err != nil {
		t.Fatal(err)
	}

	d, line := readLine(t, out.String())
	if line["requestId"] != "r-1" || !cmp.Equal(d.CloudWatchMetrics[0].Dimensions, [][]string{{}}) {
		t.Errorf("got %s", &out)
	}
}

func TestMetricsWithoutObserveWarnOnce(t *testing.T) {
	t.Parallel()

	var out bytes.Buffer

	l := newLab(t, nil)
	h := lambdawrap.NewMetrics(&out, "Payments").Wrap(l.handle(func(_ context.Context, m events.SQSMessage) error {
		if m.Body == "bad" {
			return errors.New("bank closed")
		}

		return nil
	}))

	want := []string{"metrics", "metrics", "metrics", "WARN", "metrics"} // an empty batch and one that failed prove nothing

	for _, messages := range [][]string{nil, {"m1 bad"}, {"m2 a"}, {"m3 b"}} {
		ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "r-1"})
		if _, err := h(ctx, batch(messages...)); err != nil {
			t.Fatal(err)
		}
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

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestMetricsWithADisabledStoreDoNotWarn(t *testing.T) {
	t.Setenv("IDEMDDB_DISABLED", "1")

	var out bytes.Buffer

	metrics := lambdawrap.NewMetrics(&out, "Payments")
	l := newLab(t, &idemddb.Options{Observe: metrics.Observe})

	if _, err := metrics.Wrap(l.handle(succeed))(t.Context(), batch("m1 a")); err != nil {
		t.Fatal(err)
	}

	if strings.Contains(out.String(), "WARN") {
		t.Errorf("got %s", &out)
	}
}

func TestMetricsOfEventsThatNeedAPerson(t *testing.T) {
	t.Parallel()

	var out bytes.Buffer

	metrics := lambdawrap.NewMetrics(&out, "Payments")
	l := newLab(t, &idemddb.Options{Observe: metrics.Observe})
	h := metrics.Wrap(l.handle(func(context.Context, events.SQSMessage) error {
		return lambdawrap.Permanent(errors.New("account closed"))
	}))

	line := func(messages ...string) map[string]any {
		out.Reset()

		if _, err := h(t.Context(), batch(messages...)); err != nil {
			t.Fatal(err)
		}

		_, read := readLine(t, out.String())

		return read
	}

	if got := line("m1 a"); got["Failed"] != 1.0 || got["Unanswered"] != 0.0 {
		t.Errorf("a message that failed for good: got %v", got)
	}

	l.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault { return idemddbtest.AccessDenied })

	if got := line("m2 b", "m3 c"); got["Unanswered"] != 2.0 || got["Failures"] != 2.0 || got["Ungrouped"] != 1.0 {
		t.Errorf("a table that denies access: got %v", got)
	}
}
