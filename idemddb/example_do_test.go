package idemddb_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/idemddb/go-idemddb/idemddb"
)

// The work of a key runs once. Every later call returns its result.
func ExampleDo() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	for range 2 {
		receipt, err := idemddb.Do(ctx, store, "payment-1", nil, charge)
		if err != nil {
			fmt.Println("come back later:", err)

			return
		}

		fmt.Println(receipt)
	}
	// Output:
	// charging 12.50
	// receipt 1
	// receipt 1
}

// Work that fails gives its key back. The next call runs it again, at once.
func ExampleDo_failure() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	bankIsClosed := func(context.Context) (string, error) { return "", errors.New("the bank is closed") }

	for _, work := range []func(context.Context) (string, error){bankIsClosed, charge} {
		receipt, err := idemddb.Do(ctx, store, "payment-1", nil, work)
		if err != nil {
			fmt.Println("come back later:", err)

			continue
		}

		fmt.Println(receipt)
	}
	// Output:
	// come back later: the bank is closed
	// charging 12.50
	// receipt 1
}
