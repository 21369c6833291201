package planner

import (
	"slices"
	"time"
)

// readFor is how many transactions of several writes are preceded by a read after a record was met whose key had ended.
const readFor = 10

// readsFirst reports whether the records of a flight that leaves are read first.
func (p *Planner) readsFirst(f *Flight) bool {
	if p.IsSingle || p.isUnread || p.reads == 0 || f.lane != transactions || !f.IsShared() {
		return false
	}

	if !slices.ContainsFunc(f.Writes, func(w *Write) bool { return !w.isSeen }) {
		return false
	}

	p.reads--

	return true
}

// Read notes that the read before a flight has landed. The writes that it has answered have ended, and the flight leaves now without them, and
// without those whose callers have left; if none is left, it has landed.
func (p *Planner) Read(now time.Time, f *Flight, isAnswered []bool) {
	var left []*Write

	for i, w := range f.Writes {
		if !isAnswered[i] && f.Has(w) {
			left = append(left, w)

			continue
		}

		if isAnswered[i] {
			p.reads = readFor
		}

		p.release(f, w)
		p.end(w)
	}

	if f.Writes, f.Born = left, now; len(left) == 0 {
		p.takeOff(f)
	}

	for _, w := range left { // it still has what several of its writes add to
		for item := range w.items {
			if p.held[item] == nil {
				p.held[item] = f
			}
		}
	}
}

// DenyReads notes that reads are denied. It returns false if that is known.
func (p *Planner) DenyReads() (isNew bool) {
	isNew = !p.isUnread
	p.isUnread = true

	return isNew
}
