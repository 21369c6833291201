//go:build e2e

package e2e_test

import (
	"context"
	"fmt"
	"path"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddb "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/record"
	"github.com/idemddb/go-idemddb/localstack/pipeline"
)

const drillStack = "e2e-drill"

// The runbook's drill. Each night begins with the text of an alarm or with a line of the function's log, uses the commands that
// it names, and ends with a payment that is right.
func testDrill(t *testing.T) {
	t.Helper()

	p := deploy(t, drillStack, "FunctionTimeout=5", fmt.Sprintf("MaxReceiveCount=%d", maxReceives), "Audit=true")

	// These two break what the others use, so they come before.
	t.Run("a parked message", func(t *testing.T) { drillParked(t, p) })
	t.Run("time to live on the wrong attribute", func(t *testing.T) { drillTimeToLive(t, p) })

	for name, drill := range map[string]func(*testing.T, *pipeline.Pipeline){
		"a stuck key": drillStuck, "a dead letter of a failed key": drillDeadLetter, "an unsent message": drillUnsent,
		"a takeover that doubled something": drillDoubled, "an edit by hand": drillEdited,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			drill(t, p)
		})
	}
}

// One worker has died with its key, and one hangs: it lives, renews its lease, and does nothing else.
func drillStuck(t *testing.T, p *pipeline.Pipeline) {
	t.Helper()

	const dead, hung = "drill-dead", "drill-hung"

	claimAndDie(t, p, dead, time.Second)

	holds, lost := make(chan struct{}), make(chan error, 1)
	store := workers(t, p, 20*time.Second)

	go func() {
		_, err := idemddb.Do(t.Context(), store, hung, nil, func(ctx context.Context) (int, error) {
			close(holds)
			<-ctx.Done()

			return 0, context.Cause(ctx)
		})
		lost <- err
	}()

	select {
	case <-holds:
	case err := <-lost:
		t.Fatalf("the worker that is to hang could not claim its key: %v", err)
	}

	send(t, p, pipeline.Payment(hung, hung, 7))
	lineOf(t, p, "in_progress", "idem show --hash "+record.KeyHash(hung))

	awaitDeath(t, p, dead)

	o := calledBy(t, p, drillStack, "OldestMessage")
	o.idem(0, []string{"list", "held", "stuck"}, "stuck", dead, "held", hung)
	o.idem(0, []string{"release", dead, "--why", "its worker died, and the bank has no such payment", "--yes"}, dead+": released")
	o.idem(0, []string{"release", hung, "--why", "its worker hangs", "--yes"}, "WARNING", hung+": released")
	o.idem(0, []string{"check", "--function", p.FunctionName, "--retention", "720h"},
		"key: pk:HASH:S", `index: "unsent"`, "stream: on, NEW_AND_OLD_IMAGES", `time to live: on`, "clock: within",
		"dynamodb:UpdateItem: works; permissions do not apply", "TransactWriteItems: works; ", "dynamodb:PartiQLInsert: works; ",
		"FunctionResponseTypes has ReportBatchItemFailures", "visibility time-out 30s, at least six times", "dead letters of",
		"ok     retention: records answer for 30d0h")

	select {
	case err := <-lost:
		if err == nil {
			t.Error("the worker that hangs got no error although it has lost its claim")
		}
	case <-time.After(time.Minute): // it renews its lease every ten seconds
		t.Fatalf("the worker that hangs has not lost its claim: %+v", records(t, p))
	}

	send(t, p, pipeline.Payment(dead, dead, 7)) // the message looks as if it had been hidden until now
	o.mended(dead, 7)
	o.mended(hung, 7)
}

// An account was closed by mistake. Its payment has failed for good, and a redrive alone would make a dead letter again.
func drillDeadLetter(t *testing.T, p *pipeline.Pipeline) {
	t.Helper()

	const id = "drill-closed"

	setClosed(t, p, id, "SET closed = :v")
	send(t, p, pipeline.Payment(id, id, 7))
	await(t, "a dead letter", 3*time.Minute, func() (bool, string) {
		letters := depth(t, p, p.DeadLetterQueueUrl) // to receive it would hide it from the redrive for a while

		return letters.Waiting == 1, fmt.Sprintf("%+v", letters)
	})

	o := calledBy(t, p, drillStack, "DeadLetters")
	o.idem(0, []string{"list", "failed"}, id, "account: is closed")
	setClosed(t, p, id, "REMOVE closed")
	o.idem(0, []string{"reopen", id, "--why", "the account is open again", "--yes"}, id+": open")
	redrive(t, p)
	o.mended(id, 7)
}

// setClosed changes the attribute that closes an account, as the program that owns the accounts does.
func setClosed(t *testing.T, p *pipeline.Pipeline, account, expression string) {
	t.Helper()

	in := &dynamodb.UpdateItemInput{TableName: aws.String(p.LedgerTableName), Key: accountKey(account), UpdateExpression: aws.String(expression)}
	if expression != "REMOVE closed" {
		in.ExpressionAttributeValues = map[string]ddb.AttributeValue{":v": &ddb.AttributeValueMemberBOOL{Value: true}}
	}

	if _, err := p.DynamoDB.UpdateItem(t.Context(), in); err != nil {
		t.Fatal(err)
	}
}

// A payment's process has died before it sent the announcement, and no sweep has come yet.
func drillUnsent(t *testing.T, p *pipeline.Pipeline) {
	t.Helper()

	const id = "drill-unsent"

	send(t, p, pipeline.Payment(id, id, 7))
	wantAnnounced(t, p, id, 1)
	awaitDone(t, p, id)
	// The list shows what is due within a minute, for workers whose clock is ahead. The relay sends what is due for a minute. So the
	// operator has almost two before the relay is faster, on a busy machine.
	unsend(t, p, id, pipeline.Payment(id, id, 7), time.Now().Add(50*time.Second))

	o := calledBy(t, p, drillStack, "OldestUnsent")
	o.idem(0, []string{"list", "unsent", "--unsent-index", "unsent"}, id)
	o.send(id, "the relay is late")
	await(t, "the announcement to come again", time.Minute, func() (bool, string) {
		return announcements(t, p)[id].times == 2, ""
	})
	o.mended(id, 7)
}

// Somebody has deleted the queue of the announcements, and made it anew.
func drillParked(t *testing.T, p *pipeline.Pipeline) {
	t.Helper()

	const id = "drill-parked"

	if _, err := p.SQS.DeleteQueue(t.Context(), &sqs.DeleteQueueInput{QueueUrl: &p.CapturedQueueUrl}); err != nil {
		t.Fatal(err)
	}

	send(t, p, pipeline.Payment(id, id, 7))
	await(t, "the announcement to be parked", time.Minute, func() (bool, string) { return records(t, p)[id].Parked == 1, "" })

	if _, err := p.SQS.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String(path.Base(p.CapturedQueueUrl))}); err != nil {
		t.Fatal(err)
	}

	o := calledBy(t, p, drillStack, "ParkedAnnouncements")
	o.idem(0, []string{"list", "parked"}, id)
	o.idem(0, []string{"show", id}, "parked: ")
	o.send(id, "the queue is there again")
	o.idem(1, []string{"list", "parked"})
	o.mended(id, 7)
}

// A worker of an older version wrote to the account beside its record, and died in between. The function took its key over.
func drillDoubled(t *testing.T, p *pipeline.Pipeline) {
	t.Helper()

	const id = "drill-doubled"

	claimAndDie(t, p, id, 8*time.Second)
	credit(t, p, id, 7, 1)
	send(t, p, pipeline.Payment(id, id, 7))

	o := lineOf(t, p, "takeover", "idem show --hash "+record.KeyHash(id))
	await(t, "the payment to be made a second time", time.Minute, func() (bool, string) {
		account := accounts(t, p)[id]

		return account.Payments == 2, ""
	})
	o.idem(0, []string{"show", "--hash", record.KeyHash(id)},
		"payments#"+id, "COMPLETED", "It began 2 times", "may have happened more than once")
	credit(t, p, id, -7, -1) // idem has found the payment; its account is mended where it is kept
	o.mended(id, 7)
}

// A migration has turned Time to Live on for the attribute of another table.
func drillTimeToLive(t *testing.T, p *pipeline.Pipeline) {
	t.Helper()

	for _, change := range []ddb.TimeToLiveSpecification{
		{AttributeName: aws.String("exp"), Enabled: aws.Bool(false)}, {AttributeName: aws.String("ttl"), Enabled: aws.Bool(true)},
	} {
		in := &dynamodb.UpdateTimeToLiveInput{TableName: &p.RecordTableName, TimeToLiveSpecification: &change}
		if _, err := p.DynamoDB.UpdateTimeToLive(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}

	o := calledBy(t, p, drillStack, "OldestMessage") // no alarm is about Time to Live; this one names the command that finds it
	o.idem(2, []string{"check"}, `FAULT  time to live: on "ttl", the records have their end in "exp"`, "To mend it: idem ttl")
	o.idem(0, []string{"ttl", "--yes"}, `time to live is off for "ttl"`)
	o.idem(0, []string{"ttl", "--yes"}, `time to live is on for "exp"`)
	o.idem(0, []string{"check"}, `time to live: on "exp"`)
	o.inTime()
}

// claimAndDie claims a payment's key as a worker does that never settles it.
func claimAndDie(t *testing.T, p *pipeline.Pipeline, id string, lease time.Duration) {
	t.Helper()

	ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "request-of-" + id})
	if claim, record, err := workers(t, p, lease).Claim(ctx, id, nil); claim == nil {
		t.Fatalf("claim of %s: got record %v, error %v, want a claim", id, record, err)
	}
}

// awaitDeath waits until the lease of claimAndDie has ended.
func awaitDeath(t *testing.T, p *pipeline.Pipeline, id string) {
	t.Helper()

	await(t, "the lease of the dead worker to end", 10*time.Second, func() (bool, string) {
		lease := records(t, p)[id].Lease

		return time.Since(lease) > 2*time.Second, lease.String()
	})
}

// workers is a store beside that of the function, with a lease of its own.
func workers(t *testing.T, p *pipeline.Pipeline, lease time.Duration) *idemddb.Store {
	t.Helper()

	store, err := idemddb.New(p.DynamoDB, p.RecordTableName, "payments", &idemddb.Options{Lease: lease, Retention: 30 * 24 * time.Hour})

	return must(t, store, err)
}

// credit changes an account beside the records.
func credit(t *testing.T, p *pipeline.Pipeline, account string, amount, payments int) {
	t.Helper()

	if _, err := p.DynamoDB.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String(p.LedgerTableName), Key: accountKey(account),
		UpdateExpression:          aws.String("ADD balance :amount, payments :one"),
		ExpressionAttributeValues: map[string]ddb.AttributeValue{":amount": numberOf(amount), ":one": numberOf(payments)},
	}); err != nil {
		t.Fatal(err)
	}
}

func accountKey(account string) map[string]ddb.AttributeValue {
	return map[string]ddb.AttributeValue{"pk": &ddb.AttributeValueMemberS{Value: "account#" + account}}
}

func numberOf(n int) ddb.AttributeValue { return &ddb.AttributeValueMemberN{Value: strconv.Itoa(n)} }
