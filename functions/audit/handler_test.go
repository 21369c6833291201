package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
	"github.com/idemddb/go-idemddb/internal/record"
)

// Workers, senders, operators and Time to Live make a legal change of each kind. The function finds nothing wrong, and counts the
// takeovers.
func TestLegalChangesOfEachKindAreCountedAndNotLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStream(t, audit.Options{Namespaces: []string{"payments"}})
		s.liveThroughEverything()

		kinds := map[audit.Kind]int{}
		for _, c := range s.changes {
			kinds[audit.Judge(c, audit.Options{}).Kind]++
		}

		for _, kind := range audit.Kinds() {
			if kinds[kind] == 0 && kind != audit.NoChange { // a stream has none
				t.Errorf("no change is of the kind %q: %v", kind, kinds)
			}
		}

		metrics, lines := s.invoke()
		want := map[string]int{judged: len(s.changes) - 1, otherItems: 1, takeoverExpired: 3, takeoverReleased: 2}

		if diff := cmp.Diff(want, metrics); diff != "" || len(lines) > 0 {
			t.Errorf("the lines are %v, the metrics (-want +got):\n%s", lines, diff)
		}
	})
}

// Each fault is planted in a table with one payment that is right. The operator reads the key of the other one, and what is wrong
// with it.
func TestEachFaultIsCountedAndLogged(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		plant   func(s *stream)
		options audit.Options
		want    map[string]int // of the metrics
		rule    audit.Rule     // one of those that are logged
		about   string         // its attribute
	}{
		"another program writes records": {
			plant: func(s *stream) {
				s.put(map[string]types.AttributeValue{"pk": text("payments#p-9"), "status": text("DONE"), "expiration": number("1767322800")})
			},
			options: audit.Options{Namespaces: []string{"payments"}},
			want:    map[string]int{judged: 3, violations: 1}, rule: audit.RuleState, about: "own",
		},
		"a worker's clock is 5 s ahead": {
			plant: func(s *stream) { s.claimBy(5*time.Second, "p-9") },
			want:  map[string]int{judged: 3, violations: 1}, rule: audit.RuleAhead, about: "born",
		},
		"a worker's clock is 5 s ahead, and ClockSkew allows it": {
			plant:   func(s *stream) { s.claimBy(5*time.Second, "p-9") },
			options: audit.Options{ClockSkew: 5 * time.Second},
			want:    map[string]int{judged: 3},
		},
		"an old item is written back over a newer one": {
			plant: func(s *stream) {
				s.claim(s.store, "p-9")
				old := s.item("p-9")
				<-time.After(time.Minute)
				s.complete("p-9")
				s.put(old)
			},
			want: map[string]int{judged: 6, violations: 1, late: 1, takeoverExpired: 1}, rule: audit.RuleEnd, about: "exp",
		},
		"Time to Live is on for another attribute": {
			plant: func(s *stream) {
				s.complete("p-9")
				other := s.item("p-9")
				other["ttl"] = number(fmt.Sprint(time.Now().Add(time.Minute).Unix()))
				s.put(other)
				<-time.After(time.Hour)
				s.expire("ttl")
			},
			want: map[string]int{judged: 6, violations: 1}, rule: audit.RuleTimeToLive, about: "exp",
		},
		"a lease that is not that of the others": {
			plant:   func(s *stream) { s.claim(s.worker(&idemddb.Options{Lease: time.Minute}), "p-9") },
			options: audit.Options{Lease: 30 * time.Second},
			want:    map[string]int{judged: 3, violations: 1}, rule: audit.RuleAhead, about: "lease",
		},
		"a request that arrives late, which is legal": {
			plant: func(s *stream) { s.claimBy(-time.Minute, "p-9") },
			want:  map[string]int{judged: 3, late: 1},
		},
		"a record of another namespace, which is no record": {
			plant:   func(s *stream) { s.put(map[string]types.AttributeValue{"pk": text("refunds#p-9")}) },
			options: audit.Options{Namespaces: []string{"payments"}},
			want:    map[string]int{judged: 2, otherItems: 1},
		},
		"a takeover with a violation, which is only the nearest kind": {
			plant: func(s *stream) {
				s.claim(s.store, "p-9")
				<-time.After(time.Minute)
				s.claimBy(5*time.Second, "p-9")
			},
			options: audit.Options{Lease: 30 * time.Second},
			want:    map[string]int{judged: 4, violations: 1}, rule: audit.RuleAhead, about: "lease",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStream(t, c.options)
				s.complete("p-8")
				c.plant(s)

				metrics, lines := s.invoke()
				if diff := cmp.Diff(c.want, metrics); diff != "" {
					t.Errorf("metrics (-want +got):\n%s", diff)
				}

				found := c.want[violations] == 0

				for _, line := range lines {
					found = found || line["rule"] == string(c.rule) && line["attribute"] == c.about

					if line["level"] != "ERROR" || line["key"] != record.KeyHash("p-9") || line["text"] == "" || strings.Contains(fmt.Sprint(line), "p-9") {
						t.Errorf("the line is %v, want the key's hash and a sentence, and not the key", line)
					}
				}

				if !found || (len(lines) > 0) != (c.want[violations] > 0) {
					t.Errorf("no line is about %q of %q: %v", c.rule, c.about, lines)
				}
			})
		})
	}
}

// claimBy claims a key by a clock that is ahead.
func (s *stream) claimBy(ahead time.Duration, key string) {
	s.Helper()
	s.claim(s.worker(&idemddb.Options{Now: func() time.Time { return time.Now().Add(ahead) }}), key)
}

// A violation that is not seen because another one came before it would be worse than a long log, so the rest is counted.
func TestAnInvocationWritesAFewLinesAndCountsTheRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for changes, want := range map[int]struct{ lines, rest int }{20: {20, 0}, 21: {21, 1}, 50: {21, 30}} {
			s := newStream(t, audit.Options{})
			ahead := s.worker(&idemddb.Options{Lease: time.Hour})

			for i := range changes {
				s.claim(ahead, fmt.Sprint("p-", i))
				delete(s.changes[i].After, "took") // each of these changes breaks one rule
			}

			metrics, lines := s.invoke()
			rest, _ := lines[len(lines)-1]["rest"].(float64)

			if metrics[violations] != changes || len(lines) != want.lines || int(rest) != want.rest {
				t.Errorf("%d changes: %d violations, %d lines, the last one counts %v: want %+v", changes, metrics[violations], len(lines), rest, want)
			}
		}
	})
}

// CloudWatch makes metrics of the line, by the name of the function. The id of the request leads from a metric to the lines
// beside it.
func TestAnInvocationWritesOneLineOfMetrics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStream(t, audit.Options{})
		s.complete("p-8")

		event, err := json.Marshal(events.DynamoDBEvent{Records: []events.DynamoDBEventRecord{audited.StreamRecord(s.changes[0])}})
		s.must(err)
		s.must(s.handler.handle(lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "r-1"}), event))

		want := `{"Function":"audit","Judged":1,"Late":0,"OtherItems":0,"TakeoverExpired":0,"TakeoverReleased":0,"Unreadable":0,"Violations":0,` +
			`"_aws":{"Timestamp":946684800000,"CloudWatchMetrics":[{"Namespace":"Payments","Dimensions":[["Function"]],"Metrics":[` +
			`{"Name":"Judged","Unit":"Count"},{"Name":"Violations","Unit":"Count"},{"Name":"Late","Unit":"Count"},{"Name":"TakeoverExpired","Unit":"Count"},` +
			`{"Name":"TakeoverReleased","Unit":"Count"},{"Name":"OtherItems","Unit":"Count"},{"Name":"Unreadable","Unit":"Count"}]}]},"requestId":"r-1"}` + "\n"
		if diff := cmp.Diff(want, s.measured.String()); diff != "" {
			t.Errorf("line (-want +got):\n%s", diff)
		}
	})
}

// DynamoDB itself deletes a record past its end, and nobody else does.
func TestOnlyTimeToLiveDeletesARecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStream(t, audit.Options{})
		s.complete("p-9")
		<-time.After(10 * 24 * time.Hour)
		s.expire("exp")

		deletion := audited.StreamRecord(s.changes[2])
		for name, c := range map[string]struct {
			who  *events.DynamoDBUserIdentity
			want map[string]int
		}{
			"Time to Live":     {&events.DynamoDBUserIdentity{Type: "Service", PrincipalID: "dynamodb.amazonaws.com"}, map[string]int{judged: 1}},
			"a person":         {nil, map[string]int{judged: 1, violations: 1}},
			"another service":  {&events.DynamoDBUserIdentity{Type: "Service", PrincipalID: "x.amazonaws.com"}, map[string]int{judged: 1, violations: 1}},
			"another identity": {&events.DynamoDBUserIdentity{Type: "User", PrincipalID: "dynamodb.amazonaws.com"}, map[string]int{judged: 1, violations: 1}},
		} {
			deletion.UserIdentity = c.who

			if got, _ := s.send(map[string]any{"Records": []any{deletion}}); !maps.Equal(got, c.want) {
				t.Errorf("%s: got %v, want %v", name, got, c.want)
			}
		}
	})
}
