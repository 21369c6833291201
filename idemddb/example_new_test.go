package idemddb_test

import (
	"fmt"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// A Store is made once, when the process starts. What is wrong is said at once, by the name of the field.
func ExampleNew() {
	client := idemddbtest.New(nil).Client() // in a program: dynamodb.NewFromConfig(cfg)

	_, err := idemddb.New(client, "records", "payments", &idemddb.Options{Retention: 14 * 24 * time.Hour})
	fmt.Println(err)

	_, err = idemddb.New(client, "", "payments", &idemddb.Options{Lease: -time.Second})
	fmt.Println(err)
	// Output:
	// <nil>
	// idemddb: table: must not be empty; is the function's TABLE_NAME set?
	// idemddb: Options.Lease: must not be negative, is -1s
}
