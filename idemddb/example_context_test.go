package idemddb_test

import (
	"context"
	"fmt"

	"github.com/idemddb/go-idemddb/idemddb"
)

// Work finds its claim in its context: for the fence, or to know that it is not the first.
func ExampleFromContext() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	_, err := idemddb.Do(ctx, store, "payment-1", nil, func(ctx context.Context) (string, error) {
		claim, ok := idemddb.FromContext(ctx)
		fmt.Println(ok, claim.Key(), "attempt", claim.Attempt())

		return charge(ctx)
	})
	fmt.Println(err)
	// Output:
	// true payment-1 attempt 1
	// charging 12.50
	// <nil>
}

// A test gives a handler its claim as a wrapper would.
func ExampleNewContext() {
	ctx := context.Background()
	store, _ := inMemory(nil)
	handler := func(ctx context.Context) {
		_, ok := idemddb.FromContext(ctx)
		fmt.Println("has a claim:", ok)
	}

	claim, _, err := store.Claim(ctx, "payment-1", nil)
	fmt.Println(err)
	handler(idemddb.NewContext(ctx, claim))
	handler(ctx)
	// Output:
	// <nil>
	// has a claim: true
	// has a claim: false
}
