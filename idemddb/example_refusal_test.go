package idemddb_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
)

// The key is held by another worker: come back when its lease is over.
func ExampleInProgressError() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	_, _, err := store.Claim(ctx, "payment-1", nil)
	fmt.Println(err)

	_, err = idemddb.Do(ctx, store, "payment-1", nil, charge)
	if busy, ok := errors.AsType[*idemddb.InProgressError](err); ok {
		fmt.Println("come back after", busy.Until.Sub(noon))
	}
	// Output:
	// <nil>
	// come back after 30s
}

// The same key with another input is a bug of its sender, not a duplicate.
func ExampleClaimOptions_fingerprint() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	for _, amount := range []string{"1250", "1250", "9900"} {
		_, err := idemddb.Do(ctx, store, "payment-1", &idemddb.ClaimOptions{Fingerprint: amount}, charge)
		fmt.Println(amount, errors.Is(err, idemddb.ErrMismatch))
	}
	// Output:
	// charging 12.50
	// 1250 false
	// 1250 false
	// 9900 true
}

func Example_errMismatch() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	claim, _, err := store.Claim(ctx, "payment-1", &idemddb.ClaimOptions{Fingerprint: "1250"})
	fmt.Println(err, claim.Complete(ctx, nil))

	_, _, err = store.Claim(ctx, "payment-1", &idemddb.ClaimOptions{Fingerprint: "9900"})
	fmt.Println(err)
	// Output:
	// <nil> <nil>
	// idemddb: claim of key sha256:a-IBemZtKSDe: key was used for another input
}

func Example_errBadKey() {
	store, aws := inMemory(nil)

	_, _, err := store.Claim(context.Background(), "", nil)
	fmt.Println(errors.Is(err, idemddb.ErrBadKey))
	aws.cost()
	// Output:
	// true
	// 0 requests, 0 write units
}

// A record that this version can't read is left as it is, for an operator.
func Example_errCorrupt() {
	ctx := context.Background()
	store, aws := inMemory(nil)

	_, err := aws.PutItem(ctx, &dynamodb.PutItemInput{TableName: new("records"), Item: map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: "payments#payment-1"},
		"v":  &types.AttributeValueMemberN{Value: "2"}, // written by a later version
	}})
	fmt.Println(err)

	_, err = idemddb.Do(ctx, store, "payment-1", nil, charge)
	fmt.Println(errors.Is(err, idemddb.ErrCorrupt))
	fmt.Println(err)
	// Output:
	// <nil>
	// true
	// idemddb: claim of key sha256:a-IBemZtKSDe: record unreadable: it has format version 2, this package knows 1: deploy the version that wrote it
}
