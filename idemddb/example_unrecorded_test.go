package idemddb_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// The work is done, and its record does not get through. Acknowledge it and raise an alarm: running it again would be the second
// time.
func Example_errUnrecorded() {
	store, aws := inMemory(nil)

	claim, record, err := store.Claim(context.Background(), "payment-1", nil)
	if err != nil || record != nil {
		fmt.Println("in progress, or paid before:", err)

		return
	}

	receipt, err := charge(context.Background())
	if err != nil {
		fmt.Println(err)

		return
	}

	aws.outage()

	// A wrapper limits the time for the completion by that of its invocation. Without a wrapper the completion is sent for one Lease.
	ctx := idemddb.WithInvocation(context.Background(), time.Time{}, time.Now().Add(50*time.Millisecond))

	if err := claim.Complete(ctx, []byte(receipt)); errors.Is(err, idemddb.ErrUnrecorded) {
		fmt.Println("alarm:", receipt, "perhaps has no record")
	}
	// Output:
	// charging 12.50
	// alarm: receipt 1 perhaps has no record
}

// A reply that is lost is no such case: the write is sent again, and recognises the one before it.
func Example_lostReply() {
	store, aws := inMemory(nil)
	aws.Inject(idemddbtest.LostReply, idemddbtest.None, idemddbtest.LostReply)

	receipt, err := idemddb.Do(context.Background(), store, "payment-1", nil, charge)
	if err != nil {
		fmt.Println(err)

		return
	}

	fmt.Println(receipt)
	aws.cost()
	// Output:
	// charging 12.50
	// receipt 1
	// 4 requests, 4 WCU
}
