package results_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/idemddb/results"
)

// A report of 42 KB is kept in S3, and the record in the table stays small. client stands in for s3.NewFromConfig(cfg).
func ExampleS3() {
	ctx, client, db := context.Background(), &objects{}, idemddbtest.New(nil)
	if _, err := db.CreateTable(ctx, idemddbtest.CreateTable("records", "")); err != nil {
		fmt.Println(err)
	}

	store, err := idemddb.New(db, "records", "reports", &idemddb.Options{Results: results.S3(client, "results")})
	if err != nil {
		fmt.Println(err)
	}

	build := func(context.Context) (string, error) {
		fmt.Println("the report is built")

		return strings.Repeat("a line of the report\n", 2_000), nil
	}

	for range 2 {
		report, err := idemddb.Do(ctx, store, "r-1", nil, build)
		fmt.Println(len(report), "bytes,", err)
	}

	fmt.Println(len(client.kept), "object")
	// Output:
	// the report is built
	// 42000 bytes, <nil>
	// 42000 bytes, <nil>
	// 1 object
}
