// Costplot draws the picture of the page about cost from the tables of the page about performance: requests and write units of a
// message, with this library and by hand. make bench-check WRITE=1 runs it when the tables have changed.
//
//	go run ./bench/costplot
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

const (
	pageFile = "docs/performance.md"
	plotFile = "docs/pictures/cost.svg"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "costplot:", err)
		os.Exit(1)
	}
}

func run() error {
	page, err := os.ReadFile(pageFile)
	if err != nil {
		return err //nolint:wrapcheck // names the file
	}

	picture, err := plotOf(string(page))
	if err != nil {
		return err
	}

	return os.WriteFile(plotFile, []byte(picture), 0o600) //nolint:wrapcheck,gosec // names the file, which is of this program
}

// shown are the rows of the tables that the picture has, with what it calls them. Where the library costs more than by hand, it
// is shown, too.
var shown = []struct{ row, label string }{
	{"claims: batch of 10, 1 worker", "a new message"},
	{"claims: batch of 10, all of them delivered again", "a duplicate, delivered again"},
	{"claims: batch of 10, all of them sent twice", "a duplicate, sent twice"},
	{"staged: batch of 10", "with staged effects"},
	{"Optimistic: batch of 10", "with staged effects, Optimistic"},
	{"Adds to one account: batch of 10", "with an addition to one account"},
	{"outbox: batch of 10", "with a message of the outbox"},
	{"HTTP: 1 at a time", "a request of HTTP, alone"},
	{"HTTP: 64 at a time", "a request of HTTP, 64 at a time"},
	{"6 processes, 10 accounts, every payment twice", "a payment to ten accounts, sent twice"},
}

// row has the figures of a message.
type row struct {
	label             string
	requests, charged figures // charged are write units
}

type figures struct{ byHand, library float64 }

// plotOf returns the picture of a page.
func plotOf(page string) (string, error) {
	tables := map[string]row{}

	for line := range strings.Lines(page) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")

		var r row

		fields := []*float64{&r.requests.byHand, &r.requests.library, &r.charged.byHand, &r.charged.library}
		if len(cells) <= len(fields) {
			continue
		}

		isRow := true

		for i, field := range fields {
			v, err := strconv.ParseFloat(strings.TrimSpace(cells[i+1]), 64)
			*field, isRow = v, isRow && err == nil
		}

		if isRow {
			tables[strings.TrimSpace(cells[0])] = r
		}
	}

	_, measured, _ := strings.Cut(page, "\nMeasured on ")
	measured, _, isDated := strings.Cut(measured, ".\n")

	if !isDated {
		return "", fmt.Errorf("%s does not say when its tables were measured", pageFile)
	}

	rows := make([]row, 0, len(shown))

	for _, s := range shown {
		r, ok := tables[s.row]
		if !ok {
			return "", fmt.Errorf("%s has no row %q", pageFile, s.row)
		}

		r.label = s.label
		rows = append(rows, r)
	}

	return draw(rows, measured), nil
}
