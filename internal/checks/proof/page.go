package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// row is a row of the page's tables that begins with a number.
type row struct {
	number int
	what   string  // what happens, or what is promised
	proofs []proof // the tests that show it
	prints string  // what this program prints of it
	not    string  // what they do not show
}

// proof names tests.
type proof struct {
	pkg  string // below the root of the repository
	test string // a test, or a test and a case of it: TestA/case
}

// contractPackage has tests whose names are sentences. They run on each of its engines, and on each kind of table.
const contractPackage = "internal/contract"

// The columns of a row.
const (
	columnNumber = iota
	columnWhat
	columnProofs
	columnPrints
	columnNot
	columns
)

var (
	codeSpan  = regexp.MustCompile("`([^`]+)`")
	testNames = regexp.MustCompile(`^([a-z0-9/]+) (Test\w+(?:/[\w.,+-]+)?)$`)
)

// parse reads the rows of the page. Their numbers rise by one, so that none is given twice or is missing.
func parse(text string) ([]row, error) {
	var rows []row

	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")

		number, err := strconv.Atoi(strings.TrimSpace(cells[columnNumber]))
		if err != nil || !strings.HasPrefix(line, "|") {
			continue
		}

		if len(cells) != columns {
			return nil, fmt.Errorf("row %d has %d cells in place of %d", number, len(cells), columns)
		}

		r := row{number: number}
		r.what, r.prints, r.not = strings.TrimSpace(cells[columnWhat]), strings.TrimSpace(cells[columnPrints]), strings.TrimSpace(cells[columnNot])

		if r.proofs, err = parseProofs(cells[columnProofs]); err != nil {
			return nil, fmt.Errorf("row %d: %w", number, err)
		}

		if number != len(rows)+1 {
			return nil, fmt.Errorf("row %d stands where row %d is due", number, len(rows)+1)
		}

		rows = append(rows, r)
	}

	return rows, nil
}

// parseProofs reads what stands in the backquotes of a cell: a package and a test of it, or "contract:" and the name of a case.
func parseProofs(cell string) ([]proof, error) {
	var proofs []proof

	for _, span := range codeSpan.FindAllStringSubmatch(cell, -1) {
		if name, ok := strings.CutPrefix(span[1], "contract: "); ok {
			proofs = append(proofs, proof{pkg: contractPackage, test: strings.ReplaceAll(name, " ", "_")})

			continue
		}

		parts := testNames.FindStringSubmatch(span[1])
		if parts == nil {
			return nil, fmt.Errorf("%q is neither a package and a test of it nor a case of the contract", span[1])
		}

		proofs = append(proofs, proof{pkg: parts[1], test: parts[2]})
	}

	if len(proofs) == 0 {
		return nil, fmt.Errorf("no test stands in %q", strings.TrimSpace(cell))
	}

	return proofs, nil
}
