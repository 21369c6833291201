package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/idemddb/audit"
)

// setVariables sets the variables that the function reads, and empties the others. A test that sets the environment does not run
// in parallel.
func setVariables(t *testing.T, values map[string]string) {
	t.Helper()

	for _, name := range []string{"NAMESPACES", "PARTITION_KEY", "SORT_KEY", "TTL_ATTRIBUTE", "CLOCK_SKEW_MS", "LEASE_MS", "AWS_ENDPOINT_URL"} {
		t.Setenv(name, values[name])
	}

	t.Setenv("TABLE_NAME", "records")

	if table, isSet := values["TABLE_NAME"]; isSet {
		t.Setenv("TABLE_NAME", table)
	}
}

func TestTheEnvironmentSaysHowTheWorkersAreSetUp(t *testing.T) {
	for name, c := range map[string]struct {
		values map[string]string
		want   audit.Options
	}{
		"nothing": {nil, audit.Options{Resolution: time.Second}},
		"all": {
			map[string]string{
				"NAMESPACES": "api, payments", "PARTITION_KEY": "id", "SORT_KEY": "kind", "TTL_ATTRIBUTE": "ttl", "CLOCK_SKEW_MS": "1500", "LEASE_MS": "30000",
			},
			audit.Options{
				Namespaces: []string{"api", "payments"}, PartitionKey: "id", SortKey: "kind", TTLAttribute: "ttl",
				ClockSkew: 1500 * time.Millisecond, Lease: 30 * time.Second, Resolution: time.Second,
			},
		},
		"LocalStack":               {map[string]string{"AWS_ENDPOINT_URL": "http://127.0.0.1:4566"}, audit.Options{Resolution: time.Minute}},
		"an endpoint in one's VPC": {map[string]string{"AWS_ENDPOINT_URL": "https://vpce-1.dynamodb.eu-west-1.vpce.amazonaws.com"}, audit.Options{Resolution: time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			setVariables(t, c.values)

			got, err := readOptions()
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}

			if handler, err := wire(); handler == nil || err != nil {
				t.Errorf("got %v, want a handler", err)
			}
		})
	}
}

func TestAWrongVariableIsNamedWithWhatToDo(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"TABLE_NAME", "", "audit: TABLE_NAME: must name the table"},
		{"NAMESPACES", "api,,payments", `audit: NAMESPACES: must be the namespaces of the workers' stores with commas between them, without '#', is "api,,payments"`},
		{"NAMESPACES", "api#", "audit: NAMESPACES: "},
		{"CLOCK_SKEW_MS", "1s", `audit: CLOCK_SKEW_MS: must be a whole number of milliseconds, 1 or more, or empty, is "1s"`},
		{"CLOCK_SKEW_MS", "0", "audit: CLOCK_SKEW_MS: "},
		{"CLOCK_SKEW_MS", "-1", "audit: CLOCK_SKEW_MS: "},
		{"LEASE_MS", "30.5", "audit: LEASE_MS: "},
		{"SORT_KEY", "pk", "audit: PARTITION_KEY, SORT_KEY and TTL_ATTRIBUTE: must be the names that the workers' Options have: "},
		{"TTL_ATTRIBUTE", "lease", "audit: PARTITION_KEY, SORT_KEY and TTL_ATTRIBUTE: "},
	} {
		t.Run(c.name+"="+c.value, func(t *testing.T) {
			setVariables(t, map[string]string{c.name: c.value})

			if handler, err := wire(); handler != nil || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestEveryWrongVariableIsNamedAtOnce(t *testing.T) {
	setVariables(t, map[string]string{"TABLE_NAME": "", "NAMESPACES": "#", "CLOCK_SKEW_MS": "x", "LEASE_MS": "y", "SORT_KEY": "pk"})

	_, err := wire()
	for _, name := range []string{"TABLE_NAME", "NAMESPACES", "CLOCK_SKEW_MS", "LEASE_MS", "SORT_KEY"} {
		if err == nil || !strings.Contains(err.Error(), "audit: "+name) && name != "SORT_KEY" || !strings.Contains(err.Error(), "SORT_KEY") {
			t.Errorf("got %v, want %s in it", err, name)
		}
	}
}
