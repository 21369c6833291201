package idemddb_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// Records may live in an existing table, among other items.
func ExampleOptions_existingTable() {
	ctx := context.Background()
	db := idemddbtest.New(nil)
	schema := idemddbtest.CreateTable("app", "")
	schema.AttributeDefinitions = []types.AttributeDefinition{
		{AttributeName: new("PK"), AttributeType: types.ScalarAttributeTypeS},
		{AttributeName: new("SK"), AttributeType: types.ScalarAttributeTypeS},
	}
	schema.KeySchema = []types.KeySchemaElement{
		{AttributeName: new("PK"), KeyType: types.KeyTypeHash},
		{AttributeName: new("SK"), KeyType: types.KeyTypeRange},
	}

	if _, err := db.CreateTable(ctx, schema); err != nil {
		fmt.Println(err)

		return
	}

	store, err := idemddb.New(db, "app", "payments", &idemddb.Options{
		PartitionKey: "PK", SortKey: "SK", TTLAttribute: "expires",
	})
	if err != nil {
		fmt.Println(err)

		return
	}

	receipt, err := idemddb.Do(ctx, store, "payment-1", nil, charge)
	if err != nil {
		fmt.Println(err)

		return
	}

	record := db.Item("app", map[string]types.AttributeValue{
		"PK": &types.AttributeValueMemberS{Value: "payments#payment-1"},
		"SK": &types.AttributeValueMemberS{Value: "idemddb"},
	})
	fmt.Println(receipt, "stored:", record != nil)
	// Output:
	// charging 12.50
	// receipt 1 stored: true
}

// Keys that hold personal data are stored as their digests.
func ExampleOptions_hashKeys() {
	store, aws := inMemory(&idemddb.Options{HashKeys: true})
	claimed(store, "iban-DE89370400440532013000")

	for _, record := range aws.Items("records") {
		if key, ok := record["pk"].(*types.AttributeValueMemberS); ok {
			fmt.Println(key.Value)
		}
	}
	// Output: payments#sha256:swbz9zC7GG-UrUXpldAbQnSgBlbAamb2kozeEXb3Jt8
}
