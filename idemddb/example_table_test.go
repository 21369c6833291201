package idemddb_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// A table on a local engine, for tests. A deployed one comes from a template.
func ExampleTable() {
	ctx := context.Background()
	client := idemddbtest.New(nil) // or a *dynamodb.Client of a local engine

	_, err := client.CreateTable(ctx, idemddb.Table("records"))
	fmt.Println(err)

	_, err = client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName:               new("records"),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: new("exp"), Enabled: new(true)},
	})
	fmt.Println(err)
	// Output:
	// <nil>
	// <nil>
}

// Records may live in a table that is there already, among other items.
func ExampleOptions_existingTable() {
	ctx := context.Background()
	db := idemddbtest.New(nil)
	schema := idemddb.Table("app")
	schema.AttributeDefinitions = []types.AttributeDefinition{
		{AttributeName: new("PK"), AttributeType: types.ScalarAttributeTypeS},
		{AttributeName: new("SK"), AttributeType: types.ScalarAttributeTypeS},
	}
	schema.KeySchema = []types.KeySchemaElement{
		{AttributeName: new("PK"), KeyType: types.KeyTypeHash},
		{AttributeName: new("SK"), KeyType: types.KeyTypeRange},
	}
	_, err := db.CreateTable(ctx, schema)
	fmt.Println(err)

	store, err := idemddb.New(db, "app", "payments", &idemddb.Options{
		PartitionKey: "PK", SortKey: "SK", TTLAttribute: "expires",
	})
	fmt.Println(err)

	fmt.Println(idemddb.Do(ctx, store, "payment-1", nil, charge))

	record := db.Item("app", map[string]types.AttributeValue{
		"PK": &types.AttributeValueMemberS{Value: "payments#payment-1"},
		"SK": &types.AttributeValueMemberS{Value: "idemddb"},
	})
	fmt.Println("stored:", record != nil)
	// Output:
	// <nil>
	// <nil>
	// charging 12.50
	// receipt 1 <nil>
	// stored: true
}
