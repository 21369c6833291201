package idemddb_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/idemddb/go-idemddb/idemddb"
)

// The work of a key runs once. Every later call gets its record.
func ExampleRun() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	for range 2 {
		record, err := idemddb.Run(ctx, store, "payment-1", nil, func(ctx context.Context, claim *idemddb.Claim) ([]byte, error) {
			receipt, err := charge(ctx)

			return fmt.Appendf(nil, "%s by attempt %d", receipt, claim.Attempt()), err
		})

		switch {
		case err != nil:
			fmt.Println("come back later:", err)
		case record != nil:
			fmt.Printf("paid before: %s\n", record.Result)
		default:
			fmt.Println("paid")
		}
	}
	// Output:
	// charging 12.50
	// paid
	// paid before: receipt 1 by attempt 1
}

// A caller that only returns the error never repeats finished work, and gets another try for work that failed.
func ExampleRun_careless() {
	ctx := context.Background()
	store, aws := inMemory(nil)
	works := []error{errors.New("the bank is closed"), nil, nil}

	handle := func(work error) error {
		_, err := idemddb.Run(ctx, store, "payment-1", nil, func(context.Context, *idemddb.Claim) ([]byte, error) {
			fmt.Println("charging 12.50:", work)

			if work == nil {
				aws.throttle(1) // the first try of the completion
			}

			return nil, work
		})

		return err
	}

	for _, work := range works {
		fmt.Println("answer:", handle(work))
	}
	// Output:
	// charging 12.50: the bank is closed
	// answer: the bank is closed
	// charging 12.50: <nil>
	// answer: <nil>
	// answer: <nil>
}

// closed is an error that no retry mends. lambdawrap.Permanent marks any error as one.
type closed struct{}

// Error says why.
func (closed) Error() string { return "the account is closed" }

// Permanent marks the error.
func (closed) Permanent() bool { return true }

// An error that is marked permanent ends the key for good.
func ExampleRun_permanent() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	for range 2 {
		_, err := idemddb.Run(ctx, store, "payment-1", nil, func(context.Context, *idemddb.Claim) ([]byte, error) {
			return nil, closed{}
		})
		fmt.Println(err, errors.Is(err, idemddb.ErrFailed))
	}
	// Output:
	// the account is closed false
	// idemddb: key sha256:a-IBemZtKSDe failed for good (attempts: 1): the account is closed true
}
