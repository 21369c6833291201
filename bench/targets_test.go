package bench

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// The units that targets name. A message's figures are averages.
const (
	requests    = "requests/msg"
	writeUnits  = "WU/msg"
	connections = "conns/op"
)

// limits are the least and the most that a unit may be.
type limits struct{ least, most float64 }

func atMost(most float64) limits   { return limits{0, most} }
func exactly(count float64) limits { return limits{count, count} }

// targets holds, by workload and variant, what does not depend on the machine's speed. A benchmark fails if it misses its target.
// The counts of the handwritten variants are known, so they test the measurement itself.
var targets = map[string]map[string]limits{
	"unique/handwritten":            {requests: exactly(2), writeUnits: exactly(2)},
	"unique/handwritten-lean":       {requests: exactly(2), writeUnits: exactly(2)},
	"unique/handwritten-httpclient": {requests: exactly(2), writeUnits: exactly(2)},
	"unique/library":                {requests: atMost(0.3), writeUnits: exactly(2)},
	"unique/library-single":         {requests: exactly(2), writeUnits: exactly(2)},
	"resent/handwritten":            {requests: exactly(1), writeUnits: exactly(1)},
	"resent/library":                {requests: atMost(0.3), writeUnits: limits{1.8, 2}}, // 1 for a claim that a pause of the process sends alone
	"resent/library-single":         {requests: exactly(1), writeUnits: exactly(1)},
	"resent/library-cache":          {requests: exactly(0), writeUnits: exactly(0)},
	"redelivered/handwritten":       {requests: exactly(1), writeUnits: exactly(1)},
	"redelivered/library":           {requests: atMost(0.2), writeUnits: exactly(1)},
	"redelivered/library-single":    {requests: exactly(1), writeUnits: exactly(1)},
	"mixed/handwritten":             {requests: exactly(1.9), writeUnits: exactly(1.9)},
	"mixed/library-single":          {requests: exactly(1.9), writeUnits: exactly(1.9)},
	"unique100/library":             {connections: atMost(10)},
}

// target is nil where the counts depend on time: each handler that takes some, and each latency but DynamoDB's own, changes which
// writes can share a request.
func (r *row) target() map[string]limits {
	if r.latency != dynamoDBLatency || r.handler > 0 {
		return nil
	}

	return targets[r.workload.name+"/"+r.variant.name]
}

// misses describes each unit that is outside its limits. A unit that was not measured is a miss.
func misses(limits map[string]limits, measured map[string]float64) []string {
	const roundingError = 1e-9

	var found []string

	for unit, limit := range limits {
		value, ok := measured[unit]
		if !ok {
			value = math.NaN()
		}

		if within := value >= limit.least-roundingError && value <= limit.most+roundingError; !within {
			found = append(found, fmt.Sprintf("%v %s, want from %v to %v", value, unit, limit.least, limit.most))
		}
	}

	slices.Sort(found)

	return found
}

func TestMissesNamesEachUnitOutsideItsLimits(t *testing.T) {
	t.Parallel()

	target := map[string]limits{requests: atMost(0.3), writeUnits: exactly(2)}

	for name, c := range map[string]struct {
		measured map[string]float64
		want     string
	}{
		"everything at its limit":      {map[string]float64{requests: 0.3, writeUnits: 2}, ""},
		"fewer requests than allowed":  {map[string]float64{requests: 0.2, writeUnits: 2}, ""},
		"a unit without a target":      {map[string]float64{requests: 0.2, writeUnits: 2, connections: 1000}, ""},
		"too many requests":            {map[string]float64{requests: 0.31, writeUnits: 2}, "0.31 requests/msg, want from 0 to 0.3"},
		"too few write units":          {map[string]float64{requests: 0.2, writeUnits: 1.9}, "1.9 WU/msg, want from 2 to 2"},
		"a unit that was not measured": {map[string]float64{requests: 0.2}, "NaN WU/msg, want from 2 to 2"},
		"two misses": {
			map[string]float64{requests: 2, writeUnits: 4}, "2 requests/msg, want from 0 to 0.3; 4 WU/msg, want from 2 to 2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if got := strings.Join(misses(target, c.measured), "; "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestEachTargetNamesABenchmark(t *testing.T) {
	t.Parallel()

	measured := map[string]bool{}
	for _, r := range append(batchRows(), connectionRows()...) {
		if r.target() != nil {
			measured[r.workload.name+"/"+r.variant.name] = true
		}
	}

	for name := range targets {
		if !measured[name] {
			t.Errorf("no benchmark has the target of %s", name)
		}
	}
}
