package idemddb_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
)

// If another worker holds the key, come back when its lease is over.
func ExampleInProgressError() {
	store, _ := inMemory(nil)
	claimed(store, "payment-1")

	receipt, err := idemddb.Do(context.Background(), store, "payment-1", nil, charge)
	if busy, ok := errors.AsType[*idemddb.InProgressError](err); ok {
		fmt.Println("come back after", busy.Until.Sub(noon))

		return
	}

	fmt.Println(receipt, err)
	// Output: come back after 30s
}

// The same key with another input is a bug of its sender, not a duplicate.
func ExampleClaimOptions_fingerprint() {
	store, _ := inMemory(nil)

	for _, amount := range []string{"1250", "1250", "9900"} {
		receipt, err := idemddb.Do(context.Background(), store, "payment-1", &idemddb.ClaimOptions{Fingerprint: amount}, charge)

		switch {
		case errors.Is(err, idemddb.ErrMismatch):
			fmt.Println(amount, "is for a dead-letter queue")
		case err != nil:
			fmt.Println("come back later:", err)
		default:
			fmt.Println(amount, receipt)
		}
	}
	// Output:
	// charging 12.50
	// 1250 receipt 1
	// 1250 receipt 1
	// 9900 is for a dead-letter queue
}

func Example_errMismatch() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	for _, amount := range []string{"1250", "9900"} {
		claim, record, err := store.Claim(ctx, "payment-1", &idemddb.ClaimOptions{Fingerprint: amount})

		switch {
		case errors.Is(err, idemddb.ErrMismatch):
			fmt.Println("dead letter:", err)
		case err != nil:
			fmt.Println("come back later:", err)
		case record != nil:
			fmt.Printf("paid before: %s\n", record.Result)
		default:
			if err := claim.Complete(ctx, nil); !claim.IsDone(err) {
				fmt.Println(err)
			}
		}
	}
	// Output: dead letter: idemddb: claim of key sha256:a-IBemZtKSDe: key was used for another input, which was completed at 2026-01-02T12:00:00Z
}

func Example_errBadKey() {
	store, aws := inMemory(nil)

	receipt, err := idemddb.Do(context.Background(), store, "", nil, charge)
	if errors.Is(err, idemddb.ErrBadKey) {
		fmt.Println("a bug of the caller:", err)
		aws.cost()

		return
	}

	fmt.Println(receipt, err)
	// Output:
	// a bug of the caller: idemddb: claim of key sha256:47DEQpj8HBSa: bad key: it is empty
	// 0 requests, 0 WCU
}

// A record that this version cannot read is left as it is, for an operator.
func Example_errCorrupt() {
	ctx := context.Background()
	store, aws := inMemory(nil)

	if _, err := aws.PutItem(ctx, &dynamodb.PutItemInput{TableName: new("records"), Item: map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: "payments#payment-1"},
		"v":  &types.AttributeValueMemberN{Value: "2"}, // a later version has written it
	}}); err != nil {
		fmt.Println(err)

		return
	}

	receipt, err := idemddb.Do(ctx, store, "payment-1", nil, charge)
	if errors.Is(err, idemddb.ErrCorrupt) {
		fmt.Println("for an operator:", err)

		return
	}

	fmt.Println(receipt, err)
	// Output: for an operator: idemddb: claim of key sha256:a-IBemZtKSDe: record unreadable: it has format version 2, this package knows 1: deploy the version that wrote it
}
