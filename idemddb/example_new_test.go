package idemddb_test

import (
	"fmt"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// A Store is made once, when the process starts. An error names each field that is wrong.
func ExampleNew() {
	client := idemddbtest.New(nil).Client() // a program calls dynamodb.NewFromConfig(cfg)

	for _, opts := range []*idemddb.Options{
		{Retention: 14 * 24 * time.Hour},
		{Lease: -time.Second, Cache: -1},
	} {
		store, err := idemddb.New(client, "records", "payments", opts)
		if err != nil {
			fmt.Println(err)

			continue
		}

		fmt.Println("disabled:", store.Disabled())
	}
	// Output:
	// disabled: false
	// idemddb: Options.Cache: must not be negative, is -1
	// idemddb: Options.Lease: must not be negative, is -1s
}
