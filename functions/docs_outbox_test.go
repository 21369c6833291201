package functions_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
)

// The programs of docs/outbox.md, as its template deploys them: a payment whose receipt is sent, two whose receipts are not, and
// the relay.
func TestProgramsOfTheOutboxPageSendEachReceipt(t *testing.T) {
	t.Parallel()

	if testing.Short() {
		t.Skip("building and linking programs costs more than all else of this package")
	}

	page := outboxTemplate(t)
	cloud := newAWS(t)

	if _, err := cloud.db.CreateTable(t.Context(), idemddbtest.CreateTable("Records", "unsent")); err != nil {
		t.Fatal(err)
	}

	paid := story{printed: cloud.run(t, page, "Payments", func(invoke func(event any) string) {
		for id, fault := range map[string]string{"p-sent": "", "p-denied": "AccessDenied", "p-gone": "QueueDoesNotExist"} {
			cloud.fault("Receipts.Arn", fault)

			if got := invoke(paymentEvent(id)); got != `{"batchItemFailures":[]}` {
				t.Errorf("%s: got %s", id, got)
			}
		}
	})}
	checkGranted(t, page, "Payments", cloud.takeActions())

	cloud.fault("Receipts.Arn", "AccessDenied")
	agePage(t, cloud)

	swept := story{printed: cloud.run(t, page, "Relay", func(invoke func(event any) string) {
		for _, step := range []struct{ resource, fault, answer string }{
			{"Receipts.Arn", "AccessDenied", "null"}, // it is left, with a line
			{"Receipts.Arn", "", "null"},
			{"${Records.Arn}/index/unsent", "AccessDeniedException", "the sweep is incomplete"},
		} {
			cloud.fault(step.resource, step.fault)

			if got := invoke(struct{}{}); !strings.Contains(got, step.answer) {
				t.Errorf("the relay answers %s, want %s", got, step.answer)
			}
		}
	})}
	checkGranted(t, page, "Relay", cloud.takeActions())

	if ids := cloud.sent["Receipts.Arn"]; len(ids) != 2 || ids[0] == ids[1] {
		t.Errorf("the receipts that were sent are %v, want those of two payments", ids)
	}

	checkPageLog(t, paid, "WARN unsent", "ERROR parked")
	checkPageLog(t, swept, "ERROR ", "ERROR ")
	checkPageAlarms(t, page, paid, swept)
}

// outboxTemplate is the template of the page, whose code stands beside it.
func outboxTemplate(t *testing.T) template {
	t.Helper()

	const dir = "testdata/outbox/"

	page := readTemplateFile(t, dir+"template.yaml")
	for name, f := range page.functions {
		f.CodeURI = "functions/" + dir + f.CodeURI
		page.functions[name] = f
	}

	return page
}

func paymentEvent(id string) events.SQSEvent {
	return events.SQSEvent{Records: []events.SQSMessage{{
		MessageId: "m-" + id, EventSource: "aws:sqs", EventSourceARN: "arn:aws:sqs:eu-west-1:111122223333:queue", Body: `{"paymentId":"` + id + `"}`,
		Attributes: map[string]string{"ApproximateReceiveCount": "1"},
	}}}
}

// agePage makes the unsent messages of the page old enough for a sweep.
func agePage(t *testing.T, cloud *fakeAWS) {
	t.Helper()

	for _, record := range cloud.db.Items("Records") {
		if record["outbox"] == nil {
			continue
		}

		audited.ByHand(cloud.db, func() {
			if _, err := cloud.db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
				TableName: aws.String("Records"), Key: map[string]types.AttributeValue{"pk": record["pk"]}, UpdateExpression: aws.String("SET due = :due"),
				ExpressionAttributeValues: map[string]types.AttributeValue{":due": &types.AttributeValueMemberN{Value: "1"}},
			}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// checkGranted wants a function to have exactly the actions that it sends. The payments function may claim keys, too: it has on
// the table of records what that of the sample has.
func checkGranted(t *testing.T, page template, name string, sent map[string]map[string]bool) {
	t.Helper()

	got := map[string][]string{}

	for _, p := range page.functions[name].Policies {
		for _, s := range p.Statement {
			got[s.Resource[0]] = slices.Sorted(slices.Values(s.Action))
		}
	}

	want := map[string][]string{}
	for resource, actions := range sent {
		want[resource] = slices.Sorted(maps.Keys(actions))
	}

	if name == "Payments" {
		for _, action := range want["Records.Arn"] {
			if !slices.Contains(got["Records.Arn"], action) {
				t.Errorf("%s is sent and not granted", action)
			}
		}

		want["Records.Arn"] = essentials(t, readRoot(t, "template.yaml")).Actions
	}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: actions (-sent +granted):\n%s", name, diff)
	}
}

// checkPageLog wants lines of these levels and outcomes, in any order, which name the message and its target and hold nothing of
// its body.
func checkPageLog(t *testing.T, observed story, want ...string) {
	t.Helper()

	lines, _ := observed.read(t)

	var got []string

	for _, line := range lines {
		if line.Error == "" { // aws-lambda-go writes it for the error of an invocation
			continue
		}

		got = append(got, line.Level+" "+line.Outcome)

		if isAbout := strings.Contains(line.Error, `to "receipts"`); !isAbout && !strings.Contains(line.Error, "query of index") || strings.Contains(line.Error, "receipt for") {
			t.Errorf("the error is %s", line.Error)
		}
	}

	slices.Sort(got)
	slices.Sort(want)

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s\n%s", diff, observed.printed)
	}
}

// checkPageAlarms wants the alarms of the page to look at metrics that are written, and the relay to say how old the oldest
// message is.
func checkPageAlarms(t *testing.T, page template, paid, swept story) {
	t.Helper()

	_, ofPayments := paid.read(t)
	_, ofRelay := swept.read(t)

	if len(ofPayments) != 3 || len(ofRelay) != 2 {
		t.Fatalf("%d and %d lines of metrics, want one for each payment and each sweep that is complete", len(ofPayments), len(ofRelay))
	}

	if age, _ := ofRelay[0].values["OldestUnsentSeconds"].(float64); age < time.Hour.Seconds() {
		t.Errorf("the oldest unsent message is %v s old", age)
	}

	for name, r := range page.Resources {
		if r.Type != "AWS::CloudWatch::Alarm" {
			continue
		}

		for _, m := range r.Properties.metrics() {
			if !ofRelay[0].has(m) || name == "Parked" && !ofPayments[0].has(m) {
				t.Errorf("%s looks at %+v, which is not written", name, m)
			}
		}
	}
}

// The table of the page is that of the library, with the index that the programs name.
func TestTableOfTheOutboxPageHasTheIndex(t *testing.T) {
	t.Parallel()

	checkSchema(t, idemddbtest.CreateTable("records", "unsent"), outboxTemplate(t).Resources["Records"].Properties.table)
}
