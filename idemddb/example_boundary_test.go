package idemddb_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb"
)

// traced adds to a client by embedding it.
type traced struct{ idemddb.DynamoDB }

func (t traced) UpdateItem(
	ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	fmt.Println("UpdateItem", *in.TableName)

	return t.DynamoDB.UpdateItem(ctx, in, opts...)
}

// A client of one's own around the SDK's, such as one that traces.
func ExampleDynamoDB() {
	_, aws := inMemory(nil)

	store, err := idemddb.New(traced{aws.DB}, "records", "payments", nil)
	fmt.Println(err)
	fmt.Println(idemddb.Do(context.Background(), store, "payment-1", nil, charge))
	// Output:
	// <nil>
	// UpdateItem records
	// charging 12.50
	// UpdateItem records
	// receipt 1 <nil>
}

// Stores of two namespaces share a table and never a key.
func ExampleStore() {
	ctx := context.Background()
	payments, aws := inMemory(nil)

	refunds, err := idemddb.New(aws.DB, "records", "refunds", nil)
	fmt.Println(err)

	fmt.Println(idemddb.Do(ctx, payments, "order-17", nil, charge))
	fmt.Println(idemddb.Do(ctx, refunds, "order-17", nil, func(context.Context) (string, error) { return "refunded", nil }))
	// Output:
	// <nil>
	// charging 12.50
	// receipt 1 <nil>
	// refunded <nil>
}

// One claim, from beginning to end.
func ExampleClaim() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	claim, record, err := store.Claim(ctx, "payment-1", nil)
	fmt.Println(claim != nil, record != nil, err)
	fmt.Println("attempt", claim.Attempt(), "until", claim.Deadline().UTC())
	fmt.Println(claim.Complete(ctx, []byte("receipt 1")))

	claim, record, err = store.Claim(ctx, "payment-1", nil)
	fmt.Println(claim != nil, record != nil, err)
	// Output:
	// true false <nil>
	// attempt 1 until 2026-01-02 12:00:30 +0000 UTC
	// <nil>
	// false true <nil>
}
