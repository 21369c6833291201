package idemddb_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

// Claim, work and completion are separate steps where Do does not fit.
func ExampleStore_Claim() {
	ctx := context.Background()
	store, aws := inMemory(nil)

	pay := func() error {
		claim, record, err := store.Claim(ctx, "payment-1", nil)
		if err != nil {
			return err // nothing ran, so the caller comes back later
		}

		if record != nil {
			fmt.Printf("paid before: %s\n", record.Result)

			return nil
		}

		defer claim.Release(ctx, nil) // Release does nothing once the claim is settled

		receipt, err := charge(ctx)
		if err != nil {
			return err
		}

		if err := claim.Complete(ctx, []byte(receipt)); !claim.IsDone(err) {
			return err
		}

		return nil
	}

	for range 2 {
		if err := pay(); err != nil {
			fmt.Println(err)
		}

		aws.cost()
	}
	// Output:
	// charging 12.50
	// 2 requests, 2 WCU
	// paid before: receipt 1
	// 1 requests, 1 WCU
}

// A claim that waits gets the record in the same call if the other worker ends in time.
func ExampleClaimOptions_wait() {
	ctx := context.Background()
	store, _ := inMemory(nil)
	other := claimed(store, "payment-1")
	done := make(chan error, 1)

	go func() { done <- other.Complete(ctx, []byte("receipt 1")) }()

	claim, record, err := store.Claim(ctx, "payment-1", &idemddb.ClaimOptions{Wait: time.Minute})

	switch {
	case err != nil:
		fmt.Println("come back later:", err)
	case record != nil:
		fmt.Printf("paid by the other worker: %s\n", record.Result)
	default:
		fmt.Println("pay", claim.Key())
	}

	if err := <-done; err != nil {
		fmt.Println(err)
	}
	// Output: paid by the other worker: receipt 1
}

// Completing twice with the same result is no error, because the answer to the first may have been lost.
func ExampleClaim_Complete() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	claim, record, err := store.Claim(ctx, "payment-1", nil)
	if err != nil || record != nil {
		fmt.Println("in progress, or paid before:", err)

		return
	}

	for _, result := range []string{"receipt 1", "receipt 1", "receipt 2"} {
		switch err := claim.Complete(ctx, []byte(result)); {
		case errors.Is(err, idemddb.ErrFenced):
			fmt.Println(result, "was refused")
		case err != nil:
			fmt.Println(err)
		default:
			fmt.Println(result, "is recorded")
		}
	}
	// Output:
	// receipt 1 is recorded
	// receipt 1 is recorded
	// receipt 2 was refused
}

// A completed key answers with its record until its retention ends.
func ExampleRecord() {
	ctx := context.Background()
	store, aws := inMemory(nil)

	if err := claimed(store, "payment-1").Complete(ctx, []byte("receipt 1")); err != nil {
		fmt.Println(err)

		return
	}

	aws.Advance(24 * time.Hour)

	claim, record, err := store.Claim(ctx, "payment-1", nil)
	if err != nil || claim != nil {
		fmt.Println("not paid before:", err)

		return
	}

	fmt.Printf("%s: %s after %d attempt\n", record.Key, record.Result, record.Attempts)
	fmt.Println("completed", record.CompletedAt.UTC(), "with fencing token", record.Fence)
	fmt.Println("answers until", record.ExpiresAt.UTC())
	// Output:
	// payment-1: receipt 1 after 1 attempt
	// completed 2026-01-02 12:00:00 +0000 UTC with fencing token 1767355200001
	// answers until 2026-01-09 12:00:00 +0000 UTC
}

// Who claims a key some time before the work looks again before the work begins.
func ExampleClaim_Held() {
	store, aws := inMemory(&idemddb.Options{Lease: 30 * time.Second})
	claim := claimed(store, "payment-1")

	for range 2 {
		fmt.Println("held:", claim.Held())
		aws.Advance(time.Minute) // the process was frozen
	}
	// Output:
	// held: true
	// held: false
}
