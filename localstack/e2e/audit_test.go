//go:build e2e || aws

package e2e_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/internal/record"
	"github.com/idemddb/go-idemddb/localstack/auditing"
	"github.com/idemddb/go-idemddb/localstack/pipeline"
)

// audited are the tables of records whose streams are read in the end.
var audited struct {
	mu     sync.Mutex
	tables map[string]*auditedTable // by name
}

type auditedTable struct {
	client *dynamodb.Client
	edited map[string]int // by hashOf the record: changes that a test made by hand, which the audit must find
}

// watch enables the stream of a table of records. It must come before the first record.
func watch(t *testing.T, client *dynamodb.Client, table string) {
	t.Helper()

	if err := auditing.Enable(t.Context(), client, table); err != nil {
		t.Fatal(err)
	}

	audited.mu.Lock()
	defer audited.mu.Unlock()

	if audited.tables == nil {
		audited.tables = map[string]*auditedTable{}
	}

	audited.tables[table] = &auditedTable{client: client, edited: map[string]int{}}
}

// edited says that a change of a record that docs/record.md does not allow is made by a test. The key is the record's.
func edited(p *pipeline.Pipeline, key map[string]types.AttributeValue) {
	audited.mu.Lock()
	defer audited.mu.Unlock()

	partition, _ := key["pk"].(*types.AttributeValueMemberS)
	audited.tables[p.RecordTableName].edited[hashOf(partition.Value)]++
}

// hashOf is how logs show a record: on AWS, the key of a request has the caller in it, and the log is made public.
func hashOf(partition string) string {
	_, key, _ := strings.Cut(partition, "#")

	return record.KeyHash(key)
}

// testAudit demands that each change of each record, from the first one on, is one that docs/record.md allows, but for those that
// tests made by hand, each of which must be found.
func testAudit(t *testing.T) {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()

	var (
		reports []audit.Report
		edits   int
	)

	for name, table := range audited.tables {
		report, err := auditing.Table(ctx, table.client, name, audit.Options{Namespaces: []string{"api", "payments"}})
		if err != nil {
			t.Errorf("the changes of the records in %s: %v", name, err)
		}

		found := map[string]int{}
		for _, f := range report.Found {
			found[hashOf(f.Partition)]++
		}

		if diff := cmp.Diff(table.edited, found); diff != "" {
			t.Errorf("violations in %s by record, %v (-edited by tests +found):\n%s", name, report.Err(), diff)
		}

		t.Logf("%s: %v", name, report)

		reports = append(reports, report)

		for _, n := range table.edited {
			edits += n
		}
	}

	t.Logf("all tables, with %d edits by hand: %v", edits, auditing.Sum(reports...))
}
