//go:build unix

package bench

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// pagePath is the page with the table of all counts.
const pagePath = "../docs/performance.md"

var performance = flag.String("performance", "",
	"check: compare all counts with docs/performance.md; write: write them into it; print: print them")

// section is a table of the page.
type section struct {
	title string
	rows  []count
}

func sections() []section {
	return []section{
		{"Messages of a queue", queueCounts()},
		{"Work with effects", effectCounts()},
		{"Calls", callCounts()},
		{"Streams", streamCounts()},
		{"Few items that all write to", hotCounts()},
	}
}

// The margins of the check: a count is worse than the page's if it is more than this above it. What happens at one instant has no
// order that is always the same, conflicts wait for times that are drawn, and a collection of garbage empties pools.
const (
	margin         = 1.05
	conflictMargin = 1.3
)

var slack = counted{0.01, 0.01, 0.1}

// line is a row of the page.
type line struct {
	name            string
	isHot           bool // what the process itself uses is not known
	byHand, library figures
}

const tableHead = "| what | requests: by hand | library | WCU: by hand | library | allocations | CPU | time |\n|---|--:|--:|--:|--:|--:|--:|--:|\n"

func (l line) String() string {
	allocations, cpu := unknown, unknown
	if !l.isHot {
		allocations = "× " + decimals(l.allocations(), 2)
		cpu = "× " + decimals(max(0, float64(l.library.cpu)/float64(l.byHand.cpu)), 1) // what the engine uses is taken off, and is not exact
	}

	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s | × %s |\n", l.name,
		decimals(l.byHand.Requests, 3), decimals(l.library.Requests, 3), decimals(l.byHand.WriteUnits, 2), decimals(l.library.WriteUnits, 2),
		allocations, cpu, decimals(float64(l.library.took)/float64(l.byHand.took), 2))
}

func (l line) allocations() float64 { return l.library.Allocations / l.byHand.Allocations }

// decimals writes a number without needless zeros.
func decimals(v float64, n int) string {
	s := strconv.FormatFloat(v, 'f', n, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}

	return s
}

// counted is what the check compares: requests and write units of the library, and its allocations beside those by hand.
type counted [3]float64

// unknown stands on the page for what is not measured.
const unknown = "–"

// readLine reads a row of a table.
func readLine(s string) (name string, counts counted, ok bool) {
	cells := strings.Split(strings.Trim(s, "|"), "|")
	if columns, _, _ := strings.Cut(tableHead, "\n"); len(cells) != strings.Count(columns, "|")-1 {
		return "", counts, false
	}

	for i, column := range []int{2, 4, 5} {
		cell := strings.TrimPrefix(strings.TrimSpace(cells[column]), "× ")

		v, err := strconv.ParseFloat(cell, 64)
		if err != nil && cell != unknown {
			return "", counts, false
		}

		counts[i] = v
	}

	return strings.TrimSpace(cells[0]), counts, true
}

// worse describes each count that is above that of the page.
func (l line) worse(page counted) (found []string) {
	limit, got := margin, counted{l.library.Requests, l.library.WriteUnits, l.allocations()}
	if l.isHot {
		limit, got[2] = conflictMargin, 0
	}

	for i, unit := range []string{"requests a message", "WCU a message", "of the allocations by hand"} {
		if most := page[i]*limit + slack[i]; !(got[i] <= most) { // NaN is worse, too
			found = append(found, fmt.Sprintf("%s: %s %s, the page has %s", l.name, decimals(got[i], 3), unit, decimals(page[i], 3)))
		}
	}

	return found
}

// TestPerformance measures every row of the page, if it is asked to; else it only looks whether the page has these rows.
func TestPerformance(t *testing.T) {
	page := readPage(t)

	if *performance == "" || *performance == "check" {
		checkNames(t, page)
	}

	if *performance == "" {
		return
	}

	var tables strings.Builder

	for _, s := range sections() {
		fmt.Fprintf(&tables, "\n## %s\n\n%s", s.title, tableHead)

		for i := range s.rows {
			c := &s.rows[i]
			l := line{c.name, c.times != nil, c.measure(t, c.byHand), c.measure(t, c.library)}
			tables.WriteString(l.String())

			if *performance == "check" {
				for _, w := range l.worse(page[c.name]) {
					t.Error(w)
				}
			}
		}
	}

	if *performance == "write" {
		writePage(t, tables.String())
	} else {
		fmt.Fprint(os.Stdout, tables.String())
	}
}

func checkNames(t *testing.T, page map[string]counted) {
	t.Helper()

	names := map[string]bool{}

	for _, s := range sections() {
		for _, c := range s.rows {
			names[c.name] = true
			if _, ok := page[c.name]; !ok {
				t.Errorf("docs/performance.md lacks the row %q; make bench-check WRITE=1", c.name)
			}
		}
	}

	for name := range page {
		if !names[name] {
			t.Errorf("docs/performance.md has the row %q, which is not measured; make bench-check WRITE=1", name)
		}
	}
}

func readPage(t *testing.T) map[string]counted {
	t.Helper()

	content, err := os.ReadFile(pagePath)
	if err != nil {
		t.Fatal(err)
	}

	found := map[string]counted{}

	for s := range strings.Lines(string(content)) {
		if name, counts, ok := readLine(strings.TrimSpace(s)); ok {
			found[name] = counts
		}
	}

	return found
}

// The tables stand between these lines of the page.
const (
	tablesBegin = "<!-- The tables are written by make bench-check WRITE=1. -->\n"
	tablesEnd   = "\n<!-- The end of the tables. -->\n"
)

func writePage(t *testing.T, tables string) {
	t.Helper()

	content, err := os.ReadFile(pagePath)
	if err != nil {
		t.Fatal(err)
	}

	before, rest, found := strings.Cut(string(content), tablesBegin)
	_, after, isEnded := strings.Cut(rest, tablesEnd)

	if !found || !isEnded {
		t.Fatalf("%s has no place for the tables", pagePath)
	}

	measured := "\nMeasured on " + time.Now().Format("2 January 2006") + ".\n"
	if err := os.WriteFile(pagePath, []byte(before+tablesBegin+measured+tables+tablesEnd+after), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestACountThatGetsWorseIsNoticed(t *testing.T) {
	t.Parallel()

	byHand := figures{Requests: 2, WriteUnits: 2, Allocations: 1000, cpu: 1, took: 10}
	library := figures{Requests: 0.2, WriteUnits: 2, Allocations: 270, cpu: 1, took: 1}

	name, page, ok := readLine(strings.TrimSpace(line{"ten", false, byHand, library}.String()))
	if !ok || name != "ten" || page != (counted{0.2, 2, 0.27}) {
		t.Fatalf("read %q, %v, %t", name, page, ok)
	}

	for name, c := range map[string]struct {
		isHot   bool
		library figures
		want    string
	}{
		"as on the page":               {false, library, ""},
		"fewer":                        {false, figures{Requests: 0.1, WriteUnits: 1, Allocations: 100}, ""},
		"within the margin":            {false, figures{Requests: 0.215, WriteUnits: 2.05, Allocations: 370}, ""},
		"a third of a request a batch": {false, figures{Requests: 0.23, WriteUnits: 2, Allocations: 270}, "ten: 0.23 requests a message, the page has 0.2"},
		"another write unit":           {false, figures{Requests: 0.2, WriteUnits: 3, Allocations: 270}, "ten: 3 WCU a message, the page has 2"},
		"more allocations":             {false, figures{Requests: 0.2, WriteUnits: 2, Allocations: 400}, "ten: 0.4 of the allocations by hand, the page has 0.27"},
		"conflicts are drawn":          {true, figures{Requests: 0.25, WriteUnits: 2.5, Allocations: 2700}, ""},
		"more conflicts than that":     {true, figures{Requests: 0.3, WriteUnits: 2}, "ten: 0.3 requests a message, the page has 0.2"},
	} {
		if got := strings.Join((line{"ten", c.isHot, byHand, c.library}).worse(page), "; "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}

	if got := (line{name: "ten", byHand: figures{}, library: figures{}}).worse(page); len(got) == 0 {
		t.Error("a row that measured nothing is not worse")
	}
}

func TestAPageIsReadAsItIsWritten(t *testing.T) {
	t.Parallel()

	hot := line{"hot", true, figures{Requests: 1, WriteUnits: 6, took: 2}, figures{Requests: 0.3, WriteUnits: 8, took: 1}}
	if name, counts, ok := readLine(strings.TrimSpace(hot.String())); !ok || name != "hot" || counts != (counted{0.3, 8, 0}) {
		t.Errorf("read %q, %v, %t", name, counts, ok)
	}

	for _, s := range []string{"", "text", "|---|--:|--:|--:|--:|--:|--:|--:|", strings.SplitN(tableHead, "\n", 2)[0]} {
		if name, _, ok := readLine(s); ok {
			t.Errorf("%q is the row %q", s, name)
		}
	}
}
