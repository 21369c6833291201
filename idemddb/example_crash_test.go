package idemddb_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// These are the four moments at which a process can die. The first worker of each example just stops.

// If it dies before its claim, nothing was written, and the next worker does the work.
func Example_crashBeforeClaim() {
	store, aws := inMemory(nil)

	dying, die := context.WithCancel(context.Background())
	aws.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
		die() // the process dies while the claim is on its way

		return idemddbtest.LostRequest
	})

	if claim, record, err := store.Claim(dying, "payment-1", nil); claim != nil || record != nil || err == nil {
		fmt.Println("the claim was answered")
	}

	fmt.Println(len(aws.Items("records")), "records")
	aws.Intercept(nil)

	receipt, err := idemddb.Do(context.Background(), store, "payment-1", nil, charge)
	if err != nil {
		fmt.Println(err)

		return
	}

	fmt.Println(receipt)
	// Output:
	// 0 records
	// charging 12.50
	// receipt 1
}

// If it dies after its claim, the key is held until the lease ends. Then the next worker does the work.
func Example_crashAfterClaim() {
	store, aws := inMemory(nil)
	claimed(store, "payment-1") // the process dies

	for range 2 {
		receipt, err := idemddb.Do(context.Background(), store, "payment-1", nil, charge)

		switch {
		case errors.Is(err, idemddb.ErrInProgress):
			fmt.Println("come back later:", err)
			aws.Advance(time.Minute)
		case err != nil:
			fmt.Println(err)
		default:
			fmt.Println(receipt)
		}
	}
	// Output:
	// come back later: idemddb: key sha256:a-IBemZtKSDe is in progress until 2026-01-02T12:00:30Z
	// charging 12.50
	// receipt 1
}

// If it dies after the work, the next worker does the work again. No record can prevent that. Takeover says so, and Fence lets
// the other system refuse the older worker.
func Example_crashAfterWork() {
	ctx := context.Background()
	store, aws := inMemory(nil)
	claimed(store, "payment-1")

	if _, err := charge(ctx); err != nil { // the process dies after it
		fmt.Println(err)
	}

	aws.Advance(time.Minute)

	receipt, err := idemddb.Do(ctx, store, "payment-1", nil, func(ctx context.Context) (string, error) {
		if claim, ok := idemddb.FromContext(ctx); ok && claim.Takeover() {
			fmt.Println("perhaps charged before")
		}

		return charge(ctx)
	})
	if err != nil {
		fmt.Println(err)

		return
	}

	fmt.Println(receipt)
	// Output:
	// charging 12.50
	// perhaps charged before
	// charging 12.50
	// receipt 1
}

// If it dies after the completion, the next worker is answered from the record.
func Example_crashAfterComplete() {
	ctx := context.Background()
	store, _ := inMemory(nil)
	claim := claimed(store, "payment-1")

	receipt, err := charge(ctx)
	if err != nil {
		fmt.Println(err)

		return
	}

	if err := claim.Complete(ctx, []byte(receipt)); !claim.IsDone(err) { // the process dies after it
		fmt.Println(err)

		return
	}

	next, record, err := store.Claim(ctx, "payment-1", nil)
	if err != nil || next != nil {
		fmt.Println("not paid before:", err)

		return
	}

	fmt.Printf("paid before: %s\n", record.Result)
	// Output:
	// charging 12.50
	// paid before: receipt 1
}
