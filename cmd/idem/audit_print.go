package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/internal/record"
	"github.com/idemddb/go-idemddb/internal/tablestream"
)

// auditPrinter prints what an audit finds.
type auditPrinter struct{ app *app }

// maxLine is how much of a line of a story is shown. It has a sentence for each rule that a change breaks.
const maxLine = 4_000

// story prints the story of a key.
func (p auditPrinter) story(partition, story string) {
	_, key, _ := strings.Cut(partition, "#")
	fmt.Fprintf(p.app.out, "%s (hash %s)\n", shorten(partition, maxShown), record.StoredKeyHash(key))

	for line := range strings.Lines(story) {
		fmt.Fprintf(p.app.out, "  %s\n", shorten(strings.TrimSuffix(line, "\n"), maxLine))
	}
}

// violationJSON prints a change that breaks rules, as an object.
func (p auditPrinter) violationJSON(v *audit.Verdict, story string) error {
	type broken struct {
		Rule      audit.Rule `json:"rule"`
		Attribute string     `json:"attribute,omitempty"`
		Text      string     `json:"text"`
	}

	rules := make([]broken, len(v.Violations))
	for i, violation := range v.Violations {
		rules[i] = broken{violation.Rule, violation.Attribute, violation.Text}
	}

	return p.app.printJSON(map[string]any{"partition": v.Partition, "kind": v.Kind, "violations": rules, "story": lines(story)})
}

func (p auditPrinter) storyJSON(partition, story string) error {
	return p.app.printJSON(map[string]any{"partition": partition, "story": lines(story)})
}

func lines(story string) []string { return strings.Split(strings.TrimSuffix(story, "\n"), "\n") }

// report prints the counts.
func (p auditPrinter) report(r audit.Report, isAtEnd bool) error {
	if !p.app.flags.json {
		fmt.Fprintln(p.app.out, r)

		return nil
	}

	return p.app.printJSON(map[string]any{
		"judged": r.Judged, "other_items": r.NoRecords, "kinds": r.Kinds, "late": r.Late, "gaps": r.Gaps, "untimed": r.Untimed,
		"violations": r.Violations, "read_to_its_end": isAtEnd,
	})
}

// end prints what was found, and returns the error that has the exit code.
func (u *auditRun) end(result tablestream.Result, failed error) error {
	report := u.checker.Report()
	printed, err := u.printStories()
	err = errors.Join(err, u.printer.report(report, failed == nil))
	u.ended(result)

	isWhole := report.Gaps == 0 && len(result.Gaps) == 0

	switch {
	case err != nil:
		return err
	case report.Violations > 0 || !isWhole:
		return u.wrong(&report, result, failed)
	case failed != nil:
		return notToItsEnd(failed)
	case u.isOfOneKey() && printed == 0:
		return &codeError{exitNothing, errors.New("the stream has no change of this key; DynamoDB keeps a change for 24 hours")}
	default:
		return nil
	}
}

func (u *auditRun) isOfOneKey() bool { return u.wanted != nil || u.hash != "" }

// printStories prints the story of each key that was asked for; without one, of each key with a violation that was not printed
// yet.
func (u *auditRun) printStories() (printed int, err error) {
	keys := u.found
	if u.isOfOneKey() {
		keys = append(slices.Sorted(maps.Keys(u.wanted)), u.stories...)
	}

	for _, partition := range keys {
		story := u.checker.Story(partition)
		if story == "" {
			continue
		}

		printed++

		if u.app.flags.json {
			err = errors.Join(err, u.printer.storyJSON(partition, story))
		} else {
			u.printer.story(partition, story)
		}
	}

	return printed, err
}

// wrong is the error of an audit that found a violation, or that lacks a change.
func (u *auditRun) wrong(report *audit.Report, result tablestream.Result, failed error) error {
	said := []string{fmt.Sprintf("violations: %d", report.Violations)}

	if n := report.Gaps + len(result.Gaps); n > 0 {
		said = append(said, fmt.Sprintf("gaps: %d", n))
	}

	if len(u.found) == mostKeys {
		said = append(said, fmt.Sprintf("the stories of %d keys are shown, and --json tells each violation", mostKeys))
	}

	if failed != nil {
		said = append(said, notToItsEnd(failed).Error())
	}

	return &codeError{exitRefused, errors.New(strings.Join(said, "; "))}
}

// notToItsEnd is the error of an audit that ended early.
func notToItsEnd(why error) error {
	switch {
	case errors.Is(why, tablestream.ErrBudget):
		return fmt.Errorf("%w; raise --budget", why)
	case errors.Is(why, context.Canceled):
		return errors.New("the stream was not read to its end: it was interrupted")
	}

	return fmt.Errorf("the stream was not read to its end: %w", why)
}

// ended says what the reading used, and what it could not read.
func (u *auditRun) ended(r tablestream.Result) {
	text := fmt.Sprintf("%d changes read in %d requests (about $%.6f)", r.Changes+r.Skipped, r.Requests, float64(r.Requests)*dollarsPerPage)
	if r.Skipped > 0 {
		text += fmt.Sprintf(", %d of them from before --since", r.Skipped)
	}

	u.app.sayf("%s.", text)

	if r.Throttled > 0 {
		u.app.sayf("DynamoDB refused %d requests, because others read the stream, too. They were made again.", r.Throttled)
	}

	if u.since > 0 && time.Since(r.Begun) < u.since {
		u.app.sayf("The stream is younger than --since: what was changed before it began is not in it. An earlier stream of the table is not read.")
	}

	if r.Complete {
		u.app.sayf("The stream is disabled: what was changed after that is not in it.")
	}

	for _, gap := range r.Gaps {
		u.app.sayf("Changes are missing: %v", gap)
	}
}
