package audited

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/idemddb/go-idemddb/idemddb/audit"
)

// Variable names the file that gets one line of JSON for each test. If it is not set, nothing is written.
const Variable = "IDEMDDB_AUDIT"

// numbers are those of a report, without what it tells of keys.
type numbers struct {
	Package    string             `json:"package"` // whose tests made the changes, without its path
	Judged     int                `json:"judged"`
	NoRecords  int                `json:"noRecords"`
	Kinds      map[audit.Kind]int `json:"kinds"`
	Late       int                `json:"late"`
	Gaps       int                `json:"gaps"`
	Untimed    int                `json:"untimed"`
	Violations int                `json:"violations"`
}

// count adds a line to the file. Each is one write to its end, so that test binaries can share the file.
func count(report audit.Report) error {
	name := os.Getenv(Variable)
	if name == "" || report.Judged == 0 {
		return nil
	}

	line, err := json.Marshal(numbers{
		strings.TrimSuffix(filepath.Base(os.Args[0]), ".test"),
		report.Judged, report.NoRecords, report.Kinds, report.Late, report.Gaps, report.Untimed, report.Violations,
	})
	if err != nil {
		return fmt.Errorf("audited: %w", err)
	}

	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // the Makefile names it
	if err != nil {
		return fmt.Errorf("audited: %w", err)
	}

	_, err = file.Write(append(line, '\n'))
	if closed := file.Close(); err == nil {
		err = closed
	}

	if err != nil {
		return fmt.Errorf("audited: %w", err)
	}

	return nil
}

// Total adds up what tests have written into a file. judged is how many changes each package had judged.
func Total(lines io.Reader) (total audit.Report, judged map[string]int, err error) {
	judged = map[string]int{}

	for all := json.NewDecoder(lines); all.More(); {
		var one numbers
		if err := all.Decode(&one); err != nil {
			return audit.Report{}, nil, fmt.Errorf("audited: %w", err)
		}

		judged[one.Package] += one.Judged
		total = total.Plus(audit.Report{
			Judged: one.Judged, NoRecords: one.NoRecords, Kinds: one.Kinds, Late: one.Late, Gaps: one.Gaps, Untimed: one.Untimed,
			Violations: one.Violations,
		})
	}

	return total, judged, nil
}
