package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/operate"
)

// change is a command that changes records.
type change struct {
	app    *app
	finder finder

	name     string
	question string // what happens, for the question
	warning  func(v operate.View, now time.Time) string
	all      operate.Selection // what --all means
	do       func(ctx context.Context, d *desk, v operate.View, by, why string) (string, error)

	by, why     string
	cause       string
	everything  bool
	dryRun, yes bool
}

func (a *app) changeCommands() []*cobra.Command {
	return []*cobra.Command{a.reopenCommand(), a.releaseCommand(), a.failCommand(), a.forgetCommand(), a.sendCommand()}
}

// reopenCommand returns the command that lets a key be claimed again although it failed for good.
func (a *app) reopenCommand() *cobra.Command {
	return a.changeCommand(&change{
		name: "reopen", question: "let it be claimed again, with its attempts counted from zero",
		all: operate.Selection{Status: []operate.Status{operate.Failed}},
		do: func(ctx context.Context, d *desk, v operate.View, by, why string) (string, error) {
			return became("open: now redrive its message", d.records.Reopen(ctx, v, by, why))
		},
	}, "Let a key that failed for good be claimed again")
}

// releaseCommand returns the command that gives the claim of a worker back, so that the key need not wait for the end of its
// lease.
func (a *app) releaseCommand() *cobra.Command {
	return a.changeCommand(&change{
		name: "release", question: "let the next delivery run the work",
		warning: releaseWarning,
		all:     operate.Selection{Status: []operate.Status{operate.Stuck}},
		do: func(ctx context.Context, d *desk, v operate.View, by, why string) (string, error) {
			return became("released: the next delivery runs the work", d.records.Release(ctx, v, by, why))
		},
	}, "Let the next delivery have a key that a worker holds, or whose worker died")
}

// failCommand returns the command that ends a key for good, so that no delivery runs its work again.
func (a *app) failCommand() *cobra.Command {
	return a.changeCommand(&change{
		name: "fail", question: "end it for good, so that its messages become dead letters",
		warning: heldWarning("Its worker may still live: what it does is not recorded."),
		all:     operate.Selection{Status: []operate.Status{operate.Stuck}},
		do: func(ctx context.Context, d *desk, v operate.View, by, why string) (string, error) {
			return became("failed", d.records.Fail(ctx, v, by, why))
		},
	}, "End a key for good")
}

// forgetCommand returns the command that deletes a record. It refuses a record with unsent messages, unless --lose-messages is
// given.
func (a *app) forgetCommand() *cobra.Command {
	loseMessages := false
	cmd := a.changeCommand(&change{
		name: "forget", question: "delete the record, so that the key is new and its work runs again",
		warning: forgetWarning,
		all:     operate.Selection{Status: []operate.Status{operate.Expired}},
		do: func(ctx context.Context, d *desk, v operate.View, by, why string) (string, error) {
			if loseMessages {
				return became("deleted", d.records.ForgetUnsent(ctx, v, by, why))
			}

			return became("deleted", d.records.Forget(ctx, v, by, why))
		},
	}, "Delete the record of a key, so that its work runs again when it is asked for")
	cmd.Flags().BoolVar(&loseMessages, "lose-messages", false, "delete a record although it has messages that are not sent: they are lost")

	return cmd
}

// sendCommand returns the command that sends the unsent messages of a record. Only this command needs senders, and so has
// --target.
func (a *app) sendCommand() *cobra.Command {
	cmd := a.changeCommand(&change{
		name: "send", question: "send its messages, those that are parked, too",
		all: operate.Selection{Unsent: true},
		do: func(ctx context.Context, d *desk, v operate.View, by, why string) (string, error) {
			delivery, err := d.records.Send(ctx, v, by, why)
			if delivery.Key == "" { // it has not begun to send
				return became("", err)
			}

			return fmt.Sprintf("%d sent, %d left, %d parked", delivery.Sent, delivery.Left, delivery.Parked), err
		},
	}, "Send the messages of a key that are not sent, or that are parked")
	cmd.Flags().StringArrayVar(&a.flags.targets, "target", nil,
		"NAME=WHERE for each target: the queue's URL, the topic's ARN, or events:BUS,SOURCE,DETAIL-TYPE; NAME as in Options.Senders")

	return cmd
}

// became says what a change has made of a record.
func became(text string, err error) (string, error) {
	switch {
	case err == nil:
		return text, nil
	case isUnchanged(err):
		return "not changed", err
	default:
		return "perhaps changed, look again", err
	}
}

// isUnchanged reports whether nothing was written before a change returned this error.
func isUnchanged(err error) bool {
	return errors.Is(err, operate.ErrChanged) || errors.Is(err, operate.ErrNotAllowed) || errors.Is(err, operate.ErrUnsent) ||
		errors.Is(err, idemddb.ErrMisuse)
}

func heldWarning(text string) func(operate.View, time.Time) string {
	return func(v operate.View, _ time.Time) string {
		if v.Status == operate.Held || v.Status == operate.Stuck {
			return text
		}

		return ""
	}
}

// releaseWarning says what may happen twice, above all to an effect that must not.
func releaseWarning(v operate.View, now time.Time) string {
	text := heldWarning("Its worker may still live: then its work is cancelled and not recorded, and may be done twice.")(v, now)
	if text != "" && v.NoTakeover {
		text += " It was claimed with NoTakeover, for an effect that must not happen twice: release it only if you know that the effect has not happened."
	}

	return text
}

// lateRequest is how long a request that was sent may still be applied: its signature is refused after that, on the safe side.
const lateRequest = 15 * time.Minute

func forgetWarning(v operate.View, now time.Time) string {
	if v.Status == operate.Completed && now.Sub(v.Done) < lateRequest {
		return "It was completed less than 15 minutes ago: if its handler stages effects, a request that is still on its way may write them again."
	}

	return heldWarning("Its worker may still live; the work may then run twice at the same time.")(v, now)
}

func (a *app) changeCommand(c *change, short string) *cobra.Command {
	c.app = a
	c.finder.app = a
	cmd := &cobra.Command{
		Use: c.name + " [KEY...]", Short: short,
		Example: "  idem " + c.name + " p-9 --why 'account 7 is open now'",
		RunE:    func(cmd *cobra.Command, keys []string) error { return c.run(cmd.Context(), keys) },
	}
	c.finder.addTo(cmd)

	flags := cmd.Flags()
	flags.StringVar(&c.by, "by", a.operator(), "who you are; it is kept in the record (IDEM_BY)")
	flags.StringVar(&c.why, "why", "", "why you do it; it is kept in the record")
	flags.BoolVar(&c.everything, "all", false, "all keys of the namespace that are "+c.allWord()+"; reads the whole table")
	flags.StringVar(&c.cause, "cause", "", "with --all: only keys whose last failure has this text")
	flags.BoolVar(&c.dryRun, "dry-run", false, "show what would be changed, and change nothing")
	flags.BoolVarP(&c.yes, "yes", "y", false, "do not ask")

	return cmd
}

func (c *change) allWord() string {
	if c.all.Unsent {
		return "unsent or parked"
	}

	return string(c.all.Status[0])
}

func (c *change) run(ctx context.Context, keys []string) error {
	a := c.app

	if c.everything {
		a.flags.index = "" // the whole table is read, because the index does not have what is parked
	}

	d, err := a.open(ctx)
	if err != nil {
		return err
	}

	all, err := c.preview(ctx, d, keys)
	if err != nil {
		return err
	}

	if c.dryRun {
		a.sayf("Nothing was changed (--dry-run).")

		return nil
	}

	if err := c.ask(ctx, len(all)); err != nil {
		return err
	}

	return c.each(ctx, d, all)
}

// preview finds the records and shows what will be changed. It returns an error if the wrong records may have been found.
func (c *change) preview(ctx context.Context, d *desk, keys []string) ([]found, error) {
	all, err := c.find(ctx, d, keys)
	if err != nil {
		return nil, err
	}

	if err := c.unambiguous(keys, all); err != nil {
		return nil, err
	}

	all = once(all)
	c.sample(d, all)

	return all, c.judgeClock(d)
}

func (c *change) find(ctx context.Context, d *desk, keys []string) ([]found, error) {
	if !c.everything {
		if c.cause != "" {
			return nil, errors.New("--cause: is for --all")
		}

		return c.finder.find(ctx, d, keys)
	}

	if len(keys) > 0 || c.finder.message != "" || c.finder.hash != "" || c.finder.request != "" {
		return nil, errors.New("--all: must not be joined with keys")
	}

	return c.findAll(ctx, d)
}

// findAll returns the records that --all means. It returns an error if the budget ended first, because then some of them are
// missing.
func (c *change) findAll(ctx context.Context, d *desk) ([]found, error) {
	selection := c.all
	selection.Budget, selection.Progress = c.finder.budget, c.app.progress(ctx, d)

	var all []found

	progress, err := d.records.List(ctx, selection, func(v operate.View) error {
		if strings.Contains(v.Cause, c.cause) {
			all = append(all, found{View: v, Typed: clearKey(v), By: "--all"})
		}

		return nil
	})

	switch {
	case err != nil:
		return nil, fmt.Errorf("list: %w", err)
	case progress.Cursor != "":
		return nil, errors.New("--budget: ended before the whole table was read, so this would not be all; raise it")
	case len(all) == 0 && progress.Found > 0:
		return nil, &codeError{exitNothing, fmt.Errorf("--cause: no last failure has this text; records that are %s: %d", c.allWord(), progress.Found)}
	case len(all) == 0:
		return nil, &codeError{exitNothing, fmt.Errorf("%w is %s", operate.ErrNoRecord, c.allWord())}
	}

	return all, nil
}

// unambiguous refuses a key that can be read in two ways. Each key that was typed has a record, so one that has two makes more
// records than keys.
func (c *change) unambiguous(keys []string, all []found) error {
	if len(keys) == 0 || len(all) == len(keys) {
		return nil
	}

	for _, f := range all {
		c.app.sayf("  %s: %s", shorten(f.Key, maxShown), f.By)
	}

	return &codeError{exitRefused, errors.New(
		"the key can be read in several ways, and more than one has a record: give it as the table has it, with --exact",
	)}
}

// once leaves out a record that was found before, because its second change would be refused for the first.
func once(all []found) []found {
	seen := map[string]bool{}

	return slices.DeleteFunc(all, func(f found) bool {
		before := seen[f.Key]
		seen[f.Key] = true

		return before
	})
}
