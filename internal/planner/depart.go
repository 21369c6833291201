package planner

import (
	"slices"
	"time"
)

// firstT is T before a flight was answered.
const firstT = 5 * time.Millisecond

// time returns T.
func (p *Planner) time() time.Duration {
	if p.T == 0 {
		return firstT
	}

	return p.T
}

// Depart returns the next flight that leaves now, or nil if there is none. It is called until it returns nil, after each event.
func (p *Planner) Depart(now time.Time) *Flight {
	for _, w := range p.alone {
		if !p.isHeld(now, w) {
			p.alone = without(p.alone, w)

			w.one[0] = w

			return p.leave(now, w.one[:], false)
		}
	}

	p.collect(now)

	if len(p.next) == 0 || now.Before(p.leavesAt(now)) {
		return nil
	}

	for _, w := range p.next {
		p.takeTurn(w)
	}

	return p.leave(now, p.next, true)
}

// takeTurn takes a write that leaves out of its group, and lets the other groups have their turn.
func (p *Planner) takeTurn(w *Write) {
	g := w.Group
	p.unqueue(w)

	if len(g.waiting) > 0 {
		p.groups = append(without(p.groups, g), g)
	}
}

// leave makes a flight of the writes.
func (p *Planner) leave(now time.Time, writes []*Write, isCounted bool) *Flight {
	f := newFlight(writes)
	f.Born, f.isCounted = now, isCounted

	if f.isProbe = f.IsShared() && !p.deniedUntil.IsZero(); f.isProbe {
		p.isProbing = true
	}

	if p.held == nil {
		p.held = map[string]*Flight{}
	}

	end := writes[0].End

	for _, w := range f.Writes {
		w.state, w.flight, p.held[w.Record] = flying, f, f
		end = later(end, w.End)
	}

	f.Limit = min(maxTry, max(minTry, end.Sub(now)/tryPart))
	p.flights = append(p.flights, f)

	return f
}

// newFlight returns a flight of these writes. One that is alone has its own room, so that it costs no allocation.
func newFlight(writes []*Write) *Flight {
	if len(writes) > 1 {
		return &Flight{Writes: slices.Clone(writes)}
	}

	w := writes[0]
	w.one[0] = w
	w.single = Flight{Writes: w.one[:]}

	return &w.single
}

// collect gathers the writes that would travel in the next flight: the oldest one of each group, the second one of each, and so on.
func (p *Planner) collect(now time.Time) {
	p.next = p.next[:0]

	for round, isMore := 0, true; isMore; round++ {
		isMore = false

		for _, g := range p.groups {
			if round >= len(g.waiting) {
				continue
			}

			isMore = true

			w := g.waiting[round]
			if !w.IsUrgent && now.Before(g.lingersUntil()) && len(g.waiting) < Size || p.isTaken(w) || p.isHeld(now, w) {
				continue
			}

			if p.next = append(p.next, w); len(p.next) == Size {
				return
			}
		}
	}
}

// isTaken reports whether the next flight has a write of the same record.
func (p *Planner) isTaken(w *Write) bool {
	return slices.ContainsFunc(p.next, func(other *Write) bool { return other.Record == w.Record })
}

// isHeld reports whether a flight under way has a write of the same record.
func (p *Planner) isHeld(now time.Time, w *Write) bool { return p.heldUntil(w).After(now) }

// heldUntil returns until when a flight under way holds the record of a write, at most; zero if none does.
func (p *Planner) heldUntil(w *Write) time.Time {
	f := p.held[w.Record]
	if f == nil {
		return time.Time{}
	}

	return f.Born.Add(heldFor * p.time())
}

// leavesAt returns when the flight of the collected writes leaves, unless something happens before; now if it leaves at once.
func (p *Planner) leavesAt(now time.Time) time.Time {
	var waitedFor int

	soonest := now.Add(overdueTime)

	for _, f := range p.flights {
		if end := f.Born.Add(overdueTime); f.isCounted && end.After(now) {
			waitedFor++

			if end.Before(soonest) {
				soonest = end
			}
		}
	}

	switch {
	case waitedFor == 0, waitedFor < maxFlights && len(p.next) == Size:
		return now
	case waitedFor >= maxFlights:
		return soonest
	}

	oldest := p.next[0].since
	for _, w := range p.next {
		if w.since.Before(oldest) {
			oldest = w.since
		}
	}

	return oldest.Add(p.time() / companyPart)
}

// Wake returns when Tick and Depart are to be called again, if nothing happens before; zero for never. It is called when Depart has returned
// nil.
func (p *Planner) Wake(now time.Time) time.Time {
	var at time.Time

	note := func(t time.Time) {
		if t.After(now) && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}

	for _, w := range p.paused {
		note(w.due)
	}

	for _, w := range p.alone {
		note(p.heldUntil(w))
	}

	for _, g := range p.groups {
		note(g.lingersUntil())

		for _, w := range g.waiting[:min(len(g.waiting), Size)] {
			note(p.heldUntil(w))
		}
	}

	if len(p.next) > 0 {
		note(p.leavesAt(now))
	}

	if !at.IsZero() || p.hasShared() {
		note(p.nextEnd)
	}

	return at
}

// hasShared reports whether a shared flight is under way: its writes leave it at their ends.
func (p *Planner) hasShared() bool { return slices.ContainsFunc(p.flights, (*Flight).IsShared) }
