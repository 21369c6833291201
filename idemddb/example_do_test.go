package idemddb_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/idemddb/go-idemddb/idemddb"
)

// The work of a key runs once; every later call answers with its result.
func ExampleDo() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	for range 2 {
		receipt, err := idemddb.Do(ctx, store, "payment-1", nil, charge)
		fmt.Println(receipt, err)
	}
	// Output:
	// charging 12.50
	// receipt 1 <nil>
	// receipt 1 <nil>
}

// Work that fails gives its key back: the next call runs it again, at once.
func ExampleDo_failure() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	_, err := idemddb.Do(ctx, store, "payment-1", nil, func(context.Context) (string, error) {
		return "", errors.New("the bank is closed")
	})
	fmt.Println(err)
	fmt.Println(idemddb.Do(ctx, store, "payment-1", nil, charge))
	// Output:
	// the bank is closed
	// charging 12.50
	// receipt 1 <nil>
}
