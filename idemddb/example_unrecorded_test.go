package idemddb_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// The work is done and can't be recorded. Take it for done and raise an alarm: running it again would be the second time.
func Example_errUnrecorded() {
	ctx := context.Background()
	store, aws := inMemory(nil)
	aws.Inject(idemddbtest.None, idemddbtest.AccessDenied) // the claim passes, the completion does not

	receipt, err := idemddb.Do(ctx, store, "payment-1", nil, charge)
	if errors.Is(err, idemddb.ErrUnrecorded) {
		fmt.Println("alarm:", receipt, "has no record")
	}
	// Output:
	// charging 12.50
	// alarm: receipt 1 has no record
}

// A reply that is lost is no such case: the write is repeated and recognises itself.
func Example_lostReply() {
	ctx := context.Background()
	store, aws := inMemory(nil)
	aws.Inject(idemddbtest.LostReply, idemddbtest.None, idemddbtest.LostReply)

	fmt.Println(idemddb.Do(ctx, store, "payment-1", nil, charge))
	aws.cost()
	// Output:
	// charging 12.50
	// receipt 1 <nil>
	// 4 requests, 4 write units
}
