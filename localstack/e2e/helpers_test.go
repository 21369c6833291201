//go:build e2e

package e2e_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddb "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/localstack/pipeline"
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

func records(t *testing.T, p *pipeline.Pipeline) map[string]pipeline.Record {
	t.Helper()

	records, err := p.Records(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	return records
}

func accounts(t *testing.T, p *pipeline.Pipeline) map[string]pipeline.Account {
	t.Helper()

	accounts, err := p.Accounts(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	return accounts
}

func depth(t *testing.T, p *pipeline.Pipeline, url string) pipeline.Depth {
	t.Helper()

	depth, err := p.Depth(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}

	return depth
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

// inPause counts payments with that prefix that are done, and those whose record is claimed and whose account is untouched.
func inPause(t *testing.T, p *pipeline.Pipeline, prefix string) (done, claimed int, sight string) {
	t.Helper()

	paid := accounts(t, p) // before the records: a payment that ended since is no longer in progress there

	for id, record := range records(t, p) {
		switch _, counted := paid[id]; {
		case !strings.HasPrefix(id, prefix):
		case record.State == "COMPLETED":
			done++
		case record.State == "INPROGRESS" && !counted:
			claimed++
		}
	}

	return done, claimed, fmt.Sprintf("%d done, %d claimed, processes %v", done, claimed, processes(t, p.FunctionName))
}

// allDone waits until n payments are completed and the queue is empty, and returns how many were attempted more than once.
func allDone(t *testing.T, p *pipeline.Pipeline, prefix string, n int) (again int) {
	t.Helper()

	await(t, fmt.Sprintf("%d payments %s* to be done and the queue to be empty", n, prefix), 4*time.Minute, func() (bool, string) {
		done, sight := doneWithPrefix(t, p, prefix)
		queue := depth(t, p, p.QueueUrl)

		return done == n && queue == pipeline.Depth{}, fmt.Sprintf("queue %+v, dead letters %+v, %s", queue, depth(t, p, p.DeadLetterQueueUrl), sight)
	})

	for id, record := range records(t, p) {
		if strings.HasPrefix(id, prefix) && record.Attempts > 1 {
			again++
		}
	}

	return again
}

// inWindow returns the payments with that prefix whose effect is there and whose record does not say so, once requests that were
// on their way have ended.
func inWindow(t *testing.T, p *pipeline.Pipeline, prefix string) map[string]bool {
	t.Helper()

	var (
		window map[string]bool
		before string
	)

	await(t, "the tables to stay as they are", time.Minute, func() (bool, string) {
		window = map[string]bool{}
		paid, all := accounts(t, p), records(t, p)

		for id, record := range all {
			if _, counted := paid[id]; strings.HasPrefix(id, prefix) && counted && record.State != "COMPLETED" {
				window[id] = true
			}
		}

		now, last := fmt.Sprint(paid, all), before
		before = now

		return now == last, now
	})

	return window
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
	if err != nil {
		t.Fatal(err)
	}

	if _, err := p.DynamoDB.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName:                 aws.String(p.RecordTableName),
		Key:                       key,
		UpdateExpression:          aws.String(expression),
		ExpressionAttributeNames:  map[string]string{"#a": attribute},
		ExpressionAttributeValues: map[string]ddb.AttributeValue{":v": value},
	}); err != nil {
		t.Fatal(err)
	}
}

func allStopped(states map[string]string) bool {
	return !slices.ContainsFunc(slices.Collect(maps.Values(states)), func(state string) bool { return !strings.HasPrefix(state, "T") })
}

// signal sends a signal to every process of the function, and returns how many that were.
func signal(t *testing.T, p *pipeline.Pipeline, number syscall.Signal) int {
	t.Helper()

	pids := processes(t, p.FunctionName)
	for text := range pids {
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}

		process, err := os.FindProcess(pid)
		if err != nil {
			t.Fatal(err)
		}

		if err := process.Signal(number); err != nil {
			t.Fatalf("%v to process %d: %v", number, pid, err)
		}
	}

	t.Logf("%v to %d processes at %v", number, len(pids), time.Now().Format(time.TimeOnly))

	return len(pids)
}
