//go:build e2e || aws

package e2e_test

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddb "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/localstack/pipeline"
)

// The template's clocks, as short as its parameters allow: with a FunctionTimeout of 5 s a message that fails is hidden for 30 s.
const (
	hidden      = 30 * time.Second
	maxReceives = 3
)

type sqsAttribute = types.QueueAttributeName

func send(t *testing.T, p *pipeline.Pipeline, bodies ...string) {
	t.Helper()

	if err := p.Send(t.Context(), bodies...); err != nil {
		t.Fatal(err)
	}
}

// sendBatch sends payments of 1, each to an account of its own that has its name.
func sendBatch(t *testing.T, p *pipeline.Pipeline, prefix string, n int) {
	t.Helper()

	var bodies []string
	for i := range n {
		id := prefix + strconv.Itoa(i)
		bodies = append(bodies, pipeline.Payment(id, id, 1))
	}

	send(t, p, bodies...)
}

// wantEachOnce wants the payments of sendBatch in their accounts, with an entry and an announcement each.
func wantEachOnce(t *testing.T, p *pipeline.Pipeline, prefix string, n int) {
	t.Helper()
	wantAccounts(t, p, prefix, eachOnce(prefix, n))
	wantEntries(t, p, prefix, n)
	wantAnnounced(t, p, prefix, n)
}

// eachOnce are the accounts after n payments of 1, each to the account of its own name.
func eachOnce(prefix string, n int) map[string]pipeline.Account {
	accounts := map[string]pipeline.Account{}
	for i := range n {
		accounts[prefix+strconv.Itoa(i)] = pipeline.Account{Balance: 1, Payments: 1}
	}

	return accounts
}

// must returns what was read, or ends the test.
func must[T any](t *testing.T, read T, err error) T {
	t.Helper()

	if err != nil {
		t.Fatal(err)
	}

	return read
}

func records(t *testing.T, p *pipeline.Pipeline) map[string]pipeline.Record {
	t.Helper()

	records, err := p.Records(t.Context())

	return must(t, records, err)
}

func accounts(t *testing.T, p *pipeline.Pipeline) map[string]pipeline.Account {
	t.Helper()

	accounts, err := p.Accounts(t.Context())

	return must(t, accounts, err)
}

func depth(t *testing.T, p *pipeline.Pipeline, url string) pipeline.Depth {
	t.Helper()

	depth, err := p.Depth(t.Context(), url)

	return must(t, depth, err)
}

// doneWithPrefix counts the completed records of payments with that prefix.
func doneWithPrefix(t *testing.T, p *pipeline.Pipeline, prefix string) (done int, sight string) {
	t.Helper()

	states := map[string]int{}
	for id, record := range records(t, p) {
		if strings.HasPrefix(id, prefix) {
			states[record.State]++
		}
	}

	return states["COMPLETED"], fmt.Sprintf("records %v", states)
}

// allDone waits until n payments are completed and the queue is empty.
func allDone(t *testing.T, p *pipeline.Pipeline, prefix string, n int) {
	t.Helper()

	await(t, fmt.Sprintf("%d payments %s* to be done and the queue to be empty", n, prefix), 4*time.Minute, func() (bool, string) {
		done, sight := doneWithPrefix(t, p, prefix)
		queue := depth(t, p, p.QueueUrl)

		return done == n && queue == pipeline.Depth{}, fmt.Sprintf("queue %+v, dead letters %+v, %s", queue, depth(t, p, p.DeadLetterQueueUrl), sight)
	})
}

// wantEntries wants so many entries of payments with that prefix.
func wantEntries(t *testing.T, p *pipeline.Pipeline, prefix string, n int) {
	t.Helper()

	entries, err := p.Entries(t.Context())
	maps.DeleteFunc(must(t, entries, err), func(id string, _ pipeline.Entry) bool { return !strings.HasPrefix(id, prefix) })

	if len(entries) != n {
		t.Errorf("%d entries of payments %s*, want %d", len(entries), prefix, n)
	}
}

// announced is how a payment was announced so far.
type announced struct {
	ids   map[string]bool
	times int
}

var announcedSoFar struct {
	mu      sync.Mutex
	byQueue map[string]map[string]announced // :: queue → payment → announcements
}

// announcements receives what is in the queue of the announcements and returns all that there were so far, by payment.
func announcements(t *testing.T, p *pipeline.Pipeline) map[string]announced {
	t.Helper()

	received, err := p.Announcements(t.Context())
	must(t, received, err)

	announcedSoFar.mu.Lock()
	defer announcedSoFar.mu.Unlock()

	if announcedSoFar.byQueue == nil {
		announcedSoFar.byQueue = map[string]map[string]announced{}
	}

	all := announcedSoFar.byQueue[p.CapturedQueueUrl]
	if all == nil {
		all = map[string]announced{}
		announcedSoFar.byQueue[p.CapturedQueueUrl] = all
	}

	for _, r := range received {
		a := all[r.PaymentID]
		if a.ids == nil {
			a.ids = map[string]bool{}
		}

		a.ids[r.ID] = true
		a.times++
		all[r.PaymentID] = a
	}

	return maps.Clone(all)
}

// wantAnnounced waits until n payments with that prefix are announced, by the function at once or by the relay a minute later.
// Each may come twice, under one id.
func wantAnnounced(t *testing.T, p *pipeline.Pipeline, prefix string, n int) {
	t.Helper()

	var all map[string]announced

	await(t, fmt.Sprintf("%d payments %s* to be announced", n, prefix), 4*time.Minute, func() (bool, string) {
		all = announcements(t, p)
		maps.DeleteFunc(all, func(id string, _ announced) bool { return !strings.HasPrefix(id, prefix) })

		return len(all) >= n, fmt.Sprintf("%d announced", len(all))
	})

	twice := 0

	for id, a := range all {
		if len(a.ids) != 1 || a.ids[""] {
			t.Errorf("%s is announced under the ids %v, want one", id, a.ids)
		}

		if a.times > 1 {
			twice++
		}
	}

	if len(all) != n {
		t.Errorf("%d payments %s* are announced, want %d", len(all), prefix, n)
	}

	t.Logf("%d payments %s* are announced, %d of them more than once under their id", len(all), prefix, twice)
}

// unsend puts the announcement of a completed payment back into its record, as a death before its sending leaves it there.
func unsend(t *testing.T, p *pipeline.Pipeline, id, body string, due time.Time) {
	t.Helper()

	message := map[string]ddb.AttributeValue{
		"i": &ddb.AttributeValueMemberN{Value: "0"}, "to": &ddb.AttributeValueMemberS{Value: "payment.captured"}, "body": &ddb.AttributeValueMemberS{Value: body},
	}

	key, err := pipeline.RecordKey(t.Context(), p, id)
	edit(t, p, must(t, key, err), "SET outbox = :outbox, ends = #exp, #exp = :never, due = :due, due_ns = :ns", map[string]string{"#exp": "exp"},
		map[string]ddb.AttributeValue{
			":outbox": &ddb.AttributeValueMemberL{Value: []ddb.AttributeValue{&ddb.AttributeValueMemberM{Value: message}}},
			":never":  &ddb.AttributeValueMemberN{Value: "253402300799"},
			":due":    &ddb.AttributeValueMemberN{Value: strconv.FormatInt(due.UnixMilli(), 10)},
			":ns":     &ddb.AttributeValueMemberS{Value: "payments#0"},
		})
}

// edit changes a record as a person does.
func edit(
	t *testing.T, p *pipeline.Pipeline, key map[string]ddb.AttributeValue, expression string, names map[string]string, values map[string]ddb.AttributeValue,
) {
	t.Helper()
	edited(p, key)

	if _, err := p.DynamoDB.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String(p.RecordTableName), Key: key, UpdateExpression: aws.String(expression),
		ExpressionAttributeNames: names, ExpressionAttributeValues: values,
	}); err != nil {
		t.Fatal(err)
	}
}

// wantAccounts compares the accounts whose name has that prefix.
func wantAccounts(t *testing.T, p *pipeline.Pipeline, prefix string, want map[string]pipeline.Account) {
	t.Helper()

	got := accounts(t, p)
	maps.DeleteFunc(got, func(name string, _ pipeline.Account) bool { return !strings.HasPrefix(name, prefix) })

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("accounts %s* (-want +got):\n%s", prefix, diff)
	}
}

// update sets one attribute of a payment's record, named #a in the expression, to :v.
func update(t *testing.T, p *pipeline.Pipeline, id, expression, attribute string, value ddb.AttributeValue) {
	t.Helper()

	key, err := pipeline.RecordKey(t.Context(), p, id)
	edit(t, p, must(t, key, err), expression, map[string]string{"#a": attribute}, map[string]ddb.AttributeValue{":v": value})
}

// awaitDone waits until a payment is completed, with nothing left to be sent.
func awaitDone(t *testing.T, p *pipeline.Pipeline, id string) {
	t.Helper()

	await(t, "the payment "+id+" to be done", time.Minute, func() (bool, string) {
		record := records(t, p)[id]

		return record.State == "COMPLETED" && record.Unsent+record.Parked == 0, fmt.Sprintf("record %+v", record)
	})
}

// await asks every 200 ms until the answer is yes, so long at most, and fails with what it saw last.
func await(t *testing.T, what string, most time.Duration, ask func() (yes bool, saw string)) {
	t.Helper()

	var (
		began = time.Now()
		tick  = time.NewTicker(200 * time.Millisecond)
	)

	defer tick.Stop()

	for range tick.C {
		yes, saw := ask()
		if yes {
			return
		}

		if time.Since(began) > most {
			t.Fatalf("after %v still waiting for %s; saw last: %s", most, what, saw)
		}
	}
}
