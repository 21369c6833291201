// Package contract holds what a Store promises on a DynamoDB, as tests that run on every engine: on the one in memory, through
// the client of the SDK, and on DynamoDB Local.
//
// A wrong engine makes cases fail, one by one. It never makes the test binary panic: each answer is checked before it is used,
// and no goroutine but that of the case itself ends the case.
package contract

import (
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Run checks that a Store keeps its promise on an engine: every case on a table with a simple key and on one with a composite
// key. open makes a table of the schema and returns its engine. No case depends on how long a request takes, because the Stores
// have a clock of their own. Under -short the costly cases and the simple key are left out.
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
