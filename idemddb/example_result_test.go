package idemddb_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/idemddb/go-idemddb/idemddb"
)

// A result that does not fit into an item is refused before anything is sent; the claim stays usable.
func Example_errTooLarge() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	claim, _, err := store.Claim(ctx, "report-1", nil)
	fmt.Println(err)

	err = claim.Complete(ctx, make([]byte, 500_000))
	fmt.Println(errors.Is(err, idemddb.ErrTooLarge))
	fmt.Println(claim.Complete(ctx, []byte("s3://reports/1"))) // where it is kept instead
	// Output:
	// <nil>
	// true
	// <nil>
}

// Do returns a result that can't be kept once. Later calls know that the work is done.
func Example_errResultOmitted() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	for range 2 {
		report, err := idemddb.Do(ctx, store, "report-1", nil, func(context.Context) (string, error) {
			fmt.Println("writing the report")

			return strings.Repeat("x", 500_000), nil
		})
		fmt.Println(len(report), err, errors.Is(err, idemddb.ErrResultOmitted))
	}
	// Output:
	// writing the report
	// 500000 <nil> false
	// 0 idemddb: replay of key sha256:j23s-yUwO75n: done earlier, result not kept true
}
