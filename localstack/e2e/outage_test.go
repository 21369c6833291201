//go:build e2e

package e2e_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/localstack/pipeline"
)

// The table of the accounts is gone for a minute. With the template's receives and the function's back-off no payment becomes a
// dead letter, and each is made once when the table is there again.
func testOutage(t *testing.T, p *pipeline.Pipeline) {
	t.Helper()

	const (
		payments = 20
		lasts    = time.Minute
	)

	if _, err := p.DynamoDB.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &p.LedgerTableName}); err != nil {
		t.Fatal(err)
	}

	began := time.Now()
	sendBatch(t, p, "outage-", payments)
	await(t, "the outage to end", 2*lasts, func() (bool, string) { return time.Since(began) > lasts, "" })

	if done, sight := doneWithPrefix(t, p, "outage-"); done != 0 {
		t.Errorf("%d payments are done without accounts: %s", done, sight)
	}

	if _, err := p.DynamoDB.CreateTable(t.Context(), idemddbtest.CreateTable(p.LedgerTableName, "")); err != nil {
		t.Fatal(err)
	}

	allDone(t, p, "outage-", payments)
	t.Logf("%d payments are done %v after the outage began", payments, time.Since(began).Round(time.Second))

	if letters := depth(t, p, p.DeadLetterQueueUrl); letters != (pipeline.Depth{}) {
		t.Errorf("dead letters of the outage: %+v, want none", letters)
	}

	wantEachOnce(t, p, "outage-", payments)
}
