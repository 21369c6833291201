package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/idemddb/go-idemddb/idemddb/operate"
)

// judgeClock warns of a clock that cannot tell held from stuck. What was selected by it is not changed.
func (c *change) judgeClock(d *desk) error {
	off, wrong := d.clock.isWrong(d.store.Options().ClockSkew)

	switch {
	case !wrong:
		return nil
	case c.everything && len(c.all.Status) > 0 && c.all.Status[0] != operate.Failed:
		return &codeError{exitRefused, fmt.Errorf(
			"this machine's clock is off by about %v, so that --all may select what is %s by mistake; set it", off, c.allWord(),
		)}
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
			c.app.sayf("… and %s", rest(all[sampleSize:]))

			break
		}

		c.app.sayf("%s#%s: %s", f.Namespace, shorten(f.Key, maxShown), f.Status)
		c.app.sayf("  %s", meaning(f.View, d.store.Options().Now()))

		if f.Cause != "" {
			c.app.sayf("  last failure: %s", shorten(f.Cause, maxShown))
		}

		if c.warning != nil {
			if text := c.warning(f.View, d.store.Options().Now()); text != "" {
				c.app.sayf("  WARNING: %s", text)
			}
		}
	}
}

// rest says how many are not shown, and how many of them a change may let happen twice although they must not.
func rest(all []found) string {
	guarded := 0

	for _, f := range all {
		if f.NoTakeover {
			guarded++
		}
	}

	if guarded == 0 {
		return fmt.Sprintf("%d more", len(all))
	}

	return fmt.Sprintf("%d more, %d of them claimed with NoTakeover", len(all), guarded)
}

// ask asks for the reason and for a yes. It checks the reason and the name by itself, because the error of package operate would
// come after the question.
func (c *change) ask(ctx context.Context, count int) error {
	a := c.app
	in := bufio.NewReader(a.in)

	if c.why == "" && a.interactive {
		fmt.Fprint(a.log, "Why? ")

		c.why = strings.TrimSpace(readLine(ctx, in))
	}

	switch {
	case c.why == "":
		return errors.New("--why: must not be empty; it is kept in the record for the next operator")
	case len(c.why) > operate.MaxWhy:
		return fmt.Errorf("--why: must have at most %d bytes, has %d", operate.MaxWhy, len(c.why))
	case len(c.by) > operate.MaxBy:
		return fmt.Errorf("--by: must have at most %d bytes, has %d", operate.MaxBy, len(c.by))
	}

	subject := "it"
	if count > 1 {
		subject = fmt.Sprintf("each of these %d", count)
	}

	return a.confirm(ctx, in, strings.ToUpper(c.name[:1])+c.name[1:]+" "+subject+": "+c.question, c.yes)
}

// readLine is the next line; what was typed before the end of the input; nothing if the operator interrupts the question, for
// which nobody else listens.
func readLine(ctx context.Context, in *bufio.Reader) string {
	read := make(chan string, 1)

	go func() { // It ends with the input, or with the program.
		line, err := in.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			line = ""
		}

		read <- line
	}()

	select {
	case line := <-read:
		return line
	case <-ctx.Done():
		return ""
	}
}

// each changes the records one by one. A refusal of one does not keep the others from being changed. When the operator interrupts
// it, those that are left are not tried.
func (c *change) each(ctx context.Context, d *desk, all []found) error {
	var errs []error

	for i, f := range all {
		if ctx.Err() != nil {
			errs = append(errs, fmt.Errorf("interrupted: %d of %d records were not tried, and are as they were", len(all)-i, len(all)))

			break
		}

		outcome, err := c.perform(ctx, d, f.View)
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

// renewals is how often the worker of a claim may renew its lease between a look and the change. Each of these times costs a
// request.
const renewals = 3

// perform makes the change. A claim that was only renewed since it was shown is changed all the same. A worker that hangs goes on
// renewing its lease while the operator reads and answers, and the question says that it may live.
func (c *change) perform(ctx context.Context, d *desk, seen operate.View) (outcome string, err error) {
	for range 1 + renewals {
		outcome, err = c.do(ctx, d, seen, c.by, c.why)

		changed, ok := errors.AsType[*operate.ChangedError](err)
		if !ok || !isRenewed(seen, changed.Current) {
			break
		}

		seen = *changed.Current
	}

	return outcome, err
}

// isRenewed reports whether the same claim still holds the key, with a later lease, and no operator has changed it meanwhile.
func isRenewed(seen operate.View, now *operate.View) bool {
	if now == nil || seen.Status != operate.Held || now.Status != operate.Held {
		return false
	}

	isSameClaim := seen.Owner == now.Owner && seen.Fence == now.Fence && seen.Attempts == now.Attempts
	isLeftAlone := seen.Last == nil && now.Last == nil || seen.Last != nil && now.Last != nil && seen.Last.ID == now.Last.ID

	return isSameClaim && isLeftAlone && now.Lease.After(seen.Lease)
}

// confirm asks for a yes.
func (a *app) confirm(ctx context.Context, in *bufio.Reader, text string, yes bool) error {
	if yes {
		return nil
	}

	if !a.interactive {
		return &codeError{exitRefused, errors.New("there is nobody to ask; --yes answers")}
	}

	fmt.Fprintf(a.log, "%s? [y/N] ", text)

	if answer := strings.ToLower(strings.TrimSpace(readLine(ctx, in))); answer != "y" && answer != "yes" {
		return &codeError{exitRefused, errors.New("nothing was changed")}
	}

	return nil
}
