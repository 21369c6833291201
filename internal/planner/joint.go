package planner

import (
	"slices"
	"time"
)

const (
	maxItems = 100     // of a transaction
	maxSize  = 4 << 20 // in bytes

	hotFor     = 64 // in T: for so long an item is hot after a conflict
	maxHot     = 1000
	gateFirst  = 4 // in T: the gate is closed for at least so long, and for at most twice as long
	gateSecond = 8 // the same after the second conflict in a row, and after each later one
)

// gate is what stands before the writes that touch hot items. Its zero value is open.
type gate struct {
	until map[string]time.Time // until when an item is hot
	order []string             // of the hot items, the oldest first
	opens time.Time
	row   int // of conflicts
}

// land takes the conflicts of a flight that has landed.
func (g *gate) land(now time.Time, f *Flight, t time.Duration, lot float64) {
	if len(f.Conflicts) == 0 {
		if f.IsAnswered && !f.MayRepeat && g.isHotFlight(now, f) { // one that was throttled says nothing
			g.row = 0
		}

		return
	}

	for _, item := range f.Conflicts {
		g.heat(item, now.Add(hotFor*t))
	}

	closed := gateFirst * t
	if g.row++; g.row > 1 {
		closed = gateSecond * t
	}

	g.opens = now.Add(closed + time.Duration(lot*float64(closed)))
}

// heat makes an item hot. The oldest one leaves the list if it is full.
func (g *gate) heat(item string, until time.Time) {
	if g.until == nil {
		g.until = map[string]time.Time{}
	}

	if _, isKnown := g.until[item]; isKnown {
		g.order = without(g.order, item)
	} else if len(g.order) == maxHot {
		delete(g.until, g.order[0])
		g.order = without(g.order, g.order[0])
	}

	g.order = append(g.order, item)
	g.until[item] = until
}

func (g *gate) isHotFlight(now time.Time, f *Flight) bool {
	for _, w := range f.Writes {
		if g.isHot(now, w) {
			return true
		}
	}

	return false
}

// isHot reports whether a write touches a hot item.
func (g *gate) isHot(now time.Time, w *Write) bool {
	if len(g.until) == 0 || w.Joint == nil {
		return false
	}

	for _, item := range w.items {
		if g.until[item.Key].After(now) {
			return true
		}
	}

	return false
}

// repeat lets a flight wait for its next try, unless the time of one of its writes is over.
func (p *Planner) repeat(now time.Time, f *Flight, answers []Answer, lot float64) (over []*Write) {
	f.repeats++
	f.due = now.Add(time.Hour)

	for i, w := range f.Writes {
		w.tries++

		if w.isOver(now, answers[i]) {
			p.end(w)
			over = append(over, w)

			continue
		}

		if due := w.nextTry(now, lot); due.Before(f.due) {
			f.due = due
		}
	}

	if !f.IsAwaited() {
		p.takeOff(f)
	}

	return over
}

// again returns a flight that is sent once more now. One of whose callers some have left, or whose items another flight holds, is regrouped.
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

			f.Born, f.ReadsFirst, f.IsAnswered, f.IsInProgress, f.MayRepeat, f.HasMetEnded, f.Conflicts = now, false, false, false, false, false, nil

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
	for _, w := range f.Writes {
		if !f.Has(w) {
			return false
		}
	}

	return true
}
