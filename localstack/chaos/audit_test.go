//go:build chaos

package chaos_test

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/localstack/auditing"
)

// audited are the reports of all scenarios.
var audited struct {
	mu      sync.Mutex
	reports []audit.Report
}

func TestMain(m *testing.M) {
	code := m.Run()

	fmt.Fprintf(os.Stdout, "all scenarios: %v\n", auditing.Sum(audited.reports...))
	os.Exit(code)
}

// audit demands that each change of a record, from the first one on, is one that docs/record.md allows. skew is the ClockSkew of
// the workers, or the smallest one if they have several; 0 is the default.
func (r *run) audit(skew time.Duration) {
	options := audit.Options{Namespaces: []string{"api", "payments"}, ClockSkew: skew}

	report, err := auditing.Table(r.Context(), r.pipe.DynamoDB, r.pipe.RecordTableName, options)
	if err != nil {
		r.Errorf("the changes of the records: %v", err)
	}

	if err := report.Err(); err != nil {
		r.Error(err)
	}

	r.Log(report)

	audited.mu.Lock()
	defer audited.mu.Unlock()

	audited.reports = append(audited.reports, report)
}
