package idemddb_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

// A worker died; the one that takes over knows that the effect may have happened, and looks first.
func ExampleClaim_Takeover() {
	ctx := context.Background()
	store, aws := inMemory(nil)

	_, _, err := store.Claim(ctx, "payment-1", nil) // its worker dies
	fmt.Println(err)
	aws.Advance(time.Minute)

	claim, _, err := store.Claim(ctx, "payment-1", nil)
	fmt.Println(err)

	if claim.Takeover() {
		fmt.Println("ask the bank whether the payment is there")
	}
	// Output:
	// <nil>
	// <nil>
	// ask the bank whether the payment is there
}

// A system that keeps the highest fence it has seen refuses the worker that outlived its lease.
func ExampleClaim_Fence() {
	ctx := context.Background()
	store, aws := inMemory(nil)

	var highest int64 // kept by the other system

	write := func(fence int64, what string) {
		if fence < highest {
			fmt.Println(what, "refused")

			return
		}

		highest = fence
		fmt.Println(what, "accepted")
	}

	slow, _, err := store.Claim(ctx, "payment-1", nil)
	fmt.Println(err)
	aws.Advance(time.Minute) // a pause that is longer than the lease

	quick, _, err := store.Claim(ctx, "payment-1", nil)
	fmt.Println(err)

	write(quick.Fence(), "the successor's write:")
	write(slow.Fence(), "the zombie's write:")
	// Output:
	// <nil>
	// <nil>
	// the successor's write: accepted
	// the zombie's write: refused
}

// A worker that outlived its lease can't write the record either, and learns who has the key.
func ExampleFencedError() {
	ctx := context.Background()
	store, aws := inMemory(nil)

	slow, _, err := store.Claim(ctx, "payment-1", nil)
	fmt.Println(err)
	aws.Advance(time.Minute)

	quick, _, err := store.Claim(ctx, "payment-1", nil)
	fmt.Println(err, quick.Complete(ctx, []byte("receipt 2")))

	err = slow.Complete(ctx, []byte("receipt 1"))
	if fenced, ok := errors.AsType[*idemddb.FencedError](err); ok {
		fmt.Println("held by another:", fenced.Current == quick.Fence())
		fmt.Printf("the answer is %s\n", fenced.Record.Result)
	}
	// Output:
	// <nil>
	// <nil> <nil>
	// held by another: true
	// the answer is receipt 2
}
