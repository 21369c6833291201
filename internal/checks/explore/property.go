package main

import (
	"time"

	"github.com/idemddb/go-idemddb/internal/record"
)

// check checks what must hold after each event.
func (w *world) check() {
	if w.isLate {
		return // the next event makes up for it
	}

	for _, c := range w.writers {
		if c.write != nil && !w.isUnderWay(c) && !w.now.Before(c.since) {
			w.checkWaiting(c)
		}

		w.checkProof(c)
	}

	w.checkEffects()
	w.checkWake()
}

func (w *world) checkWaiting(c *writer) {
	switch {
	case w.isColdBehindGate(c):
		w.violatef(ruleGate, "%s touches no hot item, and its write stands behind the gate", c.name)
	case w.isGated(c):
	case len(w.flights) == 0 && !w.isGroup:
		w.violatef(ruleAlone, "nothing is under way, and %s waits", c.name)
	case !w.isGroup && !w.now.Before(w.latest(c)), !w.now.Before(c.since.Add(announced)) && !w.now.Before(w.latest(c)):
		w.violatef(ruleTogether, "%s has waited for %v behind a flight, and does not leave", c.name, w.now.Sub(c.since))
	}
}

// latest returns when a write that waits must have left: after a third of T, or when no other flight holds its record any more,
// and if it touches a hot item, when no other flight that touches one does.
func (w *world) latest(c *writer) time.Time {
	at := c.since.Add(thirdOfT)

	for _, f := range w.flights {
		for _, other := range f.Writes {
			if end := f.Born.Add(heldTime); other != c.write && (writerOf(other).meets(c) || w.areHot(c, writerOf(other))) && end.After(at) {
				at = end
			}
		}
	}

	return w.gateLatest(c, at)
}

// meets reports whether two writers write the same record or item.
func (w *writer) meets(other *writer) bool {
	return w.key == other.key || w.item != "" && w.item == other.item
}

// checkWake checks when the planner wants to be called.
func (w *world) checkWake() {
	at := w.wakeAt

	for _, c := range w.writers {
		latest := w.latest(c)
		if w.isGroup && latest.Before(c.since.Add(announced)) {
			latest = c.since.Add(announced)
		}

		if c.write != nil && !w.isUnderWay(c) && (at.IsZero() || at.After(latest)) {
			w.violatef(ruleTogether, "nothing wakes the planner when %s has waited for %v", c.name, latest.Sub(c.since))
		}
	}
}

// checkEnd checks a state in which nothing happens any more.
func (w *world) checkEnd() {
	for _, c := range w.writers {
		if c.write != nil {
			w.violatef(ruleTogether, "%s waits for ever", c.name)
		}
	}
}

// checkDeparture checks a flight that leaves.
func (w *world) checkDeparture(f *flight) {
	keys := map[string]bool{}

	if len(f.Writes) > 25 {
		w.violatef(ruleLimits, "a flight has %d writes", len(f.Writes))
	}

	for _, write := range f.Writes {
		c := writerOf(write)

		if c.write != write {
			w.violatef(ruleLeft, "the write of %s is sent, and its caller has left", c.name)
		}

		if keys[c.key] {
			w.violatef(ruleLimits, "the request of %s writes the record %s twice", f.of, c.key)
		}

		keys[c.key] = true
		w.checkConflict(f, c)
	}

	if f.IsShared() {
		w.checkDenied(f)
	}
}

func (w *world) checkConflict(f *flight, c *writer) {
	for _, other := range w.flights {
		for _, write := range other.Writes {
			if writerOf(write).meets(c) && w.now.Before(other.Born.Add(heldTime)) {
				w.violatef(ruleConflict, "the requests of %s and %s are under way, and both write the record %s", other.of, f.of, c.key)
			}
		}
	}
}

func (w *world) checkDenied(f *flight) {
	if w.deniedTil.IsZero() {
		return
	}

	if !w.now.After(w.deniedTil) {
		w.violatef(ruleProbe, "the shared request of %s leaves within five minutes after a denial", f.of)
	}

	for _, other := range w.flights {
		if other.IsShared() && other.Born.After(w.deniedTil) {
			w.violatef(ruleProbe, "the requests of %s and %s ask at the same time whether shared requests are still denied", other.of, f.of)
		}
	}
}

// checkProof checks what a writer believes against the table.
func (w *world) checkProof(c *writer) {
	want, hasProof := map[phase]string{
		holding: record.InProgress, completed: record.Completed, replayed: record.Completed,
	}[c.phase]
	if !hasProof {
		return
	}

	if w.isClaimed && c.phase == completed {
		want = record.InProgress
	}

	found, err := record.Read(w.contents.records[c.key], w.TTLAttribute)

	switch {
	case err != nil || found.State != want:
		w.violatef(ruleProof, "%s %v %s, and the record does not say so", c.name, c.phase, c.key)
	case w.items != "" && c.phase == completed && *found.Token != c.name:
		w.violatef(ruleProof, "%s %v %s, and the record has the token of %s", c.name, c.phase, c.key, *found.Token)
	case w.items == "" && c.phase != replayed && !c.held.Matches(found):
		w.violatef(ruleProof, "%s %v %s, and the record has the token of %s", c.name, c.phase, c.key, *found.Token)
	}
}
