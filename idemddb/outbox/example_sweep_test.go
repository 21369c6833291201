package outbox_test

import (
	"context"
	"fmt"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/idemddb/outbox"
)

// printed is a Sender that prints what it is sent.
func printed(_ context.Context, ms []idemddb.Message) []error {
	for _, m := range ms {
		fmt.Println("sent:", m.Body)
	}

	return make([]error, len(ms))
}

// unsent is a table with one completed key, whose process died 5 minutes ago, before it sent the message, and a Store with a
// sender.
func unsent() (*idemddb.Store, *idemddbtest.DB) {
	ctx := context.Background()
	clock := idemddbtest.NewClock(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC))
	db := idemddbtest.New(nil)
	_, err := db.CreateTable(ctx, idemddbtest.CreateTable("records", ""))
	check(err)

	dying, err := idemddb.New(db, "records", "payments", &idemddb.Options{
		Now: clock.Now, Senders: map[string]idemddb.Sender{"receipts": nil}, // it never sends
	})
	check(err)

	_, err = dying.Commit(ctx, "payment-1", nil, nil, idemddb.Effects{Messages: []idemddb.Message{{To: "receipts", Body: "receipt 1"}}})
	check(err)
	clock.Advance(5 * time.Minute)

	store, err := idemddb.New(db, "records", "payments", &idemddb.Options{
		Now: clock.Now, Senders: map[string]idemddb.Sender{"receipts": sendFunc(printed)},
	})
	check(err)

	return store, db
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// A scheduled function sweeps each minute.
func ExampleSweep() {
	store, client := unsent()

	for range 2 {
		report, err := outbox.Sweep(context.Background(), store, client)
		fmt.Printf("%+v %v\n", report, err)
	}
	// Output:
	// sent: receipt 1
	// {Records:1 Sent:1 Left:0 Parked:0 Oldest:5m0s Incomplete:false} <nil>
	// {Records:0 Sent:0 Left:0 Parked:0 Oldest:0s Incomplete:false} <nil>
}
