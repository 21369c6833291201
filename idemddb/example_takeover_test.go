package idemddb_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

// A worker died. Takeover says to the next one that the effect may have happened, so it looks first.
func ExampleClaim_Takeover() {
	store, aws := inMemory(nil)
	claimed(store, "payment-1") // its worker dies
	aws.Advance(time.Minute)

	claim, record, err := store.Claim(context.Background(), "payment-1", nil)
	if err != nil || record != nil {
		fmt.Println("in progress, or paid before:", err)

		return
	}

	if claim.Takeover() {
		fmt.Println("ask the bank whether the payment is there")
	}
	// Output: ask the bank whether the payment is there
}

// A system that keeps the highest fencing token it has seen refuses the worker that outlived its lease.
func ExampleClaim_Fence() {
	store, aws := inMemory(nil)

	var highest int64 // the other system keeps this number

	write := func(fence int64, what string) {
		if fence < highest {
			fmt.Println(what, "refused")

			return
		}

		highest = fence
		fmt.Println(what, "accepted")
	}

	slow := claimed(store, "payment-1")
	aws.Advance(time.Minute) // the pause is longer than the lease

	quick, record, err := store.Claim(context.Background(), "payment-1", nil)
	if err != nil || record != nil {
		fmt.Println("in progress, or paid before:", err)

		return
	}

	write(quick.Fence(), "the successor's write:")
	write(slow.Fence(), "the slow worker's write:")
	// Output:
	// the successor's write: accepted
	// the slow worker's write: refused
}

// A worker that outlived its lease cannot write the record either. The error says who has the key.
func ExampleFencedError() {
	ctx := context.Background()
	store, aws := inMemory(nil)
	slow := claimed(store, "payment-1")
	aws.Advance(time.Minute)

	quick := claimed(store, "payment-1")
	if err := quick.Complete(ctx, []byte("receipt 2")); err != nil {
		fmt.Println(err)

		return
	}

	err := slow.Complete(ctx, []byte("receipt 1"))
	if fenced, ok := errors.AsType[*idemddb.FencedError](err); ok {
		fmt.Println("held by another:", fenced.Current == quick.Fence())

		if fenced.Record != nil {
			fmt.Printf("the answer is %s\n", fenced.Record.Result)
		}
	}
	// Output:
	// held by another: true
	// the answer is receipt 2
}

// After work that succeeded, IsDone reports whether the message is done although its completion was refused.
func ExampleClaim_IsDone() {
	ctx := context.Background()
	store, aws := inMemory(nil)
	slow := claimed(store, "payment-1")
	aws.Advance(time.Minute)
	quick := claimed(store, "payment-1")

	fmt.Println("another worker runs:", slow.IsDone(slow.Complete(ctx, nil)))

	if err := quick.Complete(ctx, nil); err != nil {
		fmt.Println(err)

		return
	}

	fmt.Println("another worker has completed:", slow.IsDone(slow.Complete(ctx, nil)))
	// Output:
	// another worker runs: false
	// another worker has completed: true
}
