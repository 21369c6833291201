//go:build e2e || aws

package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddb "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/idemddb/go-idemddb/localstack/pipeline"
)

const many, amount = 200, 7

// testLoad sends 200 payments, each twice. inFlight returns how many invocations are under way; nil where that is not known.
func testLoad(t *testing.T, p *pipeline.Pipeline, inFlight func() int) {
	t.Helper()

	var bodies []string
	for range 2 {
		for i := range many {
			bodies = append(bodies, pipeline.Payment(fmt.Sprintf("load-%d", i), fmt.Sprintf("account-%d", i%5), amount))
		}
	}

	began := time.Now()
	send(t, p, bodies...)
	most := 1

	await(t, "200 payments to be done and the queue to be empty", 5*time.Minute, func() (bool, string) {
		if inFlight != nil {
			most = max(most, inFlight())
		}

		done, sight := doneWithPrefix(t, p, "load-")
		queue := depth(t, p, p.QueueUrl)

		return done == many && queue == pipeline.Depth{}, fmt.Sprintf("%d done, queue %+v, %s", done, queue, sight)
	})
	t.Logf("200 payments twice in %v, in %d processes at a time at least", time.Since(began).Round(time.Second), most)

	if inFlight != nil && most < 2 {
		t.Error("batches came one by one: nothing was in flight beside another")
	}

	wantAccounts(t, p, "account-", loadedAccounts())

	wantEntries(t, p, "load-", many)
	wantAnnounced(t, p, "load-", many)

	if letters := depth(t, p, p.DeadLetterQueueUrl); letters != (pipeline.Depth{}) {
		t.Errorf("dead letters: %+v, want none", letters)
	}
}

// loadedAccounts are those of testLoad.
func loadedAccounts() map[string]pipeline.Account {
	accounts := map[string]pipeline.Account{}
	for i := range 5 {
		accounts[fmt.Sprintf("account-%d", i)] = pipeline.Account{Balance: 40 * amount, Payments: 40}
	}

	return accounts
}

// One message is no payment, one is for an account that refuses it: both become dead letters, after the template's number of
// receives and no sooner. Then the account is mended, the message that cannot be is dropped, and the rest redriven.
func testPoison(t *testing.T, p *pipeline.Pipeline) {
	t.Helper()

	// DynamoDB cannot add a number to this balance.
	putAccount(t, p, "broken", &ddb.AttributeValueMemberS{Value: "closed"})

	began := time.Now()
	bodies := []string{pipeline.Payment("poison", "good-0", -1), pipeline.Payment("for-broken", "broken", 5)}
	for i := range 8 {
		id := fmt.Sprintf("good-%d", i)
		bodies = append(bodies, pipeline.Payment(id, id, 1))
	}

	send(t, p, bodies...)
	await(t, "the good payments to be done", time.Minute, func() (bool, string) {
		done, sight := doneWithPrefix(t, p, "good-")

		return done == 8, sight
	})

	if letters := depth(t, p, p.DeadLetterQueueUrl); letters.Waiting > 0 {
		t.Errorf("dead letters %+v after %v, before the receives were used up", letters, time.Since(began))
	}

	attempts := 0

	await(t, "both bad messages to become dead letters", time.Duration(maxReceives+1)*hidden+time.Minute, func() (bool, string) {
		letters, record := depth(t, p, p.DeadLetterQueueUrl), records(t, p)["for-broken"]
		if letters.Waiting == 0 && record.Attempts > attempts {
			attempts = record.Attempts
			t.Logf("attempt %d at the refused payment after %v", attempts, time.Since(began).Round(time.Second))
		}

		return letters.Waiting == 2, fmt.Sprintf("dead letters %+v, queue %+v, record %+v", letters, depth(t, p, p.QueueUrl), record)
	})

	// every receive of the refused payment ran it, so its attempts are the receives
	if got := records(t, p)["for-broken"]; got.Attempts != maxReceives || got.State != "INPROGRESS" {
		t.Errorf("record of the refused payment %+v, want %d attempts, as the template has receives, and a key that is free", got, maxReceives)
	}

	if got := records(t, p)["poison"]; got.Attempts != 1 || got.State != "FAILED" {
		t.Errorf("record of the poison %+v, want one attempt: it failed for good", got)
	}

	wantGoodOnce(t, p)
	putAccount(t, p, "broken", &ddb.AttributeValueMemberN{Value: "0"}) // this mends the cause
	drop(t, p, "poison")
	await(t, "one dead letter to be left", time.Minute, func() (bool, string) {
		letters := depth(t, p, p.DeadLetterQueueUrl)

		return letters == pipeline.Depth{Waiting: 1}, fmt.Sprintf("%+v", letters)
	})
	redrive(t, p)
	await(t, "the redriven payment to be done", time.Minute, func() (bool, string) {
		record, queue := records(t, p)["for-broken"], depth(t, p, p.QueueUrl)

		return record.State == "COMPLETED" && queue == pipeline.Depth{}, fmt.Sprintf("record %+v, queue %+v, dead letters %+v", record, queue, depth(t, p, p.DeadLetterQueueUrl))
	})

	if letters := depth(t, p, p.DeadLetterQueueUrl); letters != (pipeline.Depth{}) {
		t.Errorf("dead letters after the redrive: %+v, want none", letters)
	}

	wantGoodOnce(t, p)
	wantAccounts(t, p, "broken", map[string]pipeline.Account{"broken": {Balance: 5, Payments: 1}})
}

// wantGoodOnce wants each good payment once.
func wantGoodOnce(t *testing.T, p *pipeline.Pipeline) {
	t.Helper()
	wantAccounts(t, p, "good-", eachOnce("good-", 8))
}

func putAccount(t *testing.T, p *pipeline.Pipeline, name string, balance ddb.AttributeValue) {
	t.Helper()

	if _, err := p.DynamoDB.PutItem(t.Context(), &dynamodb.PutItemInput{
		TableName: aws.String(p.LedgerTableName),
		Item:      map[string]ddb.AttributeValue{"pk": &ddb.AttributeValueMemberS{Value: "account#" + name}, "balance": balance},
	}); err != nil {
		t.Fatal(err)
	}
}

// drop deletes the dead letter of a payment, as an operator does who needs it no more.
func drop(t *testing.T, p *pipeline.Pipeline, id string) {
	t.Helper()

	letters, err := p.DeadLetters(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	for _, letter := range letters {
		if strings.Contains(aws.ToString(letter.Body), id) {
			if _, err := p.SQS.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: aws.String(p.DeadLetterQueueUrl), ReceiptHandle: letter.ReceiptHandle}); err != nil {
				t.Fatal(err)
			}

			return
		}
	}

	t.Fatalf("no dead letter of %s among %d", id, len(letters))
}

func redrive(t *testing.T, p *pipeline.Pipeline) {
	t.Helper()

	out, err := p.SQS.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: aws.String(p.DeadLetterQueueUrl), AttributeNames: []sqsAttribute{"QueueArn"}})
	if err != nil {
		t.Fatal(err)
	}

	if _, err := p.SQS.StartMessageMoveTask(t.Context(), &sqs.StartMessageMoveTaskInput{SourceArn: aws.String(out.Attributes["QueueArn"])}); err != nil {
		t.Fatal(err)
	}
}
