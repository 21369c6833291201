// Package contract holds what a Store promises on a DynamoDB, as tests that run on every engine: on the one in memory, through the
// client of the SDK, and on DynamoDB Local.
//
// A wrong engine makes cases fail, one by one. It never makes the test binary panic: each answer is checked before it is used, and no
// goroutine but that of the case itself ends the case.
package contract

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// Engine is what the contract needs of a DynamoDB: the calls of a Store, also for effects, and a look at an item. *dynamodb.Client and *idemddbtest.DB
// have them. Both also have BatchExecuteStatement, so that batches share requests; on an engine without it the same cases hold with
// single requests.
type Engine interface {
	idemddb.DynamoDB
	idemddb.Transactor
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
}

// Run checks that a Store keeps its promise on an engine: every case on a table with a simple key and on one with a composite key. open
// makes a table of the schema and returns its engine. No case depends on how long a request takes, because the Stores have a clock of
// their own. Under -short the costly cases and the simple key are left out.
func Run(t *testing.T, open func(t *testing.T, schema *dynamodb.CreateTableInput) Engine) {
	t.Helper()

	for _, tab := range tables() {
		t.Run(tab.name, func(t *testing.T) {
			t.Parallel()

			if tab.costly && testing.Short() {
				t.Skip("the same cases run on another table")
			}

			engine := open(t, tab.schema)
			judged := judge(engine, tab)

			for _, c := range cases {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()

					if c.costly && testing.Short() {
						t.Skip("this case looks at the same expressions as others, with more keys or more workers")
					}

					h := newHarness(t, engine, tab)
					judged.add(h)
					c.check(h)
				})
			}
		})
	}
}

// cases is the contract.
var cases = slices.Concat(
	claimCases, giveUpCases, retentionCases, reopenCases,
	settleCases, fencingCases, extendCases, resultCases, doCases,
	requestCases, unansweredCases, heldCases, lateRequestCases,
	fingerprintCases, foreignRecordCases, keyCases,
	batchClaimCases, batchSettleCases, batchFaultCases, comparisonCases,
	completeWithCases, reasonCases, commitCases, commitFaultCases, rejectCases, addCases, readCases, outboxCases, parkedCases, batchOutboxCases,
	traceCases, noTakeoverCases, tookCases,
)

// testCase is one thing that must be true; its name says what.
type testCase struct {
	name   string
	check  func(*harness)
	costly bool // skipped under -short
}

// costly marks cases that look at the same expressions as others, with more keys or more workers.
func costly(cases ...testCase) []testCase {
	for i := range cases {
		cases[i].costly = true
	}

	return cases
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
