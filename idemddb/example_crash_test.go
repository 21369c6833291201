package idemddb_test

import (
	"context"
	"fmt"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// The four moments at which a process can die. The first worker of each example just stops.

// Before its claim: nothing was written, the next worker begins.
func Example_crashBeforeClaim() {
	ctx := context.Background()
	store, aws := inMemory(nil)

	dying, die := context.WithCancel(ctx)
	aws.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
		die() // while the claim is on its way

		return idemddbtest.LostRequest
	})

	_, _, err := store.Claim(dying, "payment-1", nil)
	fmt.Println(err != nil, len(aws.Items("records")), "records")
	aws.Intercept(nil)

	fmt.Println(idemddb.Do(ctx, store, "payment-1", nil, charge))
	// Output:
	// true 0 records
	// charging 12.50
	// receipt 1 <nil>
}

// After its claim: the key is held until the lease ends, then the next worker does the work.
func Example_crashAfterClaim() {
	ctx := context.Background()
	store, aws := inMemory(nil)

	_, _, err := store.Claim(ctx, "payment-1", nil) // the process dies
	fmt.Println(err)

	_, err = idemddb.Do(ctx, store, "payment-1", nil, charge)
	fmt.Println(err)
	aws.Advance(time.Minute)
	fmt.Println(idemddb.Do(ctx, store, "payment-1", nil, charge))
	// Output:
	// <nil>
	// idemddb: key sha256:a-IBemZtKSDe is in progress until 2026-01-02T12:00:30Z
	// charging 12.50
	// receipt 1 <nil>
}

// After the work: the next worker does it again. No record can prevent that; Takeover tells it, and Fence lets the other
// system refuse.
func Example_crashAfterWork() {
	ctx := context.Background()
	store, aws := inMemory(nil)

	_, _, err := store.Claim(ctx, "payment-1", nil)
	fmt.Println(err)
	fmt.Println(charge(ctx)) // the process dies
	aws.Advance(time.Minute)

	fmt.Println(idemddb.Do(ctx, store, "payment-1", nil, func(ctx context.Context) (string, error) {
		if claim, _ := idemddb.FromContext(ctx); claim.Takeover() {
			fmt.Println("may have been charged before")
		}

		return charge(ctx)
	}))
	// Output:
	// <nil>
	// charging 12.50
	// receipt 1 <nil>
	// may have been charged before
	// charging 12.50
	// receipt 1 <nil>
}

// After the completion: the next worker is answered from the record.
func Example_crashAfterComplete() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	claim, _, err := store.Claim(ctx, "payment-1", nil)
	fmt.Println(err)

	receipt, err := charge(ctx)
	fmt.Println(err, claim.Complete(ctx, []byte(receipt))) // the process dies

	_, record, err := store.Claim(ctx, "payment-1", nil)
	fmt.Println(string(record.Result), err)
	// Output:
	// <nil>
	// charging 12.50
	// <nil> <nil>
	// receipt 1 <nil>
}
