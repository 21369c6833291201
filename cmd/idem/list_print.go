package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/idemddb/go-idemddb/cmd/idem/internal/report"
	"github.com/idemddb/go-idemddb/idemddb/operate"
)

// listPrinter prints the records of a list, and counts them for its limit.
type listPrinter struct {
	app   *app
	twice *twicePrinter // prints instead; nil but for list twice
	now   time.Time
	limit int
	count int
	rows  []operate.View // of the table; not with --json
}

func newListPrinter(a *app, now time.Time, l *listing) *listPrinter {
	p := &listPrinter{app: a, now: now, limit: l.limit}
	if l.selection.Twice {
		p.twice = &twicePrinter{out: a.out, now: now, rows: map[group][][]string{}}
	}

	return p
}

// flush prints what was kept to set the widths of columns.
func (p *listPrinter) flush() error {
	if p.twice != nil {
		return p.twice.flush()
	}

	return p.printTable()
}

// printTable prints the records that were kept: first those that have waited longest, last those that do not say since when.
func (p *listPrinter) printTable() error {
	if len(p.rows) == 0 {
		return nil
	}

	slices.SortStableFunc(p.rows, func(v, w operate.View) int {
		a, b := since(v), since(w)
		if a.IsZero() != b.IsZero() {
			return b.Compare(a)
		}

		return cmp.Or(a.Compare(b), cmp.Compare(v.Key, w.Key))
	})

	table := newTable(p.app.out)
	fmt.Fprintln(table, "STATUS\tATTEMPTS\tSINCE\tMESSAGES\tKEY\tLAST FAILURE")

	for _, v := range p.rows {
		fmt.Fprintln(table, strings.Join(cells(v, p.now), "\t"))
	}

	return table.Flush() //nolint:wrapcheck // list wraps it
}

// print prints a record, or keeps it for the table. It returns errLimit if enough are printed, which ends the list.
func (p *listPrinter) print(v operate.View) error {
	if p.limit > 0 && p.count == p.limit {
		return errLimit
	}

	if p.count++; p.app.flags.json {
		return p.app.printJSON(v)
	}

	if p.twice != nil {
		p.twice.add(&v)

		return nil
	}

	p.rows = append(p.rows, v)

	return nil
}

// summarize prints how much was read, and how to see the records that were not listed.
func (p *listPrinter) summarize(progress operate.Progress, err error) {
	p.app.sayf("%d found among %d records, %.1f read units.", p.count, progress.Read, progress.Units)

	switch {
	case errors.Is(err, errLimit):
		p.app.sayf("There are more; raise --limit.")
	case progress.Cursor != "":
		p.app.sayf("The budget ended before the whole table was read. To go on, with the same flags and: --cursor %s", progress.Cursor)
	}
}

func cells(v operate.View, now time.Time) []string {
	messages := ""
	if len(v.Messages) > 0 {
		messages = strconv.Itoa(len(v.Messages))
	}

	age := ""
	if since := since(v); !since.IsZero() {
		age = report.Span(now.Sub(since).Round(time.Second))
	}

	return []string{string(v.Status), strconv.Itoa(v.Attempts), age, messages, shorten(v.Key, maxCell), shorten(v.Cause, maxCell)}
}

// since is when a record came into its status; zero if it does not say that.
func since(v operate.View) time.Time {
	switch {
	case !v.Done.IsZero():
		return v.Done
	case v.Status == operate.Stuck:
		return v.Lease
	default:
		return v.Born
	}
}
