package idemddb_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

// Claim, work, completion by hand, where Do does not fit.
func ExampleStore_Claim() {
	ctx := context.Background()
	store, aws := inMemory(nil)

	pay := func() error {
		claim, record, err := store.Claim(ctx, "payment-1", nil)

		switch {
		case err != nil:
			return err // nothing ran: come back later
		case record != nil:
			fmt.Printf("paid before: %s\n", record.Result)

			return nil
		}

		receipt, err := charge(ctx)
		if err != nil {
			return claim.Release(ctx, err)
		}

		return claim.Complete(ctx, []byte(receipt))
	}

	for range 2 {
		fmt.Println(pay())
		aws.cost()
	}
	// Output:
	// charging 12.50
	// <nil>
	// 2 requests, 2 write units
	// paid before: receipt 1
	// <nil>
	// 1 requests, 1 write units
}

// A claim that waits gets its answer in the same call when the other worker ends in time.
func ExampleClaimOptions_wait() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	other, _, err := store.Claim(ctx, "payment-1", nil)
	fmt.Println(err)

	done := make(chan error, 1)
	go func() { done <- other.Complete(ctx, []byte("receipt 1")) }()

	_, record, err := store.Claim(ctx, "payment-1", &idemddb.ClaimOptions{Wait: time.Second})
	fmt.Println(string(record.Result), err, <-done)
	// Output:
	// <nil>
	// receipt 1 <nil> <nil>
}

// Completing twice with the same result is no error: a reply may have been lost.
func ExampleClaim_Complete() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	claim, _, err := store.Claim(ctx, "payment-1", nil)
	fmt.Println(err)
	fmt.Println(claim.Complete(ctx, []byte("receipt 1")))
	fmt.Println(claim.Complete(ctx, []byte("receipt 1")))

	err = claim.Complete(ctx, []byte("receipt 2"))
	fmt.Println(errors.Is(err, idemddb.ErrFenced))
	// Output:
	// <nil>
	// <nil>
	// <nil>
	// true
}

// What a completed key answers.
func ExampleRecord() {
	ctx := context.Background()
	store, aws := inMemory(nil)

	claim, _, err := store.Claim(ctx, "payment-1", nil)
	fmt.Println(err, claim.Complete(ctx, []byte("receipt 1")))
	aws.Advance(24 * time.Hour)

	_, record, err := store.Claim(ctx, "payment-1", nil)
	fmt.Println(err)
	fmt.Printf("%s: %s after %d attempt\n", record.Key, record.Result, record.Attempts)
	fmt.Println("completed", record.CompletedAt.UTC(), "by the claim with this fence:", record.Fence == claim.Fence())
	fmt.Println("answers until", record.ExpiresAt.UTC())
	// Output:
	// <nil> <nil>
	// <nil>
	// payment-1: receipt 1 after 1 attempt
	// completed 2026-01-02 12:00:00 +0000 UTC by the claim with this fence: true
	// answers until 2026-01-09 12:00:00 +0000 UTC
}

// A wrapper asks whether the work settled its claim itself.
func ExampleClaim_Settled() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	claim, _, err := store.Claim(ctx, "payment-1", nil)
	fmt.Printf("%q %v\n", claim.Settled(), err)
	fmt.Println(claim.Complete(ctx, nil))
	fmt.Printf("%q\n", claim.Settled())
	// Output:
	// "" <nil>
	// <nil>
	// "completed"
}

func ExampleClaim_Key() {
	store, _ := inMemory(nil)

	claim, _, err := store.Claim(context.Background(), "payment-1", nil)
	fmt.Println(claim.Key(), err)
	// Output: payment-1 <nil>
}
