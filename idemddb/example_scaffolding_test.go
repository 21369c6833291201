package idemddb_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// Everything in this file is scaffolding of the examples. It stands for AWS, for time and for other workers, and a program has none of
// it. Where an example says inMemory, a program says
//
//	idemddb.New(dynamodb.NewFromConfig(cfg), os.Getenv("TABLE_NAME"), "payments", opts)

// noon is when every example begins.
var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// cloud is DynamoDB in memory, with a table "records", and the clock of the workers that use it.
type cloud struct {
	*idemddbtest.DB
	*idemddbtest.Clock
}

// inMemory returns a Store of the namespace "payments" and what is behind it.
func inMemory(opts *idemddb.Options) (*idemddb.Store, cloud) {
	clock := idemddbtest.NewClock(noon)
	a := cloud{idemddbtest.New(&idemddbtest.Options{Now: clock.Now}), clock}

	if _, err := a.CreateTable(context.Background(), idemddb.Table("records")); err != nil {
		panic(err)
	}

	a.ResetRequests()

	o := idemddb.Options{}
	if opts != nil {
		o = *opts
	}

	o.Now = a.Now

	store, err := idemddb.New(a.DB, "records", "payments", &o)
	if err != nil {
		panic(err)
	}

	return store, a
}

// cost prints what DynamoDB was asked for since it was last called.
func (a cloud) cost() {
	units := 0
	for _, r := range a.Requests() {
		units += r.WriteUnits
	}

	fmt.Printf("%d requests, %d WCU\n", len(a.Requests()), units)
	a.ResetRequests()
}

// throttle makes the next n requests meet a throttled table.
func (a cloud) throttle(n int) {
	a.Inject(slices.Repeat([]idemddbtest.Fault{idemddbtest.Throttle}, n)...)
}

// outage makes all requests fail.
func (a cloud) outage() {
	a.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault { return idemddbtest.ServerError })
}

// claimed is what another worker has done before the example begins: it has claimed a key that nobody had claimed.
func claimed(store *idemddb.Store, key string) *idemddb.Claim {
	claim, record, err := store.Claim(context.Background(), key, nil)
	if err != nil || record != nil {
		panic(fmt.Sprint("the key was claimed before: ", err))
	}

	return claim
}

// charge is the work of the examples: it has an effect that nobody wants twice.
func charge(_ context.Context) (string, error) {
	fmt.Println("charging 12.50")

	return "receipt 1", nil
}
