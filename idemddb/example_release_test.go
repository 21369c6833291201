package idemddb_test

import (
	"context"
	"errors"
	"fmt"
)

// A released key may be claimed again at once. The attempt counts: its work began.
func ExampleClaim_Release() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	first, _, err := store.Claim(ctx, "payment-1", nil)
	fmt.Println("attempt", first.Attempt(), err)
	fmt.Println(first.Release(ctx, errors.New("the bank is closed")))

	second, _, err := store.Claim(ctx, "payment-1", nil)
	fmt.Println("attempt", second.Attempt(), err)
	fmt.Println("takeover:", second.Takeover())
	// Output:
	// attempt 1 <nil>
	// <nil>
	// attempt 2 <nil>
	// takeover: false
}

// A claim whose work never began does not count as an attempt.
func ExampleClaim_ReleaseUnused() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	first, _, err := store.Claim(ctx, "payment-1", nil)
	fmt.Println("attempt", first.Attempt(), err)
	fmt.Println(first.ReleaseUnused(ctx)) // such as: no time left to begin

	second, _, err := store.Claim(ctx, "payment-1", nil)
	fmt.Println("attempt", second.Attempt(), err)
	// Output:
	// attempt 1 <nil>
	// <nil>
	// attempt 1 <nil>
}

// Work may give up earlier when it was tried often.
func ExampleClaim_Attempt() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	for range 3 {
		claim, _, err := store.Claim(ctx, "payment-1", nil)
		if err != nil {
			fmt.Println(err)

			return
		}

		if claim.Attempt() < 3 {
			fmt.Println(claim.Attempt(), "try again", claim.Release(ctx, errors.New("declined")))
		} else {
			fmt.Println(claim.Attempt(), "give up", claim.Fail(ctx, errors.New("declined")))
		}
	}
	// Output:
	// 1 try again <nil>
	// 2 try again <nil>
	// 3 give up <nil>
}
