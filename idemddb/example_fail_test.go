package idemddb_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

// A key that failed for good is not run again, and each claim returns the cause.
func ExampleClaim_Fail() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	for range 2 {
		claim, record, err := store.Claim(ctx, "payment-1", nil)

		switch {
		case errors.Is(err, idemddb.ErrFailed):
			fmt.Println("dead letter:", err)
		case err != nil:
			fmt.Println("come back later:", err)
		case record != nil:
			fmt.Printf("paid before: %s\n", record.Result)
		default:
			if err := claim.Fail(ctx, errors.New("the account is closed")); err != nil {
				fmt.Println(err)
			}
		}
	}
	// Output: dead letter: idemddb: key sha256:a-IBemZtKSDe failed for good (attempts: 1): the account is closed
}

// The cause is there for a dead-letter queue or a person.
func ExampleFailedError() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	if err := claimed(store, "payment-1").Fail(ctx, errors.New("the account is closed")); err != nil {
		fmt.Println(err)

		return
	}

	receipt, err := idemddb.Do(ctx, store, "payment-1", nil, charge)
	if failed, ok := errors.AsType[*idemddb.FailedError](err); ok {
		fmt.Printf("%s after %d attempt: %s\n", failed.Key, failed.Attempts, failed.Cause)

		return
	}

	fmt.Println(receipt, err)
	// Output: payment-1 after 1 attempt: the account is closed
}

// An operator has mended the cause, and lets the key run again.
func ExampleStore_Reopen() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	if err := claimed(store, "payment-1").Fail(ctx, errors.New("the account is closed")); err != nil {
		fmt.Println(err)

		return
	}

	if err := store.Reopen(ctx, "payment-1"); err != nil {
		fmt.Println(err)

		return
	}

	receipt, err := idemddb.Do(ctx, store, "payment-1", nil, charge)
	if err != nil {
		fmt.Println(err)

		return
	}

	fmt.Println(receipt)
	// Output:
	// charging 12.50
	// receipt 1
}

// A message that kills its worker each time has failed after two attempts.
func ExampleOptions_maxAttempts() {
	ctx := context.Background()
	store, aws := inMemory(&idemddb.Options{MaxAttempts: 2})

	for range 3 {
		claim, record, err := store.Claim(ctx, "payment-1", nil)

		switch {
		case errors.Is(err, idemddb.ErrFailed):
			fmt.Println("dead letter:", err)
		case err != nil:
			fmt.Println("come back later:", err)
		case record != nil:
			fmt.Printf("paid before: %s\n", record.Result)
		default:
			fmt.Println("attempt", claim.Attempt(), "dies")
			aws.Advance(time.Minute) // the lease ends
		}
	}
	// Output:
	// attempt 1 dies
	// attempt 2 dies
	// dead letter: idemddb: key sha256:a-IBemZtKSDe failed for good (attempts: 2): attempts used up
}

// An effect must rather not happen than happen twice: a person looks before the key runs again.
func ExampleOptions_noTakeover() {
	ctx := context.Background()
	store, aws := inMemory(&idemddb.Options{NoTakeover: true})
	claimed(store, "payment-1") // its worker dies
	aws.Advance(time.Minute)

	for range 2 {
		receipt, err := idemddb.Do(ctx, store, "payment-1", nil, charge)

		switch {
		case errors.Is(err, idemddb.ErrFailed):
			fmt.Println("for a person:", err)

			if err := store.Reopen(ctx, "payment-1"); err != nil { // the person has found no payment
				fmt.Println(err)
			}
		case err != nil:
			fmt.Println("come back later:", err)
		default:
			fmt.Println(receipt)
		}
	}
	// Output:
	// for a person: idemddb: key sha256:a-IBemZtKSDe failed for good (attempts: 1): the lease of attempt 1 ran out: outcome unknown, not taken over
	// charging 12.50
	// receipt 1
}
