package planner

import (
	"slices"
	"time"
)

const (
	maxItems = 100     // of a transaction
	maxSize  = 4 << 20 // in bytes
)

// repeat lets a flight wait for its next try, unless the time of one of its writes is over.
func (p *Planner) repeat(now time.Time, f *Flight, answers []Answer, jitter float64) (over []*Write) {
	f.repeats++
	f.due = now.Add(time.Hour)

	for i, w := range f.Writes {
		w.tries++

		if w.isOver(now, answers[i]) {
			p.end(w)
			over = append(over, w)

			continue
		}

		if due := w.nextTry(now, jitter); due.Before(f.due) {
			f.due = due
		}
	}

	if !f.IsAwaited() {
		p.takeOff(f)
	}

	return over
}

// again returns a flight that is sent once more now. If callers have left the flight, or another flight holds an item of it, its
// writes are regrouped.
func (p *Planner) again(now time.Time) *Flight {
	for _, f := range p.flights {
		if f.due.IsZero() || f.due.After(now) {
			p.note(now, f.due)

			continue
		}

		isHeld := slices.ContainsFunc(f.Writes, func(w *Write) bool { return p.isHeld(now, w) })
		if isHeld && f.Writes[0].Joint.IsUnrecorded {
			continue
		}

		if f.due = (time.Time{}); f.isComplete() && !isHeld {
			p.hold(f)

			f.Born, f.ReadsFirst, f.Landing = now, false, Landing{}

			return f
		}

		p.takeOff(f)

		for _, w := range f.Writes {
			if f.Has(w) {
				p.wait(now, w)
			}
		}

		return p.again(now)
	}

	return nil
}

func (f *Flight) isComplete() bool {
	return !slices.ContainsFunc(f.Writes, func(w *Write) bool { return !f.Has(w) })
}
