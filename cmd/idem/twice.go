package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/idemddb/go-idemddb/idemddb/operate"
)

const twiceHelp = `
idem list twice lists the keys whose work may have been done twice: those that were taken over after a lease ran out, that an operator released,
or that were reopened. What was completed together with staged effects stands by itself, because these happened once; so does what the next
delivery runs for the second time. --since 2h leaves out what was taken over and done before. A key whose handler returned an error and ran again
is not listed; --retries lists it. A record keeps the last worker and the last reason. idem audit KEY tells all of them, and those of a key that
was forgotten.`

// group is what is known of the second run of a key.
type group int

const (
	inDoubt group = iota
	staged
	pending
	retried
)

// titles say what is true of the keys of each group.
var titles = map[group]string{
	inDoubt: "The handlers of these keys began more than once, and a run before the last may have had its effects:",
	staged:  "These were completed with staged effects, which happened once. Anything else that their handlers did may have happened with each run:",
	pending: "The handlers of these have not begun again. The next delivery runs the work, and what the last worker did may happen a second time:",
	retried: "The handlers of these returned an error and ran again:",
}

func groupOf(run *operate.SecondRun) group {
	switch {
	case run.Pending:
		return pending
	case run.Staged:
		return staged
	case slices.Equal(run.Why, []operate.Reason{operate.WasRetried}):
		return retried
	default:
		return inDoubt
	}
}

// chooseTwice takes the flags of list twice.
func (l *listing) chooseTwice(now time.Time) error {
	switch {
	case !l.selection.Twice && (l.since != 0 || l.selection.Retries):
		return errors.New("--since and --retries: are for idem list twice")
	case l.since > 0:
		l.selection.Since = now.Add(-l.since)
	}

	return nil
}

// twicePrinter keeps the rows of each group until the list is read, because the records come in no order.
type twicePrinter struct {
	out  io.Writer
	now  time.Time
	rows map[group][][]string
}

var twiceColumns = []string{"KEY", "STATUS", "ATTEMPTS", "LAST WORKER", "WHY", "TRACE OF THE RUN BEFORE"}

func (p *twicePrinter) add(v *operate.View) {
	which := groupOf(v.SecondRun)
	p.rows[which] = append(p.rows[which], []string{
		shorten(v.Key, maxCell), string(v.Status), strconv.Itoa(v.Attempts), worker(v), whyTwice(v, p.now), v.PreviousTrace,
	})
}

// flush prints the groups, each with its title. The column of the traces is left out of a group whose records have none.
func (p *twicePrinter) flush() error {
	for which := inDoubt; which <= retried; which++ {
		rows := p.rows[which]
		if len(rows) == 0 {
			continue
		}

		slices.SortFunc(rows, slices.Compare[[]string]) // by the key

		columns := len(twiceColumns)
		if !slices.ContainsFunc(rows, func(row []string) bool { return row[columns-1] != "" }) {
			columns--
		}

		fmt.Fprintln(p.out, titles[which])

		table := newTable(p.out)
		for _, row := range append([][]string{twiceColumns}, rows...) {
			fmt.Fprintln(table, "  "+strings.Join(row[:columns], "\t"))
		}

		if err := table.Flush(); err != nil {
			return err //nolint:wrapcheck // the caller says that it is about printing
		}
	}

	return nil
}

// worker is who claimed the key last: its request id, and outside of Lambda its owner token.
func worker(v *operate.View) string {
	if v.Request != "" {
		return shorten(v.Request, maxCell)
	}

	return shorten(v.Owner, maxCell)
}

// whyTwice says why the work began again, as far as the record shows.
func whyTwice(v *operate.View, now time.Time) string {
	said := make([]string, len(v.SecondRun.Why))
	for i, reason := range v.SecondRun.Why {
		said[i] = reasonText(reason, v, now)
	}

	return strings.Join(said, "; ")
}

func reasonText(reason operate.Reason, v *operate.View, now time.Time) string {
	switch reason {
	case operate.TakenOver:
		if ended := moment(v.SecondRun.LeaseEnded, now); ended != "" {
			return "taken over; the lease before ended " + ended
		}

		return "taken over after a lease ran out"
	case operate.WasReleased:
		return "released" + byOperator(v.Last, "release", now)
	case operate.WasReopened:
		return "reopened" + byOperator(v.Last, "reopen", now)
	case operate.WasChanged:
		return "released by an operator, or reopened"
	case operate.WasRetried:
		return "the handler returned an error"
	case operate.ReasonAbsent:
		return "not known: a worker of an older version has run it again"
	default:
		return string(reason)
	}
}

// byOperator says who released or reopened the key, where the record still says it.
func byOperator(last *operate.Change, what string, now time.Time) string {
	switch {
	case last != nil && last.What == what:
		return fmt.Sprintf(" by %s, %s: %s", shorten(last.By, maxCell), moment(last.At, now), shorten(last.Why, maxShown))
	case what == "reopen":
		return " by a program"
	default:
		return " by an operator"
	}
}

// ranAgain is the same for the rows of show; "" for a key whose work began once.
func ranAgain(v *operate.View, now time.Time) string {
	switch {
	case v.SecondRun == nil:
		return ""
	case v.SecondRun.Pending:
		return "not yet; " + whyTwice(v, now)
	default:
		return whyTwice(v, now)
	}
}
