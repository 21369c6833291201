package idemddb_test

import (
	"context"
	"fmt"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

// A claim lasts as long as its lease says.
func ExampleClaim_Deadline() {
	store, _ := inMemory(&idemddb.Options{Lease: 20 * time.Second})

	claim, _, err := store.Claim(context.Background(), "payment-1", nil)
	fmt.Println(claim.Deadline().Sub(noon), err)
	// Output: 20s <nil>
}

// Long work in steps renews its lease between them.
func ExampleClaim_Extend() {
	ctx := context.Background()
	store, aws := inMemory(&idemddb.Options{Lease: 20 * time.Second})

	claim, _, err := store.Claim(ctx, "payment-1", nil)
	fmt.Println(claim.Deadline().Sub(noon), err)

	aws.Advance(15 * time.Second) // a step took that long
	fmt.Println(claim.Extend(ctx))
	fmt.Println(claim.Deadline().Sub(noon))
	// Output:
	// 20s <nil>
	// <nil>
	// 35s
}

// Keep renews the lease for as long as the work takes. Its context ends when the claim is lost, and carries it.
func ExampleClaim_Keep() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	claim, _, err := store.Claim(ctx, "payment-1", nil)
	if err != nil || claim == nil {
		fmt.Println("busy, or done before", err)

		return
	}

	work, stop := claim.Keep(ctx)
	receipt, err := charge(work)
	stop() // before the claim is settled

	fmt.Println(err)
	fmt.Println(claim.Complete(ctx, []byte(receipt)))
	// Output:
	// charging 12.50
	// <nil>
	// <nil>
}
