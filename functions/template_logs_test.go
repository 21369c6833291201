package functions_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/internal/record"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// logged is a line of the program's log, all but its metrics.
type logged struct {
	Timestamp time.Time `json:"timestamp"` // RFC 3339, or it is an error
	Level     string    `json:"level"`
	Message   string    `json:"message"`
	RequestID string    `json:"requestId"`
	MessageID string    `json:"messageId"`
	Outcome   string    `json:"outcome"`
	Error     string    `json:"error"`
	Key       string    `json:"key"`
	Holder    string    `json:"holder"`
}

// measured is a line of metrics in CloudWatch's embedded metric format.
type measured struct {
	AWS struct {
		Timestamp         int64
		CloudWatchMetrics []struct {
			Namespace  string
			Dimensions [][]string
			Metrics    []struct{ Name, Unit string }
		}
	} `json:"_aws"`

	values map[string]any // of metrics, float64, and of dimensions, string
}

// read separates the two kinds of lines.
func (s story) read(t *testing.T) (lines []logged, metrics []measured) {
	t.Helper()

	for line := range strings.Lines(s.printed) {
		var (
			metric measured
			other  logged
			into   any = &other
		)

		if err := json.Unmarshal([]byte(line), &metric.values); err != nil {
			t.Fatalf("not a line of JSON: %v\n%s", err, line)
		}

		if metric.values["_aws"] != nil {
			into = &metric
		}

		if err := json.Unmarshal([]byte(line), into); err != nil {
			t.Fatalf("%v\n%s", err, line)
		}

		if into == &metric {
			metrics = append(metrics, metric)
		} else {
			lines = append(lines, other)
		}
	}

	return lines, metrics
}

func checkLog(t *testing.T, paid story) {
	t.Helper()

	keyOf, err := lambdawrap.Body("paymentId")
	if err != nil {
		t.Fatal(err)
	}

	lines, _ := paid.read(t)

	var got []string

	for _, line := range lines {
		got = append(got, strings.Join([]string{line.RequestID, line.MessageID, line.Level, line.Outcome, line.Holder}, " "))

		if age := time.Since(line.Timestamp); age < 0 || age > time.Hour || line.Message == "" {
			t.Errorf("timestamp %v, message %q: want the present time, and no empty text", line.Timestamp, line.Message)
		}

		if line.MessageID == "" { // a line of the SDK
			continue
		}

		if line.Error == "" {
			t.Errorf("%s, %s: a line without an error", line.RequestID, line.MessageID)
		}

		var want string
		if key, err := keyOf(t.Context(), paid.message(t, line.RequestID, line.MessageID)); err == nil {
			want = record.KeyHash(key)
		}

		if line.Key != want {
			t.Errorf("%s, %s: key %q, want its hash %q", line.RequestID, line.MessageID, line.Key, want)
		}
	}

	want := []string{ // invocation, message, level, outcome, holder
		"r-1 m-1 WARN released ",
		"r-4 m-1 WARN failed ",
		"r-4 m-2 WARN mismatch ",
		"r-4 m-3 WARN no_key ",
		"r-5 m-1 WARN refused ",
		"r-7 m-1 WARN in_progress r-3",
		"r-8 m-1 WARN failed ",
		"r-9 m-1 ERROR fenced another",
		"r-10 m-1 WARN unsent ",
		"r-11 m-1 ERROR parked ",
		"r-12  WARN  ", // the SDK writes this line, because an answer was cut
	}

	slices.SortFunc(got, func(a, b string) int { return slices.Index(want, a) - slices.Index(want, b) }) // the lines of a batch come in any order

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func checkSecrets(t *testing.T, observed story) {
	t.Helper()

	for _, secret := range []string{"payment-", "paymentId", someAccount, someAmount, notAPayment} {
		for line := range strings.Lines(observed.printed) {
			if strings.Contains(line, secret) {
				t.Errorf("%q is in the log:\n%s", secret, line)
			}
		}
	}
}

// checkAPILog wants a line and a metric for the message that could not be sent: its request was answered all the same.
func checkAPILog(t *testing.T, asked story) {
	t.Helper()

	lines, metrics := asked.read(t)
	unsent := slices.DeleteFunc(lines, func(line logged) bool { return line.Outcome != "unsent" })
	key := record.KeyHash(strings.TrimPrefix(apiKey("unsent"), "api#"))

	if len(unsent) != 1 || unsent[0].Level != "WARN" || unsent[0].Key != key || !strings.Contains(unsent[0].Error, `to "payments"`) || !strings.Contains(unsent[0].Error, "AccessDenied") {
		t.Errorf("lines %+v, want one about key %s with the cause", unsent, key)
	}

	sum, requests := 0.0, 0

	for _, line := range metrics {
		if n, ok := line.values["Unsent"].(float64); ok {
			sum, requests = sum+n, requests+1
		}
	}

	if sum != 1 || requests != guardedRequests {
		t.Errorf("Unsent is %v in %d lines of metrics, want 1 in %d", sum, requests, guardedRequests)
	}
}

// checkSweepLog wants one line for each sweep.
func checkSweepLog(t *testing.T, swept story) {
	t.Helper()

	lines, metrics := swept.read(t)
	if len(lines) != 2 || lines[0].Level != "INFO" || lines[1].Level != "ERROR" || lines[1].Error == "" || len(metrics) != 2 {
		t.Errorf("lines %+v and %d of metrics, want one of INFO, one of ERROR and two of metrics", lines, len(metrics))
	}
}

func checkMetrics(t *testing.T, paid story) {
	t.Helper()

	_, batches := paid.read(t)
	if len(batches) != len(paid.batches) {
		t.Fatalf("%d lines of metrics for %d batches", len(batches), len(paid.batches))
	}

	for i, batch := range batches {
		failed := strings.Count(paid.answers[i], "itemIdentifier")
		want := map[string]float64{"Messages": float64(len(paid.batches[i].Records)), "NotDone": float64(failed), "Fenced": 0, "EffectRefused": 0, "Unsent": 0, "Parked": 0, "Panicked": 0}

		switch i + 1 {
		case 1, bookedBatch:
			want["EffectRefused"] = 1
		case fencedBatch:
			want["Fenced"] = 1
		case unsentBatch:
			want["Unsent"] = 1
		case parkedBatch:
			want["Parked"] = 1
		}

		for name, n := range want {
			if got := batch.values[name]; got != n {
				t.Errorf("batch %d: %s: got %v, want %v", i+1, name, got, n)
			}
		}

		if batch.values["Function"] != functionName || batch.values["Version"] != functionVersion {
			t.Errorf("batch %d: function %v, version %v: want those of Lambda's environment, %s and %s",
				i+1, batch.values["Function"], batch.values["Version"], functionName, functionVersion)
		}
	}
}

// checkAlarmedMetrics wants each alarm on a metric of the functions' own to be on one that they write.
func checkAlarmedMetrics(t *testing.T, template template, paid, asked, swept, judged story) {
	t.Helper()

	_, ofPayments := paid.read(t)
	_, ofAPI := asked.read(t)
	_, ofRelay := swept.read(t)
	_, ofAuditor := judged.read(t)

	if n := len(ofRelay); n != 2 || ofRelay[0].values["Sent"] != 2.0 || ofRelay[1].values["OldestUnsentSeconds"] != nil {
		t.Errorf("metrics of the relay: %+v, want 2 messages sent in the first: one of the API and one of payments, and no age in that of the sweep that was denied", ofRelay)
	}

	var own int

	for name, r := range template.Resources {
		for _, m := range r.Properties.metrics() {
			if m.MetricName == "" || strings.HasPrefix(m.Namespace, "AWS/") {
				continue
			}

			own++
			batches := ofPayments

			switch {
			case slices.Contains(m.Dimensions, dimension{"Function", "Relay"}):
				batches = ofRelay[:1]
			case slices.Contains(m.Dimensions, dimension{"Function", "Api"}):
				batches = ofAPI
			case slices.Contains(m.Dimensions, dimension{"Function", "Auditor"}):
				batches = ofAuditor
			}

			if i := slices.IndexFunc(batches, func(batch measured) bool { return !batch.has(m) }); i >= 0 {
				t.Errorf("%s looks at %s %s by %v, which batch %d does not write: %+v",
					name, m.Namespace, m.MetricName, m.Dimensions, i+1, batches[i].AWS.CloudWatchMetrics)
			}
		}
	}

	if own == 0 {
		t.Error("no alarm looks at a metric of the program")
	}
}

// has reports whether CloudWatch makes a metric of the line: under its name, and by exactly its dimensions.
func (m measured) has(want metric) bool {
	var dimensions []string
	for _, d := range want.Dimensions {
		dimensions = append(dimensions, d.Name)
	}

	slices.Sort(dimensions)

	for _, directive := range m.AWS.CloudWatchMetrics {
		_, measured := m.values[want.MetricName].(float64)
		named := slices.ContainsFunc(directive.Metrics, func(d struct{ Name, Unit string }) bool { return d.Name == want.MetricName && d.Unit == unitOf(d.Name) })
		by := slices.ContainsFunc(directive.Dimensions, func(set []string) bool { return slices.Equal(slices.Sorted(slices.Values(set)), dimensions) })

		if directive.Namespace == want.Namespace && measured && named && by {
			return true
		}
	}

	return false
}

// unitOf is the unit of a metric by its name.
func unitOf(name string) string {
	if strings.HasSuffix(name, "Seconds") {
		return "Seconds"
	}

	return "Count"
}
