package idemddbtest

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/record"
)

const partitionKey = "pk" // the default of idemddb.Options.PartitionKey

// CreateTable returns the request that creates the table of a Store with default Options, for tests and local engines: partition
// key "pk" of type S, on-demand. With a name in unsentIndex the table has the sparse index of the records with unsent messages,
// for a Store whose Options.UnsentIndex has that name; only these records stand in it, because no other has its key attributes.
// An empty unsentIndex means no index. A deployed table is made by a template (see template.yaml) and has Time to Live on "exp",
// which this request cannot set.
func CreateTable(name, unsentIndex string) *dynamodb.CreateTableInput {
	in := &dynamodb.CreateTableInput{
		TableName:            &name,
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: new(partitionKey), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: new(partitionKey), KeyType: types.KeyTypeHash}},
	}

	if unsentIndex == "" {
		return in
	}

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
