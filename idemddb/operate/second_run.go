package operate

import (
	"slices"
	"time"

	"github.com/idemddb/go-idemddb/internal/record"
)

// A SecondRun says that the work of a key began more than once, or begins again with the next claim, and why. A record keeps the
// last takeover, the last change of an operator and the last worker; the changes before them are in the table's stream, which
// `idem audit` reads.
type SecondRun struct {
	Why []Reason `json:"why"` // at least one

	// LeaseEnded is the end of the lease that was taken over last: the run of the worker before lasted that long, or longer. Zero if
	// none was.
	LeaseEnded time.Time `json:"lease_ended,omitzero"`

	// Staged says that the key was completed together with staged effects (idemddb.Stage). They happened once, by whichever run.
	// Anything else that the handler did may have happened with each run.
	Staged bool `json:"staged,omitempty"`

	// Pending says that the second run has not begun: nobody has claimed the key since it was released, given back or reopened.
	Pending bool `json:"pending,omitempty"`
}

// A Reason is why the work of a key began again.
type Reason string

// The reasons. After a retry it is known what the run before has answered: an error. After each of the others it is not known
// what it has done.
const (
	TakenOver    Reason = "takeover"          // the lease of the worker ran out, and another one took the key over
	WasReleased  Reason = "release"           // an operator released the claim of a worker
	WasReopened  Reason = "reopen"            // the key had failed for good, and an operator or a program opened it again
	WasChanged   Reason = "release or reopen" // one of the two; a later change of an operator has replaced what the record said of it
	WasRetried   Reason = "retry"             // the handler returned an error, and ran again; only this, and none of the others
	ReasonAbsent Reason = "not known"         // the record is of a worker that did not write down what it took over
)

// secondRun reads the attributes by which a record says that its work began again; nil if it did not. They are read by
// themselves, because no claim depends on them, and one of another type counts as none.
func secondRun(v *View) *SecondRun {
	took, hasTook := record.NumberOf(v.stored[record.Took])
	tookAt, _ := record.NumberOf(v.stored[record.TookAt])
	previous, _ := record.NumberOf(v.stored[record.Previous])

	s := &SecondRun{LeaseEnded: milliseconds(max(tookAt, previous, 0)), Staged: record.TextOf(v.stored[record.Tx]) != ""}

	// A lease is a time, so the −1 of a release or a reopening never outweighs one that was taken over.
	if took > 0 || tookAt > 0 || previous > 0 {
		s.Why = append(s.Why, TakenOver)
	}

	if reason, isOperators := operated(v.Last); isOperators {
		s.Why = append(s.Why, reason)
	}

	if len(s.Why) == 0 {
		s.addRest(v, hasTook, took, previous)
	}

	s.Pending = s.hasNotBegun(v, took, previous)
	hasEnded := v.State != record.InProgress

	if len(s.Why) == 0 || s.Pending && hasEnded { // an operator may fail a key before it runs again
		return nil
	}

	return s
}

// operated returns what the last change of an operator says of a second run; false if it says nothing of one.
func operated(last *Change) (Reason, bool) {
	if last == nil {
		return "", false
	}

	reason, isOne := map[string]Reason{"release": WasReleased, "reopen": WasReopened}[last.What]

	return reason, isOne
}

// addRest adds the reason of a record of which neither a lease nor an operator's change says it.
func (s *SecondRun) addRest(v *View, hasTook bool, took, previous int64) {
	switch {
	case previous < 0: // No lease was taken over, so no takeover was given back: the −1 is an operator's.
		s.Why = []Reason{WasReleased}
	case took < 0 && v.Last == nil:
		s.Why = []Reason{WasReopened}
	case took < 0:
		s.Why = []Reason{WasChanged}
	case v.Attempts > 1 && !hasTook:
		s.Why = []Reason{ReasonAbsent}
	case v.Attempts > 1:
		s.Why = []Reason{WasRetried}
	}
}

// hasNotBegun reports whether the record shows that no claim's work began since the only event that opened the key for a second
// run. Where the record does not show it, the second run is taken to have begun.
func (s *SecondRun) hasNotBegun(v *View, took, previous int64) bool {
	lease, _ := record.NumberOf(v.stored[record.Lease])

	switch {
	case s.isRetry():
		return false
	case v.Attempts == 0: // reopened; once, and not after a takeover
		return took == 0 || took == -1
	case took == 0: // released by an operator, with −1 or, under NoTakeover, with 0, which a worker's own release writes, too
		return lease < 0 || v.Attempts == 1 && !slices.Contains(s.Why, WasReopened)
	default: // taken over once, and given back before its work began, so that the attempt is not counted
		return took == previous && v.Attempts <= 1
	}
}

// isRetry reports whether the key ran again only because its handler had returned an error.
func (s *SecondRun) isRetry() bool { return slices.Equal(s.Why, []Reason{WasRetried}) }

// secondRunIsBefore reports whether the record shows that the second run began before a time. It began before the key was
// completed, and before the lease of the last claim ended. A record that shows neither is not before any time.
func (v *View) secondRunIsBefore(since time.Time) bool {
	last := v.Done
	if last.IsZero() {
		last = v.Lease
	}

	return !last.IsZero() && last.Before(since)
}

// wantsSecondRun reports whether the second run of a record is one that the selection asks for.
func (s *Selection) wantsSecondRun(v *View) bool {
	run := v.SecondRun

	return run != nil && (s.Retries || !run.isRetry()) && !v.secondRunIsBefore(s.Since)
}

// secondRunFilter leaves out the records that secondRun finds nothing in.
func (s *Selection) secondRunFilter(e *expression) {
	e.text += " AND (took <> :zero OR prev <> :zero OR attribute_exists(tookat) OR attribute_exists(op) OR attribute_not_exists(took)"
	e.values[":zero"] = record.Number(0)

	if s.Retries {
		e.text += " OR att > :one"
		e.values[":one"] = record.Number(1)
	}

	e.text += ")"
}
