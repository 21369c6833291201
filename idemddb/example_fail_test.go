package idemddb_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

// A key that failed for good is not run again, and tells why.
func ExampleClaim_Fail() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	claim, _, err := store.Claim(ctx, "payment-1", nil)
	fmt.Println(err)
	fmt.Println(claim.Fail(ctx, errors.New("account is closed")))

	_, _, err = store.Claim(ctx, "payment-1", nil)
	fmt.Println(errors.Is(err, idemddb.ErrFailed))
	fmt.Println(err)
	// Output:
	// <nil>
	// <nil>
	// true
	// idemddb: key sha256:a-IBemZtKSDe failed for good (attempts: 1): account is closed
}

// The cause is there for a dead-letter queue or a person.
func ExampleFailedError() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	claim, _, err := store.Claim(ctx, "payment-1", nil)
	fmt.Println(err, claim.Fail(ctx, errors.New("account is closed")))

	_, err = idemddb.Do(ctx, store, "payment-1", nil, charge)
	if failed, ok := errors.AsType[*idemddb.FailedError](err); ok {
		fmt.Printf("%s after %d attempt: %s\n", failed.Key, failed.Attempts, failed.Cause)
	}
	// Output:
	// <nil> <nil>
	// payment-1 after 1 attempt: account is closed
}

// An operator mended the cause, and lets the key run again.
func ExampleStore_Reopen() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	claim, _, err := store.Claim(ctx, "payment-1", nil)
	fmt.Println(err, claim.Fail(ctx, errors.New("account is closed")))

	fmt.Println(store.Reopen(ctx, "payment-1"))
	fmt.Println(idemddb.Do(ctx, store, "payment-1", nil, charge))
	// Output:
	// <nil> <nil>
	// <nil>
	// charging 12.50
	// receipt 1 <nil>
}

// A message that kills its worker each time: after two attempts the key has failed.
func ExampleOptions_maxAttempts() {
	ctx := context.Background()
	store, aws := inMemory(&idemddb.Options{MaxAttempts: 2})

	for range 3 {
		claim, _, err := store.Claim(ctx, "payment-1", nil)
		if err != nil {
			fmt.Println(err)

			break
		}

		fmt.Println("attempt", claim.Attempt(), "dies")
		aws.Advance(time.Minute) // its lease is over
	}
	// Output:
	// attempt 1 dies
	// attempt 2 dies
	// idemddb: key sha256:a-IBemZtKSDe failed for good (attempts: 2): attempts used up
}

// An effect that must rather not happen than happen twice: a person looks before the key runs again.
func ExampleOptions_noTakeover() {
	ctx := context.Background()
	store, aws := inMemory(&idemddb.Options{NoTakeover: true})

	_, _, err := store.Claim(ctx, "payment-1", nil) // its worker dies
	fmt.Println(err)
	aws.Advance(time.Minute)

	_, _, err = store.Claim(ctx, "payment-1", nil)
	fmt.Println(err)
	fmt.Println(store.Reopen(ctx, "payment-1")) // the person found no payment

	claim, _, err := store.Claim(ctx, "payment-1", nil)
	fmt.Println("attempt", claim.Attempt(), err)
	// Output:
	// <nil>
	// idemddb: key sha256:a-IBemZtKSDe failed for good (attempts: 1): the lease of attempt 1 ran out: outcome unknown, not taken over
	// <nil>
	// attempt 1 <nil>
}
