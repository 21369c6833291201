package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/functions/payments/ledger"
	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// toOthers names the target of the announcements, to which another process sends.
var toOthers = map[string]idemddb.Sender{ledger.Captured: nil}

// The payment is sent twice, in two messages, and is made once.
func ExampleLedger_Pay() {
	db, err := exampleDB()
	if err != nil {
		fmt.Println(err)

		return
	}

	store, err := idemddb.New(db, "records", "payments", &idemddb.Options{Senders: toOthers})
	if err != nil {
		fmt.Println(err)

		return
	}

	accounts, err := ledger.New("accounts", nil)
	if err != nil {
		fmt.Println(err)

		return
	}

	opts := accounts.Options()
	opts.Logger = slog.New(slog.DiscardHandler)
	handler := lambdawrap.SQS(store, accounts.Pay, opts)

	for _, id := range []string{"m-1", "m-2"} {
		response, err := handler(context.Background(), events.SQSEvent{Records: []events.SQSMessage{{
			MessageId: id, EventSourceARN: "arn:aws:sqs:eu-west-1:111122223333:payments",
			Body:       `{"paymentId":"p-1","account":"a-1","amount":1250}`,
			Attributes: map[string]string{"ApproximateReceiveCount": "1"},
		}}})
		fmt.Println(len(response.BatchItemFailures), "failed,", err)
	}

	fmt.Println(account(db))
	// Output:
	// 0 failed, <nil>
	// 0 failed, <nil>
	// [balance 1250 payments 1]
}

// The same payment without the ledger: claim, a write of its own, completion. This is not exact. If the process dies between the
// write and the completion, no record says that the write was made. The next worker takes the key over when the lease has ended,
// and makes the write again. A reply to the write that is lost leaves the same doubt. Only one transaction of both, as in
// [ledger.Ledger.Pay], has no such moment.
func Example_ownWrite() {
	db, err := exampleDB()
	if err != nil {
		fmt.Println(err)

		return
	}

	clock := idemddbtest.NewClock(time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC))

	store, err := idemddb.New(db, "records", "payments", &idemddb.Options{Now: clock.Now, Senders: toOthers})
	if err != nil {
		fmt.Println(err)

		return
	}

	pay := func(ctx context.Context, dies bool) error {
		claim, record, err := store.Claim(ctx, "p-1", nil)
		if err != nil || record != nil {
			return err // the key is in progress elsewhere, or done
		}

		if _, err := db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName:        aws.String("accounts"),
			Key:              map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "account#a-1"}},
			UpdateExpression: aws.String("ADD balance :amount, payments :one"),
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":amount": &types.AttributeValueMemberN{Value: "1250"}, ":one": &types.AttributeValueMemberN{Value: "1"},
			},
		}); err != nil {
			return errors.Join(err, claim.Release(ctx, err)) // nobody knows whether the write was made
		}

		if dies {
			return nil // the process ends here
		}

		if err := claim.Complete(ctx, nil); !claim.IsDone(err) {
			return err
		}

		return nil
	}

	fmt.Println(pay(context.Background(), true))
	clock.Advance(time.Minute) // the lease ends, and the message is delivered again
	fmt.Println(pay(context.Background(), false))
	fmt.Println(account(db))
	// Output:
	// <nil>
	// <nil>
	// [balance 2500 payments 2]
}

// exampleDB has the two tables of the payments function.
func exampleDB() (*idemddbtest.DB, error) {
	db := idemddbtest.New(nil)
	_, errRecords := db.CreateTable(context.Background(), idemddbtest.CreateTable("records", ""))
	_, errAccounts := db.CreateTable(context.Background(), idemddbtest.CreateTable("accounts", ""))

	return db, errors.Join(errRecords, errAccounts)
}

// account returns the numbers of the account a-1.
func account(db *idemddbtest.DB) (texts []string) {
	item := db.Item("accounts", map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "account#a-1"}})

	for _, name := range []string{"balance", "payments"} {
		if v, ok := item[name].(*types.AttributeValueMemberN); ok {
			texts = append(texts, name, v.Value)
		}
	}

	return texts
}
