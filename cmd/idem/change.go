package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/idemddb/go-idemddb/idemddb/operate"
)

// change is a command that changes records.
type change struct {
	app    *app
	finder finder

	name     string
	question string // what happens, for the question
	warning  func(operate.View) string
	all      operate.Selection // what --all means
	do       func(ctx context.Context, d *desk, v operate.View, by, why string) (string, error)

	by, why     string
	cause       string
	everything  bool
	dryRun, yes bool
}

func (a *app) changeCommands() []*cobra.Command {
	loseMessages := false
	forget := a.changeCommand(&change{
		name: "forget", question: "delete the record, so that the key is new and its work runs again",
		warning: heldWarning("Its worker may still live; the work may then run twice at the same time."),
		all:     operate.Selection{Status: []operate.Status{operate.Expired}},
		do: func(ctx context.Context, d *desk, v operate.View, by, why string) (string, error) {
			if loseMessages {
				return became("deleted", d.records.ForgetUnsent(ctx, v, by, why))
			}

			return became("deleted", d.records.Forget(ctx, v, by, why))
		},
	}, "Delete the record of a key, so that its work runs again when it is asked for")
	forget.Flags().BoolVar(&loseMessages, "lose-messages", false, "delete a record although it has messages that are not sent: they are lost")

	send := a.changeCommand(&change{
		name: "send", question: "send its messages, those that are parked, too",
		all: operate.Selection{Unsent: true},
		do: func(ctx context.Context, d *desk, v operate.View, by, why string) (string, error) {
			delivery, err := d.records.Send(ctx, v, by, why)
			if errors.Is(err, operate.ErrChanged) || errors.Is(err, operate.ErrNotAllowed) {
				return became("", err)
			}

			return fmt.Sprintf("%d sent, %d left, %d parked", delivery.Sent, delivery.Left, delivery.Parked), err
		},
	}, "Send the messages of a key that are not sent, or that are parked")
	send.Flags().StringArrayVar(&a.flags.targets, "target", nil,
		"NAME=WHERE for each target: the queue's URL, the topic's ARN, or events:BUS,SOURCE,DETAIL-TYPE; NAME as in Options.Senders")

	return []*cobra.Command{
		a.changeCommand(&change{
			name: "reopen", question: "let it be claimed again, with its attempts counted from zero",
			all: operate.Selection{Status: []operate.Status{operate.Failed}},
			do: func(ctx context.Context, d *desk, v operate.View, by, why string) (string, error) {
				return became("open: now redrive its message", d.records.Reopen(ctx, v, by, why))
			},
		}, "Let a key that failed for good be claimed again"),
		a.changeCommand(&change{
			name: "release", question: "let the next delivery have it",
			warning: heldWarning("Its worker may still live: then its work is cancelled and not recorded, and may be done twice."),
			all:     operate.Selection{Status: []operate.Status{operate.Stuck}},
			do: func(ctx context.Context, d *desk, v operate.View, by, why string) (string, error) {
				return became("released", d.records.Release(ctx, v, by, why))
			},
		}, "Let the next delivery have a key that a worker holds, or whose worker died"),
		a.changeCommand(&change{
			name: "fail", question: "end it for good, so that its messages become dead letters",
			warning: heldWarning("Its worker may still live: what it does is not recorded."),
			all:     operate.Selection{Status: []operate.Status{operate.Stuck}},
			do: func(ctx context.Context, d *desk, v operate.View, by, why string) (string, error) {
				return became("failed", d.records.Fail(ctx, v, by, why))
			},
		}, "End a key for good"),
		forget, send,
	}
}

// became says what a change has made of a record.
func became(text string, err error) (string, error) {
	switch {
	case err == nil:
		return text, nil
	case errors.Is(err, operate.ErrChanged), errors.Is(err, operate.ErrNotAllowed), errors.Is(err, operate.ErrUnsent):
		return "not changed", err
	default:
		return "perhaps changed, look again", err
	}
}

func heldWarning(text string) func(operate.View) string {
	return func(v operate.View) string {
		if v.Status == operate.Held || v.Status == operate.Stuck {
			return text
		}

		return ""
	}
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

	d, err := a.open(ctx)
	if err != nil {
		return err
	}

	all, err := c.find(ctx, d, keys)
	if err != nil {
		return err
	}

	if err := c.unambiguous(all); err != nil {
		return err
	}

	c.sample(d, all)

	if err := c.judgeClock(d); err != nil {
		return err
	}

	if c.dryRun {
		a.sayf("Nothing was changed (--dry-run).")

		return nil
	}

	if err := c.ask(len(all)); err != nil {
		return err
	}

	return c.each(ctx, d, all)
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
	case len(all) == 0:
		return nil, &codeError{exitNothing, fmt.Errorf("%w is %s", operate.ErrNoRecord, c.allWord())}
	}

	return all, nil
}

// unambiguous refuses a key that can be read in two ways.
func (c *change) unambiguous(all []found) error {
	for i, f := range all {
		if i > 0 && f.By != all[0].By && !c.everything && c.finder.message == "" && c.finder.hash == "" && c.finder.request == "" {
			for _, f := range all {
				c.app.sayf("  %s: %s", shorten(f.Key, maxShown), f.By)
			}

			return &codeError{exitRefused, errors.New("the key can be read in several ways, and more than one has a record: give it as the table has it, with --exact")}
		}
	}

	return nil
}

// judgeClock warns of a clock that cannot tell held from stuck. What was selected by it is not changed.
func (c *change) judgeClock(d *desk) error {
	off, wrong := d.clock.isWrong(d.store.Options().ClockSkew)

	switch {
	case !wrong:
		return nil
	case c.everything && len(c.all.Status) > 0 && c.all.Status[0] != operate.Failed:
		return &codeError{exitRefused, fmt.Errorf("this machine's clock is off by about %v, so that --all may select what is %s by mistake; set it", off, c.allWord())}
	default:
		c.app.sayf("WARNING: this machine's clock is off by about %v: a key that is shown as stuck may be held.", off)

		return nil
	}
}

const sampleSize = 3

// sample shows what will be changed: all of one, three of many.
func (c *change) sample(d *desk, all []found) {
	for i, f := range all {
		if i == sampleSize {
			c.app.sayf("… and %d more", len(all)-sampleSize)

			break
		}

		c.app.sayf("%s#%s: %s", f.Namespace, shorten(f.Key, maxShown), f.Status)
		c.app.sayf("  %s", meaning(f.View, d.store.Options().Now()))

		if f.Cause != "" {
			c.app.sayf("  last failure: %s", shorten(f.Cause, maxShown))
		}

		if c.warning != nil {
			if text := c.warning(f.View); text != "" {
				c.app.sayf("  WARNING: %s", text)
			}
		}
	}
}

// ask asks for the reason and for a yes.
func (c *change) ask(count int) error {
	a := c.app
	in := bufio.NewReader(a.in)

	if c.why == "" && a.interactive {
		fmt.Fprint(a.log, "Why? ")

		c.why = strings.TrimSpace(readLine(in))
	}

	if c.why == "" {
		return errors.New("--why: must not be empty; it is kept in the record for the next operator")
	}

	subject := "it"
	if count > 1 {
		subject = fmt.Sprintf("each of these %d", count)
	}

	return a.confirm(in, strings.ToUpper(c.name[:1])+c.name[1:]+" "+subject+": "+c.question, c.yes)
}

// readLine is the next line; what was typed before the end of the input.
func readLine(in *bufio.Reader) string {
	line, err := in.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return ""
	}

	return line
}

// each changes the records one by one. A refusal of one does not keep the others from being changed.
func (c *change) each(ctx context.Context, d *desk, all []found) error {
	var errs []error

	for _, f := range all {
		outcome, err := c.do(ctx, d, f.View, c.by, c.why)
		errs = append(errs, err)

		if c.app.flags.json {
			text := ""
			if err != nil {
				text = err.Error()
			}

			errs = append(errs, c.app.printJSON(map[string]string{"key": f.Key, "hash": f.Hash, "change": c.name, "became": outcome, "error": text}))

			continue
		}

		fmt.Fprintf(c.app.out, "%s#%s: %s\n", f.Namespace, shorten(f.Key, maxShown), outcome)
	}

	return errors.Join(errs...)
}
