package idemddb

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/record"
)

// Table returns the schema that a Store with default Options needs, for tests and local engines: partition key "pk" of type S,
// on-demand. A deployed table is made by a template (see template.yaml) and has Time to Live on "exp", which CreateTable can't
// set.
func Table(name string) *dynamodb.CreateTableInput {
	return &dynamodb.CreateTableInput{
		TableName:            &name,
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: new(defaultPartitionKey), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: new(defaultPartitionKey), KeyType: types.KeyTypeHash}},
	}
}

// TableWithIndex is [Table] with the sparse index of the records with unsent messages, for a Store whose Options.UnsentIndex names it.
// Only these records stand in the index: no other has its key attributes.
func TableWithIndex(name, unsentIndex string) *dynamodb.CreateTableInput {
	in := Table(name)
	in.AttributeDefinitions = append(in.AttributeDefinitions,
		types.AttributeDefinition{AttributeName: new(record.DueNS), AttributeType: types.ScalarAttributeTypeS},
		types.AttributeDefinition{AttributeName: new(record.Due), AttributeType: types.ScalarAttributeTypeN},
	)
	in.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{{
		IndexName: &unsentIndex,
		KeySchema: []types.KeySchemaElement{
			{AttributeName: new(record.DueNS), KeyType: types.KeyTypeHash},
			{AttributeName: new(record.Due), KeyType: types.KeyTypeRange},
		},
		Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
	}}

	return in
}
