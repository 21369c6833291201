package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/spf13/cobra"

	"github.com/idemddb/go-idemddb/idemddb/operate"
	"github.com/idemddb/go-idemddb/internal/sleep"
)

var statuses = []operate.Status{
	operate.Held, operate.Stuck, operate.Released, operate.Completed, operate.Failed, operate.Expired, operate.Unreadable,
}

// The words beside the statuses that list takes.
const (
	wordUnsent = "unsent"
	wordParked = "parked"
	wordAll    = "all"
)

// listing are the flags of list.
type listing struct {
	selection operate.Selection
	limit     int
	watch     time.Duration
}

const listHelp = `List the keys of the namespace with one of the statuses; stuck and failed by default.

  held        a worker has claimed the key
  stuck       the worker's lease ran out: it died or is late
  released    the claim was given back
  completed   the work is done
  failed      the key ended for good
  expired     the retention is over, and Time to Live has not deleted the record
  unreadable  another format version, or not a record
  unsent      completed, with messages that are not sent (with --unsent-index without a scan, and then without those that are parked)
  parked      completed, with messages that can never be sent as they are
  all         every record

It reads the whole table, in parallel, and stops when --budget is used up; --cursor goes on from there. The oldest stand first; with --json a record
is printed when it is found, in no order.`

func (a *app) listCommand() *cobra.Command {
	l := &listing{}
	cmd := &cobra.Command{
		Use: "list [STATUS...]", Short: "List the keys of the namespace that need somebody",
		Long:      listHelp,
		Example:   "  idem list\n  idem list failed --json\n  idem list unsent --unsent-index unsent\n  idem list stuck --watch 10s",
		ValidArgs: listWords(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := l.choose(args); err != nil {
				return err
			}

			d, err := a.open(cmd.Context())
			if err != nil {
				return err
			}

			return a.listAgain(cmd.Context(), d, l)
		},
	}
	l.addTo(cmd)

	return cmd
}

// listWords returns the arguments of list, which a shell completes.
func listWords() []string {
	words := []string{wordAll, wordUnsent, wordParked}
	for _, status := range statuses {
		words = append(words, string(status))
	}

	return words
}

// addTo gives list its flags.
func (l *listing) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Float64Var(&l.selection.Budget, "budget", 0, "read units that the list may use (default 10000, about $0.00125)")
	flags.Float64Var(&l.selection.Rate, "rate", 0, "read units a second (default no limit)")
	flags.IntVar(&l.selection.Segments, "segments", 0, "parts of the table that are read at the same time (default 4)")
	flags.StringVar(&l.selection.Cursor, "cursor", "", "where an earlier list stopped")
	flags.IntVar(&l.limit, "limit", 0, "stop after so many records (default no limit)")
	flags.DurationVar(&l.watch, "watch", 0, "list again after this time, until it is interrupted; each list has the whole budget")
}

// choose reads the statuses.
func (l *listing) choose(args []string) error {
	if len(args) == 0 {
		args = []string{string(operate.Stuck), string(operate.Failed)}
	}

	switch {
	case l.limit < 0:
		return fmt.Errorf("--limit: must not be negative, is %d", l.limit)
	case l.watch < 0:
		return fmt.Errorf("--watch: must not be negative, is %v", l.watch)
	}

	for _, arg := range args {
		switch {
		case (arg == wordAll || arg == wordUnsent || arg == wordParked) && len(args) > 1:
			return fmt.Errorf("%s stands alone: it cannot be joined with a status", arg)
		case arg == wordAll:
		case arg == wordUnsent:
			l.selection.Unsent = true
		case arg == wordParked:
			l.selection.Parked = true
		case slices.Contains(statuses, operate.Status(arg)):
			l.selection.Status = append(l.selection.Status, operate.Status(arg))
		default:
			return fmt.Errorf("%q is no status; see idem list --help", arg)
		}
	}

	return nil
}

// listAgain lists once, or until the context ends.
func (a *app) listAgain(ctx context.Context, d *desk, l *listing) error {
	for {
		err := a.list(ctx, d, l)
		if l.watch <= 0 {
			return err
		}

		code, ok := errors.AsType[*codeError](err)
		if err != nil && (!ok || code.code != exitNothing) && ctx.Err() == nil {
			return err
		}

		a.sayf("%s: next in %v", d.store.Options().Now().UTC().Format(time.TimeOnly), l.watch)

		if !sleep.For(ctx, l.watch) {
			return nil
		}
	}
}

var errLimit = errors.New("enough records")

func (a *app) list(ctx context.Context, d *desk, l *listing) error {
	p := &listPrinter{app: a, now: d.store.Options().Now(), limit: l.limit}
	l.selection.Progress = a.progress(ctx, d)

	progress, err := d.records.List(ctx, l.selection, p.print)

	if errPrint := p.printTable(); errPrint != nil {
		return fmt.Errorf("print: %w", errPrint)
	}

	if err != nil && !errors.Is(err, errLimit) {
		if progress.Cursor != "" && progress.Read > 0 {
			a.sayf("To go on: --cursor %s", progress.Cursor)
		}

		return fmt.Errorf("list: %w", err)
	}

	p.summarize(progress, err)

	if p.count == 0 {
		return &codeError{code: exitNothing}
	}

	return nil
}

// listPrinter prints the records of a list, and counts them for its limit.
type listPrinter struct {
	app   *app
	now   time.Time
	limit int
	count int
	rows  []operate.View // of the table; not with --json
}

// print prints a record, or keeps it for the table. It returns errLimit if enough are printed, which ends the list.
func (p *listPrinter) print(v operate.View) error {
	if p.limit > 0 && p.count == p.limit {
		return errLimit
	}

	if p.count++; p.app.flags.json {
		return p.app.printJSON(v)
	}

	p.rows = append(p.rows, v)

	return nil
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

	table := tabwriter.NewWriter(p.app.out, 0, 0, 2, ' ', 0) // two spaces between the columns
	fmt.Fprintln(table, "STATUS\tATTEMPTS\tSINCE\tMESSAGES\tKEY\tLAST FAILURE")

	for _, v := range p.rows {
		fmt.Fprintln(table, strings.Join(cells(v, p.now), "\t"))
	}

	return table.Flush() //nolint:wrapcheck // list wraps it
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
		age = span(now.Sub(since).Round(time.Second))
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
