package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/idemddb/go-idemddb/idemddb/operate"
	"github.com/idemddb/go-idemddb/internal/sleep"
)

var statuses = []operate.Status{
	operate.Held, operate.Stuck, operate.Released, operate.Completed, operate.Failed, operate.Expired, operate.Corrupt,
}

// The words beside the statuses that list takes.
const (
	wordUnsent = "unsent"
	wordParked = "parked"
	wordTwice  = "twice"
	wordAll    = "all"
)

// listing are the flags of list.
type listing struct {
	selection operate.Selection
	limit     int
	watch     time.Duration
	since     time.Duration // of list twice
}

const listHelp = `List the keys of the namespace with one of the statuses; stuck and failed by default.

  held        a worker has claimed the key
  stuck       the worker's lease ran out: it died or is late
  released    the claim was given back
  completed   the work is done
  failed      the key ended for good
  expired     the retention is over, and Time to Live has not deleted the record
  corrupt     another format version, or not a record
  unsent      completed, with messages that are not sent (with --unsent-index without a scan, and then without those that are parked)
  parked      completed, with messages that can never be sent as they are
  twice       the work may have been done twice
  all         every record

It reads the whole table, in parallel, and stops when --budget is used up; --cursor goes on from there. The oldest stand first; with --json a record
is printed when it is found, in no order.
` + twiceHelp

func (a *app) listCommand() *cobra.Command {
	l := &listing{}
	cmd := &cobra.Command{
		Use: "list [STATUS...]", Short: "List the keys of the namespace that need somebody",
		Long: listHelp,
		Example: "  idem list\n  idem list failed --json\n  idem list unsent --unsent-index unsent\n" +
			"  idem list stuck --watch 10s\n  idem list twice --since 2h",
		ValidArgs: listWords(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := notNegative(cmd, "limit", "watch", "since"); err != nil {
				return err
			}

			if err := l.choose(args); err != nil {
				return err
			}

			d, err := a.open(cmd.Context())
			if err == nil {
				err = l.chooseTwice(d.store.Options().Now())
			}

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
	words := []string{wordAll, wordUnsent, wordParked, wordTwice}
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
	flags.DurationVar(&l.since, "since", 0, "of twice: not what was taken over and done before, such as 2h (default everything)")
	flags.BoolVar(&l.selection.Retries, "retries", false, "of twice: also keys whose handler returned an error and ran again")
}

// choose reads the statuses.
func (l *listing) choose(args []string) error {
	if len(args) == 0 {
		args = []string{string(operate.Stuck), string(operate.Failed)}
	}

	for _, arg := range args {
		switch {
		case slices.Contains([]string{wordAll, wordUnsent, wordParked, wordTwice}, arg) && len(args) > 1:
			return fmt.Errorf("%s stands alone: it cannot be joined with a status", arg)
		case arg == wordAll:
		case arg == wordUnsent:
			l.selection.Unsent = true
		case arg == wordParked:
			l.selection.Parked = true
		case arg == wordTwice:
			l.selection.Twice = true
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

		if _, isSaid := errors.AsType[*codeError](err); err != nil && !isSaid && ctx.Err() == nil {
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
	p := newListPrinter(a, d.store.Options().Now(), l)
	l.selection.Progress = a.progress(ctx, d)

	progress, err := d.records.List(ctx, l.selection, p.print)

	if failed := p.flush(); failed != nil {
		return fmt.Errorf("print: %w", failed)
	}

	if err != nil && !errors.Is(err, errLimit) {
		if progress.Cursor != "" && progress.Read > 0 {
			a.sayf("To go on: --cursor %s", progress.Cursor)
		}

		return fmt.Errorf("list: %w", err)
	}

	p.summarize(progress, err)

	switch {
	case p.count > 0:
		return nil
	case progress.Cursor != "": // what was not read may have some
		return &codeError{code: exitError}
	default:
		return &codeError{code: exitNothing}
	}
}
