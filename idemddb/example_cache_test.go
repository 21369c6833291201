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
		fmt.Println(idemddb.Do(ctx, store, "payment-1", nil, charge))
		aws.cost()
	}
	// Output:
	// charging 12.50
	// receipt 1 <nil>
	// 2 requests, 2 write units
	// receipt 1 <nil>
	// 0 requests, 0 write units
}
