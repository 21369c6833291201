//go:build e2e

// The deployed pipeline end to end, without Docker: `make e2e` starts a LocalStack for it, whose functions are processes.
package e2e_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	ddb "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/localstack/pipeline"
)

// Every balance is exact, each payment has one entry, and each is announced under one id, whatever is done to the processes.
//
// Each stack stands beside the others, from the same template; each test uses one by itself. The client sends its requests while
// the other stacks are deployed. After the load the rest runs at the same time, because most of what it does is wait.
func TestDeployed(t *testing.T) {
	var (
		client = deploy(t, "e2e-client", "FunctionTimeout=5", "MaxReceiveCount=20", "PauseMs=20", "UnverifiedCaller=local")
		paid   payments

		load, failures, crashes *pipeline.Pipeline
	)

	t.Run("load", func(t *testing.T) {
		t.Run("a client in another language is answered, processes killed", func(t *testing.T) {
			t.Parallel()

			paid = testClientInAnotherLanguage(t, client)
		})
		t.Run("200 payments, each sent twice, five batches in flight, are counted once", func(t *testing.T) {
			t.Parallel()

			load = deploy(t, "e2e-load", "FunctionTimeout=20") // a busy machine must not look like a crash
			failures = deploy(t, "e2e-failures", "FunctionTimeout=5", fmt.Sprintf("MaxReceiveCount=%d", maxReceives), "UnverifiedCaller=local")
			crashes = deploy(t, "e2e-crashes", "FunctionTimeout=10", "MaxReceiveCount=20", "PauseMs=300")
			testLoad(t, load, func() int { return len(processes(t, load.FunctionName)) })
		})
		t.Run("the quick start of the pages, deployed as it stands, pays once and has no fault", func(t *testing.T) {
			t.Parallel()
			testQuickStart(t)
		})
		t.Run("what a topic delivers twice is charged once", func(t *testing.T) {
			t.Parallel()
			testTopic(t)
		})
		t.Run("what a rule of EventBridge delivers twice is charged once", func(t *testing.T) {
			t.Parallel()
			testRule(t)
		})
	})

	if paid == nil || crashes == nil {
		t.Fatal("the rest needs what the load leaves")
	}

	t.Run("stacks beside each other share no name", func(t *testing.T) {
		if load.QueueUrl == failures.QueueUrl || load.DeadLetterQueueUrl == failures.DeadLetterQueueUrl ||
			load.RecordTableName == failures.RecordTableName || load.LedgerTableName == failures.LedgerTableName || load.FunctionName == failures.FunctionName {
			t.Errorf("two stacks: %+v, %+v", load.Names, failures.Names)
		}
	})

	t.Run("at once", func(t *testing.T) {
		t.Run("a deployment loses no record, an outage no payment, and a record that expired is forgotten", func(t *testing.T) {
			t.Parallel()
			testDeployAgain(t, load)
			testOutage(t, load)
			testExpired(t, load) // this comes last, because it leaves a payment that comes back until it is a dead letter
		})
		t.Run("poison and what a redrive mends", func(t *testing.T) {
			t.Parallel()
			testAPI(t, failures)
			testPoison(t, failures)
			testLogs(t, failures, `"amount`, `\"amount`, "poison", "for-broken", "good-")
		})
		t.Run("what the client asked for is done, once", func(t *testing.T) {
			t.Parallel()
			wantPaid(t, client, paid)
			testHeldKey(t, client)
		})
		t.Run("killed, frozen, stopped", func(t *testing.T) {
			t.Parallel()
			testFrozen(t, crashes)
			testEndedInBatch(t, crashes, "killed-", syscall.SIGKILL)
			testEndedInBatch(t, crashes, "stopped-", syscall.SIGSTOP)
			testDiedBeforeSending(t, crashes)
		})
		t.Run("the runbook's drill, by idem alone", func(t *testing.T) {
			t.Parallel()
			testDrill(t)
		})
	})

	t.Run("each change of each record is one that the page of the record allows", testAudit)
}

// The template changed in its text and in a parameter, deployed over the stack that runs: the records are the same, and say so.
func testDeployAgain(t *testing.T, p *pipeline.Pipeline) {
	t.Helper()

	before, functions := records(t, p), processes(t, p.FunctionName)

	text, err := os.ReadFile(filepath.Join(built.folder, "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}

	changed := strings.Replace(string(text), "Adds each payment to its account once.", "Adds each payment to its account just once.", 1)
	if changed == string(text) {
		t.Fatal("the function's description is another by now: change something else of the template here")
	}

	file := filepath.Join(built.folder, "changed.yaml") // the template stands beside the one that was built, because it names the code by relative paths
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}

	again := deployTemplate(t, file, "e2e-load", "FunctionTimeout=20", "LogRetentionDays=14", "PauseMs=1")
	if diff := cmp.Diff(p.Names, again.Names); diff != "" {
		t.Errorf("the stack's names changed (-before +after):\n%s", diff)
	}

	if diff := cmp.Diff(before, records(t, p)); diff != "" {
		t.Errorf("the deployment touched records (-before +after):\n%s", diff)
	}

	// old payments and a new one, in one batch: the old ones are answered from records that the version before wrote
	send(t, p, pipeline.Payment("load-1", "account-1", amount), pipeline.Payment("load-2", "account-2", amount), pipeline.Payment("new-1", "new", 1))
	await(t, "the new payment to be done by the new version", time.Minute, func() (bool, string) {
		done, sight := doneWithPrefix(t, p, "new-")
		queue := depth(t, p, p.QueueUrl)

		return done == 1 && queue == pipeline.Depth{}, fmt.Sprintf("queue %+v, %s", queue, sight)
	})

	want := loadedAccounts()
	want["new"] = pipeline.Account{Balance: 1, Payments: 1}
	wantAccounts(t, p, "", want)

	for pid := range processes(t, p.FunctionName) {
		if _, old := functions[pid]; !old {
			return
		}
	}

	t.Error("no process was started since the deployment: the old version is still in service")
}

// A record ends after its retention. It cannot wait so long here: its exp is set back, as if the time had passed. The entry in
// the ledger outlives it, so that the payment is not made again.
func testExpired(t *testing.T, p *pipeline.Pipeline) {
	t.Helper()

	const old = "expired-1"

	for _, why := range []string{"the payment to be counted", "the duplicate to be answered from its record"} {
		send(t, p, pipeline.Payment(old, "expired", 10))
		await(t, why, time.Minute, func() (bool, string) {
			account := accounts(t, p)["expired"]
			queue := depth(t, p, p.QueueUrl)

			return account.Payments >= 1 && queue == pipeline.Depth{}, fmt.Sprintf("account %+v, queue %+v", account, queue)
		})
	}

	expire(t, p, old)
	sweep(t, p, old)
	await(t, "TTL to remove the record", time.Minute, func() (bool, string) {
		_, there := records(t, p)[old]

		return !there, fmt.Sprintf("there: %t", there)
	})

	send(t, p, pipeline.Payment(old, "expired", 10))
	await(t, "the payment to be refused by its entry", time.Minute, func() (bool, string) {
		record := records(t, p)[old]

		return record.State == "FAILED" && strings.Contains(record.Err, "entry"), fmt.Sprintf("record %+v", record)
	})

	wantAccounts(t, p, "expired", map[string]pipeline.Account{"expired": {Balance: 10, Payments: 1}})
}

func expire(t *testing.T, p *pipeline.Pipeline, id string) {
	t.Helper()
	update(t, p, id, "SET #a = :v", "exp", &ddb.AttributeValueMemberN{Value: strconv.FormatInt(time.Now().Add(-time.Minute).Unix(), 10)})
}

// sweep does now what LocalStack's TTL does every hour, and DynamoDB within days. In the stream, the deletion of the payment's
// record looks like that of any other program.
func sweep(t *testing.T, p *pipeline.Pipeline, id string) {
	t.Helper()

	key, err := pipeline.RecordKey(t.Context(), p, id)
	edited(p, must(t, key, err))

	request, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, os.Getenv("AWS_ENDPOINT_URL")+"/_aws/dynamodb/expired", nil)
	if err != nil {
		t.Fatal(err)
	}

	response, err := (&http.Client{Timeout: time.Minute}).Do(request)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("TTL sweep: %v, %v", response, err)
	}
}

// Between invocations Lambda freezes the process. It goes on where it was with the next batch, and has forgotten nothing.
func testFrozen(t *testing.T, p *pipeline.Pipeline) {
	t.Helper()

	send(t, p, pipeline.Payment("frozen-1", "frozen", 1))
	await(t, "the first payment to be done and its process frozen", time.Minute, func() (bool, string) {
		done, sight := doneWithPrefix(t, p, "frozen-")
		states := processes(t, p.FunctionName)

		return done == 1 && len(states) > 0 && allStopped(states), fmt.Sprintf("processes %v, %s", states, sight)
	})

	before := processes(t, p.FunctionName)

	send(t, p, pipeline.Payment("frozen-1", "frozen", 1), pipeline.Payment("frozen-2", "frozen", 1))
	await(t, "the second payment to be done", time.Minute, func() (bool, string) {
		done, sight := doneWithPrefix(t, p, "frozen-")
		queue := depth(t, p, p.QueueUrl)

		return done == 2 && queue == pipeline.Depth{}, fmt.Sprintf("queue %+v, %s", queue, sight)
	})

	after := processes(t, p.FunctionName)
	for pid := range before {
		if _, there := after[pid]; !there {
			t.Errorf("process %s, which was frozen, is gone: %v after %v", pid, after, before)
		}
	}

	wantAccounts(t, p, "frozen", map[string]pipeline.Account{"frozen": {Balance: 2, Payments: 2}})
}

// Killed in mid-batch, several batches in flight; or stopped there, as by a host that has no time for it, until Lambda ends the
// invocation. The batches come back. What was done is answered from its records, and of what was not done nothing is there. So
// every payment is counted once.
func testEndedInBatch(t *testing.T, p *pipeline.Pipeline, prefix string, how syscall.Signal) {
	t.Helper()

	const payments = 25

	sendBatch(t, p, prefix, payments)

	done := 0

	await(t, "processes to be in mid-batch", time.Minute, func() (bool, string) {
		var sight string

		done, sight = doneWithPrefix(t, p, prefix)
		queue := depth(t, p, p.QueueUrl)

		return done >= 2 && queue.Hidden > 0, fmt.Sprintf("queue %+v, %s", queue, sight)
	})
	signal(t, p, how)
	t.Logf("%d of %d payments were done before the %v", done, payments, how)

	if done == payments {
		t.Error("every payment was done: the signal came too late to interrupt one")
	}

	allDone(t, p, prefix, payments)

	wantEachOnce(t, p, prefix, payments)
}

// What a death between the transaction and the sending leaves is put together here: the payment is done, and its announcement is
// in the record. The relay, called each minute by its schedule, sends it under the id that it had from the start.
func testDiedBeforeSending(t *testing.T, p *pipeline.Pipeline) {
	t.Helper()

	const id = "unsent-1"

	send(t, p, pipeline.Payment(id, "unsent", 1))
	allDone(t, p, id, 1)
	wantAnnounced(t, p, id, 1)

	first := announcements(t, p)[id]
	unsend(t, p, id, pipeline.Payment(id, "unsent", 1), time.Now().Add(-10*time.Minute))

	began := time.Now()

	await(t, "the relay to send the announcement", 3*time.Minute, func() (bool, string) {
		record := records(t, p)[id]

		return record.Unsent == 0, fmt.Sprintf("record %+v", record)
	})
	t.Logf("the relay sent it after %v", time.Since(began).Round(time.Second))

	await(t, "the announcement to arrive", time.Minute, func() (bool, string) {
		got := announcements(t, p)[id]

		return got.times == first.times+1, fmt.Sprintf("announced %+v", got)
	})
	wantAnnounced(t, p, id, 1)
	wantAccounts(t, p, "unsent", map[string]pipeline.Account{"unsent": {Balance: 1, Payments: 1}})
}
