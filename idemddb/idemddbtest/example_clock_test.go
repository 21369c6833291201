package idemddbtest_test

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// The test moves the clock, so that a lease ends without waiting.
func ExampleClock() {
	ctx := context.Background()
	clock := idemddbtest.NewClock(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC))
	store := newStore(withTable(), &idemddb.Options{Now: clock.Now})

	for range 2 { // the first worker claims the key and dies
		_, _, err := store.Claim(ctx, "p-1", nil)
		fmt.Println(kindOf(err))
	}

	clock.Advance(time.Minute)

	if claim, record, err := store.Claim(ctx, "p-1", nil); err == nil && record == nil {
		fmt.Println("takeover", claim.Takeover())
	}
	// Output:
	// <nil>
	// in progress
	// takeover true
}

func ExampleNewClock() {
	clock := idemddbtest.NewClock(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC))
	fmt.Println(clock.Now())
	// Output: 2026-01-02 12:00:00 +0000 UTC
}

// A clock can also go backwards, as those of servers do.
func ExampleClock_Advance() {
	clock := idemddbtest.NewClock(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC))
	fmt.Println(clock.Advance(time.Hour))
	fmt.Println(clock.Advance(-2 * time.Hour))
	// Output:
	// 2026-01-02 13:00:00 +0000 UTC
	// 2026-01-02 11:00:00 +0000 UTC
}

func ExampleClock_Now() {
	clock := idemddbtest.NewClock(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC))
	options := idemddb.Options{Now: clock.Now}
	fmt.Println(options.Now().Equal(clock.Now()))
	// Output: true
}

// DynamoDB deletes expired items at some time; here the test says when.
func ExampleDB_Expire() {
	ctx := context.Background()
	clock := idemddbtest.NewClock(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC))
	db := idemddbtest.New(&idemddbtest.Options{Now: clock.Now})

	if _, err := db.CreateTable(ctx, idemddbtest.CreateTable("records", "")); err != nil {
		fmt.Println(err)

		return
	}

	if _, err := db.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName:               new("records"),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: new("exp"), Enabled: new(true)},
	}); err != nil {
		fmt.Println(err)

		return
	}

	store := newStore(db, &idemddb.Options{Now: clock.Now, Retention: time.Hour})
	fmt.Println(claimOnce(store, "p-1"))

	fmt.Println("deleted", db.Expire())
	clock.Advance(2 * time.Hour)
	fmt.Println("deleted", db.Expire())
	// Output:
	// <nil>
	// deleted 0
	// deleted 1
}
