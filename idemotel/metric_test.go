package idemotel_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/idemddb/go-idemddb/idemddb"
)

func TestMetricsCountMessagesByOutcomeAndEventsByKind(t *testing.T) {
	t.Parallel()

	s := newStation(t)
	store := s.open(idemddb.Options{})

	s.invoke(store, succeed, message("p-1"), message("p-2"))
	s.invoke(store, succeed, message("p-1"))
	s.invoke(store, fail, message("p-3"))

	for _, c := range []struct {
		metric, by string
		want       map[string]int
	}{
		{"messaging.process.duration", "idemddb.outcome", map[string]int{"completed": 2, "replayed": 1, "released": 1}},
		{"messaging.process.duration", "error.type", map[string]int{"": 3, "released": 1}},
		{"messaging.process.duration", "messaging.destination.name", map[string]int{"payments": 4}},
		{"idemddb.events", "idemddb.kind", map[string]int{"claimed": 3, "completed": 2, "replayed": 1, "released": 1}},
	} {
		if diff := cmp.Diff(c.want, s.points(c.metric, attribute.Key(c.by))); diff != "" {
			t.Errorf("%s by %s (-want +got):\n%s", c.metric, c.by, diff)
		}
	}
}

// collected returns all metrics.
func (s *station) collected() metricdata.ResourceMetrics {
	s.Helper()

	var all metricdata.ResourceMetrics
	if err := s.reader.Collect(s.Context(), &all); err != nil {
		s.Fatal(err)
	}

	return all
}

// dump returns a value with all that it holds.
func dump(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%+v", v)
	}

	return string(text) + fmt.Sprintf("%+v", v)
}
