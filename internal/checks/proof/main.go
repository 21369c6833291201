// Proof runs the tests that docs/evidence.md names for each fault, bug and promise, and demands that they do what the page says.
//
//	go run ./internal/checks/proof          every row of the page
//	go run ./internal/checks/proof -row 7   one of them
//
// The page is what it reads: there is no other list. It fails if a test of a row fails or is skipped, if a name matches no test,
// and if another number of tests passes than the page says. Run it in the root of the repository.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
)

const page = "docs/evidence.md"

func main() {
	number := flag.Int("row", 0, "the number of the row; 0: all rows")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := prove(ctx, os.Stdout, *number)

	stop()

	if err != nil {
		fmt.Fprintln(os.Stderr, "proof:", err)
		os.Exit(1)
	}
}

// prove proves one row, or all of them if the number is 0.
func prove(ctx context.Context, out io.Writer, number int) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return fmt.Errorf("read the page: %w", err)
	}

	rows, err := parse(string(text))
	if err != nil {
		return err
	}

	if number != 0 {
		rows = slices.DeleteFunc(rows, func(r row) bool { return r.number != number })
	}

	if len(rows) == 0 {
		return fmt.Errorf("%s has no row %d", page, number)
	}

	seen, err := run(ctx, rows)
	if err != nil {
		return err
	}

	failed := 0

	for _, r := range rows {
		line, err := r.judge(seen)
		if err != nil {
			failed++
			line = "NOT PROVEN: " + err.Error()
		}

		_, _ = fmt.Fprintf(out, "%d %s\n  %s\n", r.number, r.what, line)
	}

	if failed > 0 {
		return fmt.Errorf("%d of %d rows are not proven", failed, len(rows))
	}

	_, _ = fmt.Fprintf(out, "proven: %d rows\n", len(rows))

	return nil
}

// judge returns what is printed of a row, or why it is not proven.
func (r row) judge(seen results) (string, error) {
	passed := 0

	var errs []error

	for _, p := range r.proofs {
		n, err := seen.count(p)
		passed += n
		errs = append(errs, err)
	}

	line := fmt.Sprintf("%d tests pass", passed)
	if passed == 1 {
		line = "1 test passes"
	}

	if err := errors.Join(errs...); err != nil {
		return "", err
	}

	if line != r.prints {
		return "", fmt.Errorf("%s, and the page says: %s", line, r.prints)
	}

	return line, nil
}
