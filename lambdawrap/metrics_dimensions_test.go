package lambdawrap_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

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

			function := lambdawrap.NewMetrics(&bytes.Buffer{}, c.namespace, map[string]string{"Service": "s"}, c.dimensions).Wrap(
				func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
					t.Error("the handler ran")

					return events.SQSEventResponse{}, nil
				})
			if _, err := function(t.Context(), batch("m1 a")); err == nil || !strings.Contains(err.Error(), c.want) {
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

			function := lambdawrap.NewMetrics(&out, c.namespace, c.dimensions).Wrap(nothingFails)
			if _, err := function(t.Context(), events.SQSEvent{}); err != nil {
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
