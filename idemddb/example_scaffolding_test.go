package idemddb_test

import (
	"context"
	"fmt"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// Everything in this file is scaffolding of the examples: it stands in for AWS and for time, and a program has none of it. Where an
// example says inMemory, a program says
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

	return a.store(opts), a
}

// store returns another worker's Store on the same table.
func (a cloud) store(opts *idemddb.Options) *idemddb.Store {
	o := idemddb.Options{}
	if opts != nil {
		o = *opts
	}

	o.Now = a.Now

	store, err := idemddb.New(a.DB, "records", "payments", &o)
	if err != nil {
		panic(err)
	}

	return store
}

// cost prints what DynamoDB was asked for since it was last called.
func (a cloud) cost() {
	units := 0
	for _, r := range a.Requests() {
		units += r.WriteUnits
	}

	fmt.Printf("%d requests, %d write units\n", len(a.Requests()), units)
	a.ResetRequests()
}

// charge is the work of the examples: it has an effect that nobody wants twice.
func charge(_ context.Context) (string, error) {
	fmt.Println("charging 12.50")

	return "receipt 1", nil
}
