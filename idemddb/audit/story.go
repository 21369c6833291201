package audit

import (
	"fmt"
	"strings"
	"time"
)

// story is what happened to a key, one change a line. It keeps the first lines and the last.
type story struct {
	first, last []string
	left        int // out, between first and last
}

const (
	storyFirst = 20
	storyLast  = 40
)

func (s *story) String() string {
	var b strings.Builder

	for _, line := range s.first {
		b.WriteString(line + "\n")
	}

	if s.left > 0 {
		fmt.Fprintf(&b, "(%d changes are left out.)\n", s.left)
	}

	for _, line := range s.last {
		b.WriteString(line + "\n")
	}

	return b.String()
}

func (s *story) add(line string) {
	if len(s.first) < storyFirst {
		s.first = append(s.first, line)

		return
	}

	if s.last = append(s.last, line); len(s.last) > storyLast {
		s.last = s.last[1:]
		s.left++
	}
}

func (h *history) tell(j *judgement) {
	v := &j.verdict

	line := "time not known"
	if !j.at.IsZero() {
		line = j.at.UTC().Format("2006-01-02 15:04:05.000Z")
	}

	if v.Gap {
		line += ": (A change is missing here.)"
	}

	line += ": " + j.sentence()

	switch {
	case v.Lateness > 0:
		line += fmt.Sprintf(" The request was made at least %v earlier.", v.Lateness)
	case v.Late:
		line += " This is a late try of an earlier request."
	}

	var b strings.Builder
	for _, violation := range v.Violations {
		fmt.Fprintf(&b, " VIOLATION (%s): %s", violation.Rule, violation.Text)
	}

	h.story.add(line + b.String())
}

// sentence says what the change did. It shows no text of a failure, no result and no message.
func (j *judgement) sentence() string {
	after, kind := j.after, j.verdict.Kind

	if j.verdict.breaks(RuleSets) || j.verdict.breaks(RuleStays) || j.verdict.breaks(RuleCondition) {
		return fmt.Sprintf("%s changed; the nearest transition is %q.", j.listed(), kind)
	}

	switch kind {
	case NewClaim, ClaimAgain, Takeover, AnewByClaim:
		return j.claimed()
	case Completion, CompletionWithEffects, Commit, AnewByCommit:
		return j.completed()
	case Extension:
		return fmt.Sprintf("%s extends its lease to %s.", j.worker(), clock(after.number(attrLease)))
	case Release:
		return j.worker() + " releases the key."
	case Return:
		return j.worker() + " gives the key back before its work began; the attempt does not count."
	case Failure:
		return j.worker() + " fails the key for good."
	case GiveUp:
		return fmt.Sprintf("Another worker ends the key for good, after %d attempts of which %s made the last.",
			after.number(attrAttempts), j.worker())
	case Rejection, AnewByRejection:
		return fmt.Sprintf("%s writes down that its work did not succeed, as attempt %d (%s).", j.worker(), after.number(attrAttempts), kind)
	case Reopen:
		return fmt.Sprintf("The key is opened again, with fencing token %d.", after.number(attrFence))
	default:
		return j.otherSentence()
	}
}

func (j *judgement) otherSentence() string {
	switch kind := j.verdict.Kind; kind {
	case Removal, Parking, SendingOfParked:
		return fmt.Sprintf("A sender leaves %d messages unsent and %d parked (%s).",
			len(read(j.after[attrOutbox])), len(read(j.after[attrParked])), kind)
	case OperatorRelease, OperatorFail, OperatorReopen, Stamp:
		o, _ := readOperation(j.after[attrOp])

		return fmt.Sprintf("The operator %q writes %s (%s), because %q.", cut(o.by), cut(o.what), kind, cut(o.why))
	case Deletion:
		return "The record is deleted."
	case TimeToLive:
		return "Time to Live deletes the record."
	case NoChange:
		return "A write leaves everything as it was."
	default:
		return "Another program changes attributes that are not the library's."
	}
}

// listed lists the attributes that differ.
func (j *judgement) listed() string {
	var names []string
	for _, name := range j.changed {
		names = append(names, strings.TrimPrefix(name, other))
	}

	return strings.Join(names, ", ")
}

func (j *judgement) worker() string { return j.after[attrOwner].shown(attrOwner) }

func (j *judgement) claimed() string {
	how := "claims the key"

	switch j.verdict.Kind {
	case ClaimAgain:
		how = "claims the key again"
	case Takeover:
		how = fmt.Sprintf("takes the key over from %s, whose lease ended at %s,",
			j.before[attrOwner].shown(attrOwner), clock(j.before.number(attrLease)))
		if j.before.number(attrLease) < 0 {
			how = fmt.Sprintf("takes the key over from %s, whose claim was given back,", j.before[attrOwner].shown(attrOwner))
		}
	case AnewByClaim:
		how = "claims the key, whose record was past its end,"
	default:
	}

	return fmt.Sprintf("%s %s with fencing token %d, as attempt %d, until %s.",
		j.worker(), how, j.after.number(attrFence), j.after.number(attrAttempts), clock(j.after.number(attrLease)))
}

func (j *judgement) completed() string {
	text := fmt.Sprintf("%s completes the key (%s); the record answers until %s.",
		j.worker(), j.verdict.Kind, clock(j.after.end()*1000))

	if n := len(j.after.messages()); n > 0 {
		text += fmt.Sprintf(" Messages to send: %d.", n)
	}

	return text
}

func clock(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05.000Z") }
