package planner

import (
	"slices"
	"time"
)

// readFor is how many transactions of several writes are preceded by a read after a record was met whose key had ended.
const readFor = 10

// readsFirst reports whether a transaction of several writes is preceded by a read of their records.
func (p *Planner) readsFirst(now time.Time, f *Flight) bool {
	if p.IsSingle || p.reads == 0 || !p.denied[transactions].isOver(now) {
		return false
	}

	if !slices.ContainsFunc(f.Writes, func(w *Write) bool { return !w.isSeen }) {
		return false
	}

	p.reads--
	f.isProbe = p.denied[transactions].probe()

	return true
}

// Read notes that the read before a flight has landed. The writes that it has answered have ended, and the flight leaves now
// without them, and without those whose callers have left. If none is left, nothing is sent, and Land follows.
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

	f.Writes, f.Born = left, now

	for _, w := range left { // it still has what several of its writes add to
		for _, item := range w.items {
			if p.held[item.Key] == nil {
				p.held[item.Key] = f
			}
		}
	}
}

// DenyReads notes that reads are denied. It returns false if that is known.
func (p *Planner) DenyReads(now time.Time) (isNew bool) { return p.denied[transactions].note(now) }
