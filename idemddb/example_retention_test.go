package idemddb_test

import (
	"context"
	"fmt"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

// Past its retention a key is new, also while DynamoDB has not deleted its record yet. That costs one request more.
func ExampleOptions_retention() {
	ctx := context.Background()
	store, aws := inMemory(&idemddb.Options{Retention: 24 * time.Hour})

	for range 2 {
		receipt, err := idemddb.Do(ctx, store, "payment-1", nil, charge)
		if err != nil {
			fmt.Println(err)

			return
		}

		fmt.Println(receipt)
		aws.cost()
		aws.Advance(25 * time.Hour)
	}
	// Output:
	// charging 12.50
	// receipt 1
	// 2 requests, 2 WCU
	// charging 12.50
	// receipt 1
	// 3 requests, 3 WCU
}
