package idemddbtest_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// A partition that takes two units a second throttles the third write. In the next second it takes it.
func ExampleLimits() {
	clock := idemddbtest.NewClock(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC))

	db := idemddbtest.New(&idemddbtest.Options{Now: clock.Now, Limits: idemddbtest.Limits{WriteUnits: 2}})
	if _, err := db.CreateTable(context.Background(), idemddbtest.CreateTable("records", "")); err != nil {
		fmt.Println(err)

		return
	}

	store := newStore(db, &idemddb.Options{Now: clock.Now})

	db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
		if len(db.Requests()) == 4 { // the table, two writes, and the one that was throttled
			clock.Advance(time.Second)
		}

		return idemddbtest.None
	})

	for _, key := range []string{"p-1", "p-2"} { // a claim and a completion take a unit each
		fmt.Println(claimOnce(store, key))
	}

	for _, r := range db.Requests()[1:] {
		_, isThrottled := errors.AsType[*types.ProvisionedThroughputExceededException](r.Err)
		fmt.Println(r.Operation, "throttled:", isThrottled)
	}
	// Output:
	// <nil>
	// <nil>
	// UpdateItem throttled: false
	// UpdateItem throttled: false
	// UpdateItem throttled: true
	// UpdateItem throttled: false
	// UpdateItem throttled: false
}
