package functions_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/internal/checks/audited"
)

// audit hands the auditor every change of the table of records, as its stream does, and what is no record of a stream.
func (a *fakeAWS) audit(t *testing.T, template template) (observed story) {
	t.Helper()

	records := make([]any, 0, len(a.changes))
	for _, c := range a.changes {
		records = append(records, audited.StreamRecord(c))
	}

	observed.printed = a.run(t, template, "Auditor", func(invoke func(event any) string) {
		observed.answers = append(observed.answers, invoke(map[string]any{"Records": records}), invoke(map[string]any{"Records": []any{7}}))
	})

	return observed
}

// checkAuditMetrics wants each change that a test made by hand to be a violation, and no other one. The page has a row for each
// metric.
func checkAuditMetrics(t *testing.T, cloud *fakeAWS, judged story) {
	t.Helper()

	if want := []string{"null", "null"}; !slices.Equal(judged.answers, want) {
		t.Errorf("the auditor answers %q, want no error", judged.answers)
	}

	_, metrics := judged.read(t)
	if len(metrics) != 2 {
		t.Fatalf("%d lines of metrics for two events", len(metrics))
	}

	for name, want := range map[string][2]int{"Judged": {len(cloud.changes)}, "Violations": {cloud.edits}, "OtherItems": {}, "Unreadable": {0, 1}} {
		for i, line := range metrics {
			if got, _ := line.values[name].(float64); int(got) != want[i] {
				t.Errorf("event %d: %s is %v, want %d", i+1, name, line.values[name], want[i])
			}
		}
	}

	var names []string
	for _, m := range metrics[0].AWS.CloudWatchMetrics[0].Metrics {
		names = append(names, m.Name)
	}

	rows := firstColumn(readRoot(t, "docs/audit.md"), "metric of the auditor")
	if diff := cmp.Diff(names, rows); diff != "" {
		t.Errorf("docs/audit.md (-code +page):\n%s", diff)
	}
}

// checkAuditLog wants a line of ERROR for each rule that is broken, and for the event that is none.
func checkAuditLog(t *testing.T, cloud *fakeAWS, judged story) {
	t.Helper()

	lines, _ := judged.read(t)
	if len(lines) <= cloud.edits || !strings.Contains(lines[len(lines)-1].Error, "malformed") {
		t.Errorf("the lines are %+v, want some for %d edits and one for the record that is malformed", lines, cloud.edits)
	}

	for _, line := range lines {
		if line.Level != "ERROR" || line.RequestID == "" || (line.Key == "") != (line.Error != "") {
			t.Errorf("the line is %+v", line)
		}
	}
}

func TestTemplateAuditsTheStreamOfTheRecords(t *testing.T) {
	t.Parallel()

	template := readTemplate(t)
	auditor := template.functions["Auditor"]
	event := auditor.Events["FromRecords"]
	p := event.Properties

	if len(auditor.Events) != 1 || event.Type != "DynamoDB" || p.Stream != "RecordTable.StreamArn" || p.StartingPosition != "LATEST" {
		t.Errorf("events %+v, want the stream of the records alone", auditor.Events)
	}

	// A batch that ends the process must not stop its shard for a day, and what is left out for its age must still be in the stream.
	if !p.BisectBatchOnFunctionError || p.MaximumRetryAttempts < 1 || p.MaximumRetryAttempts > 10 || p.MaximumRecordAgeInSeconds < 3600 || p.MaximumRecordAgeInSeconds > 43200 {
		t.Errorf("%+v: want that a batch is halved, and a few retries", p)
	}

	// The function has no request to make that a slow service could hold up. A batch of 1,000 changes takes a second at the most.
	if text(p.BatchSize).int(t) > 1000 || text(p.MaximumBatchingWindowInSeconds).int(t) > 60 || text(auditor.Timeout).int(t) < 30 {
		t.Errorf("batches of %s within %s s, time-out %s s", p.BatchSize, p.MaximumBatchingWindowInSeconds, auditor.Timeout)
	}

	if got, want := template.Resources["RecordTable"].Properties.StreamSpecification, text("[Audited, [StreamViewType, NEW_AND_OLD_IMAGES], AWS::NoValue]"); got != want {
		t.Errorf("the stream of the records is %s, want %s", got, want)
	}
}

// A stack without the auditor has nothing of it.
func TestTemplateHasNothingOfTheAuditorUnlessItIsAskedFor(t *testing.T) {
	t.Parallel()

	template := readTemplate(t)

	if p := template.Parameters["Audit"]; p.Default != "false" || !slices.Equal(p.AllowedValues, []string{"true", "false"}) {
		t.Errorf("the parameter Audit is %+v, want false by default", p)
	}

	want := []string{"AuditBlind", "AuditErrors", "AuditViolations", "Auditor", "AuditorLogs", "AuditorRole"}
	under := map[string]bool{}

	for name, r := range template.Resources {
		if r.Condition == "Audited" {
			under[name] = true
		}
	}

	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(under))); diff != "" {
		t.Errorf("resources under the condition Audited (-want +got):\n%s", diff)
	}

	// Whatever names one of them is one of them, or names it behind the condition.
	named := regexp.MustCompile(`(?:!Ref |!GetAtt |\$\{)(Audit[A-Z][A-Za-z]*|Auditor)\b`)
	resource := ""

	for line := range strings.Lines(template.section("Resources")) {
		if head := regexp.MustCompile(`^  ([A-Za-z]+):`).FindStringSubmatch(line); head != nil {
			resource = head[1]
		}

		for _, m := range named.FindAllStringSubmatch(line, -1) {
			if isValue := m[1] == "AuditAlarms" || m[1] == "AuditWidget"; !under[resource] && resource != "PaymentsDashboard" && !isValue {
				t.Errorf("%s names %s, which is not always there: %s", resource, m[1], line)
			}
		}
	}

	for name, o := range template.Outputs {
		if strings.HasPrefix(name, "Auditor") != (o.Condition == "Audited") {
			t.Errorf("the output %s is there under the condition %q", name, o.Condition)
		}
	}
}
