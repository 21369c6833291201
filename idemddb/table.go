package idemddb

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
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
