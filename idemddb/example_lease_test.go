package idemddb_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

// A claim lasts for Options.Lease, and no longer than the deadline of its context.
func ExampleClaim_Deadline() {
	store, _ := inMemory(&idemddb.Options{Lease: 20 * time.Second})

	claim, record, err := store.Claim(context.Background(), "payment-1", nil)
	if err != nil || record != nil {
		fmt.Println("in progress, or paid before:", err)

		return
	}

	fmt.Println(claim.Deadline().Sub(noon))
	// Output: 20s
}

// Long work in steps renews its lease between them.
func ExampleClaim_Extend() {
	ctx := context.Background()
	store, aws := inMemory(&idemddb.Options{Lease: 20 * time.Second})

	claim, record, err := store.Claim(ctx, "payment-1", nil)
	if err != nil || record != nil {
		fmt.Println("in progress, or paid before:", err)

		return
	}

	aws.Advance(15 * time.Second) // a step took that long

	if err := claim.Extend(ctx); err != nil {
		fmt.Println("stop the work:", err)

		return
	}

	fmt.Println(claim.Deadline().Sub(noon))
	// Output: 35s
}

// Keep renews the lease for as long as the work takes. Its context carries the claim, and ends when the claim is lost.
func ExampleClaim_Keep() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	pay := func(key string) error {
		claim, record, err := store.Claim(ctx, key, nil)
		if err != nil || record != nil {
			return err // nil: paid before
		}
		defer claim.Release(ctx, nil) // does nothing once the claim is settled

		work, stop := claim.Keep(ctx)
		receipt, err := charge(work)
		stop()

		if err != nil {
			return errors.Join(err, claim.Release(ctx, err))
		}

		if err := claim.Complete(ctx, []byte(receipt)); !claim.IsDone(err) {
			return err
		}

		return nil
	}

	for range 2 {
		if err := pay("payment-1"); err != nil {
			fmt.Println("come back later:", err)
		}
	}
	// Output: charging 12.50
}

// How long to stay away from a key that another worker holds.
func ExampleStore_RetryAfter() {
	ctx := context.Background()
	store, aws := inMemory(&idemddb.Options{Lease: 30 * time.Second, ClockSkew: time.Second})
	claimed(store, "payment-1")
	aws.Advance(10 * time.Second)

	receipt, err := idemddb.Do(ctx, store, "payment-1", nil, charge)
	if held, ok := errors.AsType[*idemddb.InProgressError](err); ok {
		fmt.Println("come back in", store.RetryAfter(held.Until))

		return
	}

	fmt.Println(receipt, err)
	// Output: come back in 22s
}
