package idemddb_test

import (
	"context"
	"fmt"

	"github.com/idemddb/go-idemddb/idemddb"
)

// Duplicates that reach the same process cost no request.
func ExampleOptions_cache() {
	ctx := context.Background()
	store, aws := inMemory(&idemddb.Options{Cache: 1000})

	for range 2 {
		receipt, err := idemddb.Do(ctx, store, "payment-1", nil, charge)
		if err != nil {
			fmt.Println(err)

			return
		}

		fmt.Println(receipt)
		aws.cost()
	}
	// Output:
	// charging 12.50
	// receipt 1
	// 2 requests, 2 WCU
	// receipt 1
	// 0 requests, 0 WCU
}
