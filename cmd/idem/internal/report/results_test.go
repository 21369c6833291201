package report_test

import (
	"strings"
	"testing"

	"github.com/idemddb/go-idemddb/cmd/idem/internal/report"
	"github.com/idemddb/go-idemddb/idemddb/operate"
	"github.com/idemddb/go-idemddb/internal/record"
)

// What a result costs depends on where it is kept: one in Options.Results, such as in S3, costs no write units.
func TestWritesCountTheResultsThatAreInTheTable(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct{ kept, want string }{
		"in the record":      {"", "of all records that were read 302 "},
		"beside it":          {record.NameInTable("payments#p-9", "RX3Z", [32]byte{}, 307_200), "of all records that were read 302 "},
		"in Options.Results": {"payments/digest/RX3Z-sum", "of all records that were read 2 "},
	} {
		totals := report.NewTotals(now, false)
		totals.Add(&operate.View{
			Key: "p-9", Status: operate.Completed, State: "COMPLETED", Attempts: 1, Born: now, Done: now, ResultBytes: 307_200, ResultName: c.kept,
		})

		if _, text := page(t, totals, report.Reading{}); !strings.Contains(text, c.want) {
			t.Errorf("%s: %q is not on the page:\n%s", name, c.want, text)
		}
	}
}
