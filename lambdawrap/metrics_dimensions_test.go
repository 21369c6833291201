package lambdawrap_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

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
			if _, err := function(t.Context(), batch("m1 a")); err == nil || !strings.HasPrefix(err.Error(), "lambdawrap: NewMetrics: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error that names %s", err, c.want)
			}
		})
	}
}

func nothingFails(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	return events.SQSEventResponse{}, nil
}
