package idemddbtest_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// A test makes the table on a local engine. A deployed table comes from a template.
func ExampleCreateTable() {
	ctx := context.Background()
	client := idemddbtest.New(nil) // a *dynamodb.Client of a local engine fits, too

	if _, err := client.CreateTable(ctx, idemddbtest.CreateTable("records", "")); err != nil {
		fmt.Println(err)

		return
	}

	if _, err := client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName:               new("records"),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: new("exp"), Enabled: new(true)},
	}); err != nil {
		fmt.Println(err)

		return
	}

	fmt.Println(len(client.Items("records")), "records")
	// Output: 0 records
}

// The same with the index in which outbox.Sweep finds the records with unsent messages.
func ExampleCreateTable_unsentIndex() {
	ctx := context.Background()
	db := idemddbtest.New(nil) // a *dynamodb.Client of a local engine fits, too

	if _, err := db.CreateTable(ctx, idemddbtest.CreateTable("records", "unsent")); err != nil {
		fmt.Println(err)

		return
	}

	store, err := idemddb.New(db, "records", "payments", &idemddb.Options{UnsentIndex: "unsent"})
	fmt.Println(store != nil, err)
	// Output: true <nil>
}
