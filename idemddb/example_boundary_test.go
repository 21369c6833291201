package idemddb_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb"
)

// client is what a Store can use of a client: the two calls that it needs, shared requests, and transactions.
type client interface {
	idemddb.DynamoDB
	idemddb.Batcher
	idemddb.Transactor
}

// traced adds to a client by embedding it, with all that a Store can use.
type traced struct{ client }

func (t traced) UpdateItem(
	ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	fmt.Println("UpdateItem", *in.TableName)

	return t.client.UpdateItem(ctx, in, opts...)
}

// A program may put its own client around that of the SDK, such as one that traces.
func ExampleDynamoDB() {
	_, aws := inMemory(nil)

	store, err := idemddb.New(traced{aws.DB}, "records", "payments", nil)
	if err != nil {
		fmt.Println(err)

		return
	}

	receipt, err := idemddb.Do(context.Background(), store, "payment-1", nil, charge)
	if err != nil {
		fmt.Println(err)

		return
	}

	fmt.Println(receipt)
	// Output:
	// UpdateItem records
	// charging 12.50
	// UpdateItem records
	// receipt 1
}

// A decorator that has the two required methods only cannot write effects. New says so where Options.Senders announces them.
func ExampleTransactor() {
	_, aws := inMemory(nil)

	_, err := idemddb.New(decorated{aws.DB}, "records", "payments", &idemddb.Options{Senders: map[string]idemddb.Sender{"receipts": nil}})
	fmt.Println(err)

	store, err := idemddb.New(decorated{aws.DB}, "records", "payments", nil)
	if err != nil {
		fmt.Println(err)

		return
	}

	_, err = store.Commit(context.Background(), "payment-1", nil, nil, idemddb.Effects{})
	fmt.Println(err)
	// Output:
	// idemddb: Options.Senders: messages are written as effects: the client does not have the method TransactWriteItems, without which no effects can be written; pass a *dynamodb.Client, or a decorator that is an idemddb.Transactor
	// idemddb: commit: effects cannot be written: the client does not have the method TransactWriteItems, without which no effects can be written; pass a *dynamodb.Client, or a decorator that is an idemddb.Transactor
}

// The Stores of two namespaces share a table and never a key.
func ExampleStore() {
	ctx := context.Background()
	payments, aws := inMemory(nil)

	refunds, err := idemddb.New(aws.DB, "records", "refunds", nil)
	if err != nil {
		fmt.Println(err)

		return
	}

	refund := func(context.Context) (string, error) { return "refunded", nil }

	for _, run := range []func() (string, error){
		func() (string, error) { return idemddb.Do(ctx, payments, "order-17", nil, charge) },
		func() (string, error) { return idemddb.Do(ctx, refunds, "order-17", nil, refund) },
	} {
		result, err := run()
		if err != nil {
			fmt.Println(err)

			return
		}

		fmt.Println(result)
	}
	// Output:
	// charging 12.50
	// receipt 1
	// refunded
}

// A caller must handle all three answers. Here the second call gets the record of the first.
func ExampleClaim() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	for range 2 {
		claim, record, err := store.Claim(ctx, "payment-1", nil)

		switch {
		case err != nil:
			fmt.Println("come back later:", err)
		case record != nil:
			fmt.Printf("paid before: %s\n", record.Result)
		default:
			fmt.Println("attempt", claim.Attempt(), "until", claim.Deadline().UTC())

			if err := claim.Complete(ctx, []byte("receipt 1")); !claim.IsDone(err) {
				fmt.Println(err)
			}
		}
	}
	// Output:
	// attempt 1 until 2026-01-02 12:00:30 +0000 UTC
	// paid before: receipt 1
}
