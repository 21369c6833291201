package planner

import (
	"slices"
	"time"
)

// Depart returns the next flight that leaves now, or nil if there is none. It is called until it returns nil, after each event.
func (p *Planner) Depart(now time.Time) *Flight {
	if p.next = p.next[:0]; len(p.alone)+len(p.groups) == 0 {
		return nil
	}

	for _, w := range p.alone {
		if !p.isHeld(now, w) && !p.givesWay(w) {
			p.alone = without(p.alone, w)

			return p.leave(now, w.alone(), false)
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
			if !w.IsUrgent && now.Before(g.lingersUntil()) && len(g.waiting) < Size || p.isTaken(w) || p.isHeld(now, w) || p.givesWay(w) {
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

// givesWay reports whether a write is an extension, and another one of its group waits that settles the record.
func (p *Planner) givesWay(w *Write) bool {
	if !w.IsExtend || w.IsUrgent {
		return false
	}

	settles := func(other *Write) bool { return !other.IsExtend && other.Record == w.Record && other.Group == w.Group }

	return slices.ContainsFunc(w.Group.waiting, settles) || slices.ContainsFunc(p.alone, settles)
}

// isHeld reports whether a flight under way has a write of the same record.
func (p *Planner) isHeld(now time.Time, w *Write) bool { return p.heldUntil(w).After(now) }

// heldUntil returns until when a flight under way holds the record of a write, at most; zero if none does.
func (p *Planner) heldUntil(w *Write) time.Time {
	f := p.held[w.Record]
	if f == nil {
		return time.Time{}
	}

	return f.Born.Add(heldFor * p.times.t())
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

	return oldest.Add(p.times.t() / companyPart)
}

// Wake returns when Tick and Depart are to be called again, if nothing happens before; zero for never. It is called when Depart has returned
// nil.
func (p *Planner) Wake(now time.Time) time.Time {
	if len(p.alone)+len(p.groups)+len(p.paused) == 0 && !p.hasShared() {
		return time.Time{}
	}

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

	note(p.nextEnd)

	return at
}

// hasShared reports whether a shared flight is under way: its writes leave it at their ends.
func (p *Planner) hasShared() bool { return slices.ContainsFunc(p.flights, (*Flight).IsShared) }
