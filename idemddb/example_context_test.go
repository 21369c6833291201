package idemddb_test

import (
	"context"
	"fmt"

	"github.com/idemddb/go-idemddb/idemddb"
)

// The work finds its claim in its context: for the fencing token, or to see whether it is the first attempt.
func ExampleFromContext() {
	store, _ := inMemory(nil)

	receipt, err := idemddb.Do(context.Background(), store, "payment-1", nil, func(ctx context.Context) (string, error) {
		if claim, ok := idemddb.FromContext(ctx); ok {
			fmt.Println(claim.Key(), "attempt", claim.Attempt())
		}

		return charge(ctx)
	})
	if err != nil {
		fmt.Println(err)

		return
	}

	fmt.Println(receipt)
	// Output:
	// payment-1 attempt 1
	// charging 12.50
	// receipt 1
}
