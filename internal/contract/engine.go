package contract

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// Engine is what the contract needs of a DynamoDB: the calls of a Store, also for effects, and a look at an item.
// *dynamodb.Client and *idemddbtest.DB have them. Both also have BatchExecuteStatement, so that batches share requests; on an
// engine without it the same cases hold with single requests.
type Engine interface {
	idemddb.DynamoDB
	idemddb.Transactor
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
}

// table is a table to run the contract on, and the names that a Store needs for it.
type table struct {
	name    string
	schema  *dynamodb.CreateTableInput
	options idemddb.Options
	costly  bool // skipped under -short
}

// Names as a user's table may have them. A request that does not quote one of them as it must be is refused.
var oddPartition, oddSort, oddTTL = `the "partition", #1`, "user's sort.key", `the user's "TTL" ?`

func tables() []table {
	simple := idemddbtest.CreateTable(freshName("simple"), "")
	composite := idemddbtest.CreateTable(freshName("composite"), "")
	composite.AttributeDefinitions = []types.AttributeDefinition{
		{AttributeName: &oddPartition, AttributeType: types.ScalarAttributeTypeS},
		{AttributeName: &oddSort, AttributeType: types.ScalarAttributeTypeS},
	}
	composite.KeySchema = []types.KeySchemaElement{
		{AttributeName: &oddPartition, KeyType: types.KeyTypeHash},
		{AttributeName: &oddSort, KeyType: types.KeyTypeRange},
	}

	return []table{
		{"simple key", simple, idemddb.Options{}, true},
		{"composite key", composite, idemddb.Options{PartitionKey: oddPartition, SortKey: oddSort, TTLAttribute: oddTTL}, false},
	}
}

// serial makes the names of tables and namespaces unique.
var serial atomic.Int64

func freshName(kind string) string {
	return fmt.Sprintf("contract-%s-%d-%d", kind, time.Now().UnixNano(), serial.Add(1))
}
