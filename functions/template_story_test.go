package functions_test

import (
	"bytes"
	"cmp"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/checks/audited"
)

// story is what the program was given, and what it made of it.
type story struct {
	batches []events.SQSEvent
	answers []string
	printed string // to its standard output: the log
}

// message is one that an invocation was given.
func (s story) message(t *testing.T, requestID, messageID string) events.SQSMessage {
	t.Helper()

	for i, batch := range s.batches {
		for _, m := range batch.Records {
			if requestID == fmt.Sprintf("r-%d", i+1) && m.MessageId == messageID {
				return m
			}
		}
	}

	t.Fatalf("there was no message %q in an invocation %q", messageID, requestID)

	return events.SQSMessage{}
}

// The name and the version that the program runs under: a function's name has its stack's in it.
const (
	functionName    = "stack-Payments-1A2B3C"
	functionVersion = "7"
)

// payments delivers messages to the payments function.
func (a *fakeAWS) payments(t *testing.T, template template) (observed story) {
	t.Helper()

	observed.printed = a.run(t, template, "Payments", func(invoke func(event any) string) { a.deliver(t, &observed, invoke) })

	return observed
}

// relay lets the relay sweep: what payments left unsent, and then without a permission.
func (a *fakeAWS) relay(t *testing.T, template template) (observed story) {
	t.Helper()

	a.age(t, paymentKey("payment-6"))
	a.age(t, apiKey("unsent"))

	observed.printed = a.run(t, template, "Relay", func(invoke func(event any) string) {
		observed.answers = append(observed.answers, invoke(struct{}{}))

		a.fault(indexARN, "AccessDeniedException")

		observed.answers = append(observed.answers, invoke(struct{}{}))
	})

	return observed
}

// run builds a function, starts it as Lambda does and has it invoked. It returns what the function prints.
func (a *fakeAWS) run(t *testing.T, template template, name string, work func(invoke func(event any) string)) string {
	t.Helper()

	program := filepath.Join(t.TempDir(), "bootstrap")
	function := template.functions[name]

	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../"+function.CodeURI).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	var printed, complaints bytes.Buffer

	cmd := exec.CommandContext(t.Context(), program)
	cmd.Stdout, cmd.Stderr = &printed, &complaints
	cmd.Env = []string{
		"AWS_ENDPOINT_URL=" + a.server.URL, "AWS_REGION=eu-west-1", "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local", "AWS_EC2_METADATA_DISABLED=true",
		"AWS_LAMBDA_FUNCTION_NAME=" + functionName, "AWS_LAMBDA_FUNCTION_VERSION=" + functionVersion,
		"AWS_LAMBDA_LOG_FORMAT=" + function.LoggingConfig.LogFormat,
		"AWS_LAMBDA_LOG_LEVEL=" + cmp.Or(string(template.Parameters[function.LoggingConfig.ApplicationLogLevel].Default), function.LoggingConfig.ApplicationLogLevel),
	}

	for name, value := range function.Environment.Variables {
		if p, ok := template.Parameters[value]; ok {
			value = string(p.Default)
		}

		if template.Resources[value].Type == "AWS::SQS::Queue" { // !Ref is its URL
			value = a.server.URL + "/111122223333/" + value
		}

		cmd.Env = append(cmd.Env, name+"="+value)
	}

	invoke, end := started(t, cmd)

	work(invoke)
	end()

	// The errors of an invocation are there, which are those of the story.
	if text := complaints.String(); text != "" && !strings.Contains(text, "errorMessage") {
		t.Errorf("on its standard error, where nothing is JSON:\n%s", text)
	}

	return printed.String()
}

// deliver sends messages to a program, among faults.
func (a *fakeAWS) deliver(t *testing.T, observed *story, invoke func(event any) string) {
	t.Helper()

	deliver := func(receives int, bodies ...string) {
		var batch events.SQSEvent
		for i, body := range bodies {
			batch.Records = append(batch.Records, events.SQSMessage{
				MessageId: fmt.Sprintf("m-%d", i+1), ReceiptHandle: "r", EventSourceARN: "arn:aws:sqs:eu-west-1:111122223333:payments", Body: body,
				Attributes: map[string]string{"ApproximateReceiveCount": strconv.Itoa(receives)},
			})
		}

		observed.batches = append(observed.batches, batch)
		observed.answers = append(observed.answers, invoke(batch))
	}

	one, two, three := payment("payment-1", someAmount), payment("payment-2", someAmount), payment("payment-3", someAmount)
	isBack := []string{two} // after it come new ones, so many that some of them are sure to travel in one transaction, which a read precedes

	for n := range 9 {
		isBack = append(isBack, payment(fmt.Sprintf("payment-1%d", n), someAmount))
	}

	negative, other := payment("payment-4", "-"+someAmount), payment("payment-2", someAmount+"1")

	a.setBalance(t, &types.AttributeValueMemberS{Value: "broken"})
	deliver(1, one) // DynamoDB cannot add to its account, so the claim is released
	a.setBalance(t, &types.AttributeValueMemberN{Value: "0"})
	deliver(2, one)                                 // it is claimed, and completed with its effects
	deliver(1, one, two, three)                     // one is a duplicate, the others are new
	deliver(1, negative, other, notAPayment)        // the first fails for good, the second uses another payment's id, the third has no key
	deliver(2, negative)                            // it has failed for good before
	deliver(2, isBack...)                           // one is a duplicate that came back; the first delivery of the others ended without a trace
	a.hold(t, paymentKey("payment-3"), time.Minute) //
	deliver(1, three)                               // another worker holds its key
	a.expire(t, paymentKey("payment-1"))            //
	deliver(1, one)                                 // its retention is over, and the entry refuses it
	a.meanwhile(func() { a.steal(t, paymentKey("payment-5")) })
	deliver(2, payment("payment-5", someAmount)) // another worker takes the key over before the completion, so the payment is not counted
	a.fault(capturedARN, "AccessDenied")
	deliver(1, payment("payment-6", someAmount)) // it is counted, and its announcement is not sent
	a.fault(capturedARN, "QueueDoesNotExist")
	deliver(1, payment("payment-7", someAmount)) // it is counted, and its announcement is parked
	a.fault(capturedARN, "")
	a.cutNext(recordsARN)
	deliver(1, payment("payment-8", someAmount)) // the answer to its transaction is cut, and the transaction is sent again
}

// Of the story's deliveries.
const (
	bookedBatch = 8
	fencedBatch = 9
	unsentBatch = 10
	parkedBatch = 11
)

// What must not be in a log. The time in milliseconds has 13 digits.
const (
	someAccount = "account-of-somebody"
	someAmount  = "31415926535897932"
	notAPayment = "some words, not a payment"
)

func payment(id, amount string) string {
	return fmt.Sprintf(`{"paymentId":%q,"account":%q,"amount":%s}`, id, someAccount, amount)
}

// fault has requests to a resource refused with an error, until that is "".
func (a *fakeAWS) fault(resource, code string) {
	a.mu.Lock()
	defer a.mu.Unlock()

	a.faults[resource] = code
}

// cutNext has the connection cut in the middle of the next answer of a resource.
func (a *fakeAWS) cutNext(resource string) {
	a.mu.Lock()
	defer a.mu.Unlock()

	a.cut = resource
}

// meanwhile has f called, with a's mutex held, while the next payment is at work.
func (a *fakeAWS) meanwhile(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()

	a.atLedger = f
}

// paymentKey is the partition key of a payment's record.
func paymentKey(id string) string { return "payments#" + id }

// hold makes a record one that its worker is still at.
func (a *fakeAWS) hold(t *testing.T, record string, lease time.Duration) {
	t.Helper()

	a.change(t, record, "SET st = :st, lease = :lease", map[string]types.AttributeValue{
		":st":    &types.AttributeValueMemberS{Value: "INPROGRESS"},
		":lease": &types.AttributeValueMemberN{Value: strconv.FormatInt(time.Now().Add(lease).UnixMilli(), 10)},
	})
}

// steal gives a record to another worker.
func (a *fakeAWS) steal(t *testing.T, record string) {
	t.Helper()

	a.change(t, record, "SET own = :own, fence = fence + :one", map[string]types.AttributeValue{
		":own": &types.AttributeValueMemberS{Value: "another/1"},
		":one": &types.AttributeValueMemberN{Value: "1"},
	})
}

// age makes the messages of a record ones that have not been sent for an hour.
func (a *fakeAWS) age(t *testing.T, record string) {
	t.Helper()

	a.change(t, record, "SET due = :due", map[string]types.AttributeValue{
		":due": &types.AttributeValueMemberN{Value: strconv.FormatInt(time.Now().Add(-time.Hour).UnixMilli(), 10)},
	})
}

// setBalance sets the balance of the account.
func (a *fakeAWS) setBalance(t *testing.T, balance types.AttributeValue) {
	t.Helper()

	if _, err := a.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("LedgerTable"), Item: map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: "account#" + someAccount}, "balance": balance,
	}}); err != nil {
		t.Fatal(err)
	}
}

// expire ends the retention of a record, an hour ago.
func (a *fakeAWS) expire(t *testing.T, record string) {
	t.Helper()

	a.change(t, record, "SET exp = :exp, lease = :zero", map[string]types.AttributeValue{
		":exp":  &types.AttributeValueMemberN{Value: strconv.FormatInt(time.Now().Add(-time.Hour).Unix(), 10)},
		":zero": &types.AttributeValueMemberN{Value: "0"},
	})
}

func (a *fakeAWS) change(t *testing.T, record, update string, values map[string]types.AttributeValue) {
	t.Helper()

	for _, item := range a.db.Items("RecordTable") {
		key, _ := item["pk"].(*types.AttributeValueMemberS)
		if key.Value != record {
			continue
		}

		a.edits++
		audited.ByHand(a.db, func() {
			if _, err := a.db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
				TableName: aws.String("RecordTable"), Key: map[string]types.AttributeValue{"pk": key},
				UpdateExpression: &update, ExpressionAttributeValues: values,
			}); err != nil {
				t.Error(err)
			}
		})

		return
	}

	t.Errorf("no record %s", record)
}

// retention is for how long a completed record of the program answers.
func (a *fakeAWS) retention(t *testing.T) time.Duration {
	t.Helper()

	for _, item := range a.db.Items("RecordTable") {
		if item["outbox"] != nil || item["parked"] != nil {
			continue // it is kept until its announcement is sent
		}

		key, _ := item["pk"].(*types.AttributeValueMemberS)
		if key.Value == paymentKey("payment-1") || !strings.HasPrefix(key.Value, paymentKey("")) {
			continue // it was made to expire, or is the API's
		}

		state, _ := item["st"].(*types.AttributeValueMemberS)
		end, _ := item["exp"].(*types.AttributeValueMemberN)
		done, _ := item["done"].(*types.AttributeValueMemberN)

		if state == nil || end == nil || done == nil || state.Value != "COMPLETED" {
			continue
		}

		ends, began := text(end.Value).int(t), text(done.Value).int(t)

		return (time.Duration(ends)*time.Second - time.Duration(began)*time.Millisecond).Truncate(time.Minute)
	}

	t.Fatal("no completed record")

	return 0
}
