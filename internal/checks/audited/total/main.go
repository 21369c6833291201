// Program total adds up the file that the tests have written, and prints how many changes were judged. `make test` runs it, and
// fails if they are too few, or none of a kind: then a fixture hands its changes over no more.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
)

func main() {
	least := flag.Int("least", 0, "how many changes there must be at least")
	flag.Parse()

	if err := run(os.Stdout, flag.Arg(0), *least, flag.Args()[min(1, flag.NArg()):]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(out io.Writer, name string, least int, packages []string) error {
	file, err := os.Open(name) //nolint:gosec // the Makefile names it
	if err != nil {
		return fmt.Errorf("no test has had its changes judged: %w", err)
	}

	total, judged, err := audited.Total(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}

	fmt.Fprintln(out, total)

	if total.Judged < least {
		return fmt.Errorf("%d changes are too few, there were at least %d: which fixture hands over none any more?", total.Judged, least)
	}

	for _, p := range packages {
		if judged[p] == 0 {
			return fmt.Errorf("the tests of package %s had no change judged: does its fixture hand over none any more?", p)
		}
	}

	missing := slices.DeleteFunc(audit.Kinds(), func(kind audit.Kind) bool {
		return total.Kinds[kind] > 0 || slices.Contains([]audit.Kind{audit.NoChange, audit.OtherAttributes, audit.NoRecord}, kind)
	})
	if len(missing) > 0 {
		return fmt.Errorf("no change was of these kinds: %q", missing)
	}

	if total.Violations > 0 {
		return fmt.Errorf("%d changes are violations: the tests that made them have failed, and tell the stories of the keys", total.Violations)
	}

	return nil
}
