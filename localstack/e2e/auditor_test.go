//go:build e2e

package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/internal/record"
	"github.com/idemddb/go-idemddb/localstack/pipeline"
)

// A worker has died with its claim, and the next one took the key over. Then a person edited the record. The auditor has counted
// the one and found the other, its metric raises the alarm, and the alarm's text leads to the payment.
func drillEdited(t *testing.T, p *pipeline.Pipeline) {
	t.Helper()

	const id = "drill-edited"

	claimAndDie(t, p, id, time.Second)
	awaitDeath(t, p, id)
	send(t, p, pipeline.Payment(id, id, 7))
	wantAnnounced(t, p, id, 1)
	awaitDone(t, p, id)
	update(t, p, id, "SET #a = :v", "done", numberOf(1))

	var (
		sum   map[string]float64
		found map[string]string // rules by the hash of the key
	)

	await(t, "the auditor to find the edit", 2*time.Minute, func() (bool, string) {
		sum, found = auditLog(t, p)

		return sum["TakeoverExpired"] > 0 && found[record.KeyHash(id)] != "", fmt.Sprintf("metrics %v, rules %v", sum, found)
	})
	t.Logf("the auditor: %v, rules by key: %v", sum, found)
	wantEdits(t, p, sum, found)

	last := time.Time{}

	await(t, "the alarm on violations", 4*time.Minute, func() (bool, string) {
		if time.Since(last) > 10*time.Second { // CloudWatch makes a metric of the line in the log, LocalStack does not
			putMetric(t, "Violations", p.AuditorFunctionName)
			last = time.Now()
		}

		state := alarmState(t, drillStack+"-AuditViolations")

		return state == "ALARM", state
	})

	o := calledBy(t, p, drillStack, "AuditViolations")
	o.idem(2, []string{"audit", "--since", "2h", "--namespaces", "api,payments"}, "payments#"+id+" (", "VIOLATION")
	o.mended(id, 7)
}

// wantEdits demands that the auditor has found nothing but what tests edited by hand.
func wantEdits(t *testing.T, p *pipeline.Pipeline, sum map[string]float64, found map[string]string) {
	t.Helper()

	audited.mu.Lock()
	defer audited.mu.Unlock()

	for key, rule := range found {
		if audited.tables[p.RecordTableName].edited[key] == 0 {
			t.Errorf("the auditor says of %s, which no test has edited: %s", key, rule)
		}
	}

	if sum["Violations"] == 0 || sum["Unreadable"] > 0 {
		t.Errorf("the metrics are %v, want violations, and nothing that cannot be read", sum)
	}
}

// auditLog is the sum of the auditor's metrics so far, and the rules that its lines of ERROR name.
func auditLog(t *testing.T, p *pipeline.Pipeline) (sum map[string]float64, found map[string]string) {
	t.Helper()

	sum, found = map[string]float64{}, map[string]string{}

	for _, line := range logLines(t, "/aws/lambda/"+p.AuditorFunctionName) {
		if !strings.HasPrefix(line, "{") { // LocalStack's own
			continue
		}

		var members map[string]any
		if err := json.Unmarshal([]byte(line), &members); err != nil {
			t.Fatalf("%v: %s", err, line)
		}

		if members["_aws"] == nil {
			found[fmt.Sprint(members["key"])] = fmt.Sprint(members["rule"])

			continue
		}

		for name, value := range members {
			if n, ok := value.(float64); ok {
				sum[name] += n
			}
		}
	}

	maps.DeleteFunc(sum, func(_ string, n float64) bool { return n == 0 })

	return sum, found
}

// putMetric gives CloudWatch one datum of a function's own metric.
func putMetric(t *testing.T, name, function string) {
	t.Helper()

	askForm(t, "monitoring", "2010-08-01", nil, url.Values{
		"Action": {"PutMetricData"}, "Namespace": {"Payments"},
		"MetricData.member.1.MetricName": {name}, "MetricData.member.1.Value": {"1"}, "MetricData.member.1.Unit": {"Count"},
		"MetricData.member.1.Dimensions.member.1.Name": {"Function"}, "MetricData.member.1.Dimensions.member.1.Value": {function},
	})
}

func alarmState(t *testing.T, prefix string) string {
	t.Helper()

	var answer struct {
		States []string `xml:"DescribeAlarmsResult>MetricAlarms>member>StateValue"`
	}

	askForm(t, "monitoring", "2010-08-01", &answer, url.Values{"Action": {"DescribeAlarms"}, "AlarmNamePrefix": {prefix}})

	if len(answer.States) != 1 {
		t.Fatalf("alarm %s: %v", prefix, answer.States)
	}

	return answer.States[0]
}
