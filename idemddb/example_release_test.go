package idemddb_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/idemddb/go-idemddb/idemddb"
)

// A released key may be claimed again at once. The attempt counts, because its work began.
func ExampleClaim_Release() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	for range 2 {
		claim, record, err := store.Claim(ctx, "payment-1", nil)
		if err != nil || record != nil {
			fmt.Println("in progress, or paid before:", err)

			return
		}

		fmt.Println("attempt", claim.Attempt(), "takeover:", claim.Takeover())

		if err := claim.Release(ctx, errors.New("the bank is closed")); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// attempt 1 takeover: false
	// attempt 2 takeover: false
}

// A deferred release gives the key back on each way out. Once the claim is settled, it does nothing.
func ExampleClaim_Release_deferred() {
	ctx := context.Background()
	store, aws := inMemory(nil)

	pay := func(work func(context.Context) (string, error)) error {
		claim, record, err := store.Claim(ctx, "payment-1", nil)
		if err != nil || record != nil {
			return err
		}

		defer claim.Release(ctx, nil)

		receipt, err := work(ctx)
		if err != nil {
			return err
		}

		if err := claim.Complete(ctx, []byte(receipt)); !claim.IsDone(err) {
			return err
		}

		return nil
	}
	bankIsClosed := func(context.Context) (string, error) { return "", errors.New("the bank is closed") }

	for _, work := range []func(context.Context) (string, error){bankIsClosed, charge} {
		if err := pay(work); err != nil {
			fmt.Println("come back later:", err)
		}

		aws.cost()
	}
	// Output:
	// come back later: the bank is closed
	// 2 requests, 2 WCU
	// charging 12.50
	// 2 requests, 2 WCU
}

// A claim whose work never began does not count as an attempt.
func ExampleClaim_ReleaseUnused() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	for range 2 {
		claim, record, err := store.Claim(ctx, "payment-1", nil)
		if err != nil || record != nil {
			fmt.Println("in progress, or paid before:", err)

			return
		}

		fmt.Println("attempt", claim.Attempt())

		if err := claim.ReleaseUnused(ctx); err != nil { // there is no time left to begin
			fmt.Println(err)
		}
	}
	// Output:
	// attempt 1
	// attempt 1
}

// Work may give up earlier if it was tried often.
func ExampleClaim_Attempt() {
	ctx := context.Background()
	store, _ := inMemory(nil)
	declined := errors.New("declined")

	for range 4 {
		claim, record, err := store.Claim(ctx, "payment-1", nil)

		switch {
		case errors.Is(err, idemddb.ErrFailed):
			fmt.Println("dead letter:", err)
		case err != nil || record != nil:
			fmt.Println("in progress, or paid before:", err)
		default:
			settle, what := claim.Release, "try again"
			if claim.Attempt() == 3 {
				settle, what = claim.Fail, "give up"
			}

			if err := settle(ctx, declined); err != nil {
				fmt.Println(err)
			}

			fmt.Println(claim.Attempt(), what)
		}
	}
	// Output:
	// 1 try again
	// 2 try again
	// 3 give up
	// dead letter: idemddb: key sha256:a-IBemZtKSDe failed for good (attempts: 3): declined
}
