package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb/operate"
)

// listPrinter prints the records of a list, and counts them for its limit.
type listPrinter struct {
	app   *app
	table *tabwriter.Writer
	twice *twicePrinter // prints instead; nil but for list twice
	now   time.Time
	limit int
	count int
}

func newListPrinter(a *app, now time.Time, l *listing) *listPrinter {
	p := &listPrinter{app: a, now: now, limit: l.limit, table: newTable(a.out)}
	if l.selection.Twice {
		p.twice = &twicePrinter{out: a.out, now: now, rows: map[group][][]string{}}
	}

	return p
}

// newTable returns a writer that puts two spaces between the columns.
func newTable(out io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(out, 0, 0, 2, ' ', 0) }

// flush prints what was kept to set the widths of columns.
func (p *listPrinter) flush() error {
	if p.twice != nil {
		return p.twice.flush()
	}

	return p.table.Flush() //nolint:wrapcheck // the caller says that it is about printing
}

// print prints a record. It returns errLimit if enough are printed, which ends the list.
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

	if p.count == 1 {
		fmt.Fprintln(p.table, "STATUS\tATTEMPTS\tSINCE\tMESSAGES\tKEY\tLAST FAILURE")
	}

	fmt.Fprintln(p.table, strings.Join(cells(v, p.now), "\t"))

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

	since := v.Born

	switch {
	case !v.Done.IsZero():
		since = v.Done
	case v.Status == operate.Stuck:
		since = v.Lease
	}

	age := ""
	if !since.IsZero() {
		age = span(now.Sub(since).Round(time.Second))
	}

	return []string{string(v.Status), strconv.Itoa(v.Attempts), age, messages, shorten(v.Key, maxCell), shorten(v.Cause, maxCell)}
}

// progress tells how far a list is, at most once a second, and about how much the table holds.
func (a *app) progress(ctx context.Context, d *desk) func(operate.Progress) {
	var total *string

	last := time.Now()

	return func(p operate.Progress) {
		if time.Since(last) < time.Second {
			return
		}

		if total == nil {
			total = new(size(ctx, d))
		}

		last = time.Now()
		a.sayf("read %d records%s, found %d, %.1f read units", p.Read, *total, p.Found, p.Units)
	}
}

// size is about how large the table is; "" if the service does not say.
func size(ctx context.Context, d *desk) string {
	out, err := d.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: new(d.store.Table())})
	if err != nil || out.Table == nil || out.Table.ItemCount == nil || *out.Table.ItemCount == 0 {
		return ""
	}

	return fmt.Sprintf(" of about %d", *out.Table.ItemCount)
}
