package idemddb_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/idemddb/go-idemddb/idemddb"
)

// A result that does not fit into an item is not kept. The work is done all the same, and later calls find that out.
func Example_errTooLarge() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	for range 2 {
		claim, record, err := store.Claim(ctx, "report-1", nil)

		switch {
		case err != nil:
			fmt.Println("come back later:", err)
		case record != nil:
			fmt.Println("done before, result omitted:", record.ResultOmitted)
		default:
			if err := claim.Complete(ctx, make([]byte, 6_500_000)); errors.Is(err, idemddb.ErrTooLarge) {
				fmt.Println("done; keep large results elsewhere")
			}
		}
	}
	// Output:
	// done; keep large results elsewhere
	// done before, result omitted: true
}

// Do returns a result that cannot be kept once. Later calls return a zero value, or an error if the caller needs the result.
func Example_errResultOmitted() {
	ctx := context.Background()
	store, _ := inMemory(nil)
	write := func(context.Context) (string, error) {
		fmt.Println("writing the report")

		return strings.Repeat("x", 6_500_000), nil
	}

	for _, opts := range []*idemddb.ClaimOptions{nil, nil, {NeedResult: true}} {
		report, err := idemddb.Do(ctx, store, "report-1", opts, write)

		switch {
		case errors.Is(err, idemddb.ErrResultOmitted):
			fmt.Println("the report is written and not here")
		case err != nil:
			fmt.Println("come back later:", err)
		default:
			fmt.Println(len(report), "bytes")
		}
	}
	// Output:
	// writing the report
	// 6500000 bytes
	// 0 bytes
	// the report is written and not here
}
