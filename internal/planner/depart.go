package planner

import (
	"slices"
	"time"
)

// Ready is what is to be done after an event.
type Ready struct {
	Over    []*Write  // their time is over: no try of theirs begins any more
	Flights []*Flight // they leave now
	Wake    time.Time // when Ready is to be called again, if nothing happens before; zero for never
}

// Ready returns what is to be done now. It is called after each event, and at the time of Wake if no event comes before. If the
// caller's timer is late, the call after the next event makes up for it.
func (p *Planner) Ready(now time.Time) (r Ready) {
	p.paused = slices.DeleteFunc(p.paused, func(w *Write) bool {
		isRested := !w.due.After(now)
		if isRested {
			w.since = w.due
			p.wait(now, w)
		}

		return isRested
	})

	if !p.nextEnd.After(now) {
		r.Over = p.giveUp(now)
	}

	for f := p.depart(now); f != nil; f = p.depart(now) {
		r.Flights = append(r.Flights, f)
	}

	if p.isQuiet() {
		return r
	}

	for _, w := range p.paused {
		p.note(now, w.due)
	}

	p.note(now, p.gate.opens)
	p.note(now, p.nextEnd)
	r.Wake = p.wake

	return r
}

// isQuiet reports whether no write waits, and each that is under way is alone.
func (p *Planner) isQuiet() bool {
	return len(p.alone)+len(p.paused)+len(p.groups[statements])+len(p.groups[transactions]) == 0 &&
		!slices.ContainsFunc(p.flights, func(f *Flight) bool { return f.IsShared() || !f.due.IsZero() })
}

// depart returns the next flight that leaves now, or nil if there is none. Then it has noted when those that stay may leave.
func (p *Planner) depart(now time.Time) *Flight {
	p.wake = time.Time{}

	if slices.ContainsFunc(p.flights, func(f *Flight) bool { return !f.due.IsZero() }) {
		if f := p.again(now); f != nil {
			return f
		}
	}

	for _, w := range p.alone {
		if !p.isKept(now, w) {
			p.alone = without(p.alone, w)

			return p.leave(now, w.alone(), false)
		}
	}

	for lane := range lanes {
		if p.collect(now, lane); len(p.next.writes) == 0 {
			continue
		}

		if at := p.leavesAt(now, lane); at.After(now) {
			p.note(now, at)

			continue
		}

		p.takeTurns(p.next.writes)

		return p.leave(now, p.next.writes, true)
	}

	return nil
}

// note notes a time at which Ready is to be called.
func (p *Planner) note(now, at time.Time) {
	if at.After(now) && (p.wake.IsZero() || at.Before(p.wake)) {
		p.wake = at
	}
}

// collect gathers the writes that would travel in the next flight: the oldest one of each group, the second one of each, and so
// on.
func (p *Planner) collect(now time.Time, lane int) {
	clear(p.next.taken)
	p.next = load{writes: p.next.writes[:0], taken: p.next.taken}

	isNarrow := p.isNarrow(lane)
	if isNarrow {
		p.next.hot = p.hotRoom(now)
	}

	for _, g := range p.groups[lane] {
		if g.until = g.lingersUntil(lane); lane == statements && !g.until.IsZero() && !now.Before(g.until) {
			g.Expected = 0 // those that were announced and did not come are waited for no longer
		}

		p.note(now, g.until)
	}

	for round, isMore := 0, true; isMore; round++ {
		isMore = false

		for _, g := range p.groups[lane] {
			if round >= len(g.waiting[lane]) {
				continue
			}

			isMore = true

			w := g.waiting[lane][round]
			if now.Before(g.until) && !w.IsUrgent && !w.hasLeft || p.isKept(now, w) || isNarrow && !p.gate.fits(now, w, &p.next) {
				continue
			}

			if p.next.take(w); len(p.next.writes) == Size {
				return
			}
		}
	}
}

// isKept reports whether a write cannot leave with any flight: a flight under way has an item of it, it stands behind the closed
// gate, or it gives way.
func (p *Planner) isKept(now time.Time, w *Write) bool {
	return p.isHeld(now, w) || p.gate.opens.After(now) && p.gate.isHot(now, w) || w.IsExtend && !w.IsUrgent && p.givesWay(w)
}

// isHeld reports whether flights under way hold an item of the write, and notes until when they do, at most.
func (p *Planner) isHeld(now time.Time, w *Write) bool {
	var until time.Time

	for _, item := range w.items {
		if f := p.held[item.Key]; item.Key != "" && f != nil && f.due.IsZero() {
			until = later(until, p.lettingGo(f))
		}
	}

	p.note(now, until)

	return until.After(now)
}

// lettingGo returns when a flight under way holds its items no longer: a conflict is the lesser evil then.
func (p *Planner) lettingGo(f *Flight) time.Time { return f.Born.Add(heldFor * p.times[f.lane].t()) }

// givesWay reports whether another write of the group of an extension waits that settles the record.
func (p *Planner) givesWay(w *Write) bool {
	settles := func(other *Write) bool { return !other.IsExtend && other.Record == w.Record && other.Group == w.Group }
	waiting := &w.Group.waiting

	return slices.ContainsFunc(waiting[statements], settles) || slices.ContainsFunc(waiting[transactions], settles) ||
		slices.ContainsFunc(p.alone, settles)
}

// leavesAt returns when the flight of the collected writes leaves, unless something happens before; now if it leaves at once.
func (p *Planner) leavesAt(now time.Time, lane int) time.Time {
	all, own, soonest := 0, 0, now.Add(overdueTime)

	for _, f := range p.flights {
		end := f.Born.Add(overdueTime)
		if !f.isCounted || !f.due.IsZero() || !end.After(now) {
			continue
		}

		if all++; f.lane == lane {
			own++
		}

		if end.Before(soonest) {
			soonest = end
		}
	}

	switch {
	case all >= maxFlights:
		return soonest
	case own == 0, p.next.isFull, len(p.next.writes) == Size:
		return now
	}

	oldest := p.next.writes[0].since
	for _, w := range p.next.writes {
		if w.since.Before(oldest) {
			oldest = w.since
		}
	}

	return oldest.Add(p.times[lane].t() / togetherPart)
}

// t returns T.
func (e *estimate) t() time.Duration {
	if e.median == 0 {
		return firstT
	}

	return e.median
}

// take takes a write, if it fits.
func (l *load) take(w *Write) {
	if l.taken == nil {
		l.taken = map[string]string{}
	}

	items, size, value := l.items+len(w.items), l.size, l.value
	if w.Joint != nil {
		size, value = size+w.Joint.Size, value+w.Joint.Value
	}

	for _, item := range w.items {
		as, isTaken := l.taken[item.Key]

		switch {
		case !isTaken:
		case item.As == "" || as != item.As:
			return
		default:
			items-- // one update is for both
		}
	}

	if len(l.writes) > 0 && (items > maxItems || size > maxSize || value > LargeValue) {
		l.isFull = true

		return
	}

	l.touch(w)
	l.items, l.size, l.value, l.writes = items, size, value, append(l.writes, w)
}

// lingersUntil returns until when the writes of a lane wait for others of the group: until the first of them is to leave. It
// returns zero if each of them has left before, or if they fill a flight.
func (g *Group) lingersUntil(lane int) (until time.Time) {
	if len(g.waiting[lane]) >= Size {
		return until
	}

	for _, w := range g.waiting[lane] {
		if end := w.since.Add(g.lingerOf(w)); !w.hasLeft && (until.IsZero() || end.Before(until)) {
			until = end
		}
	}

	return until
}

// giveUp ends the writes whose time is over: no try of theirs begins any more.
func (p *Planner) giveUp(now time.Time) (over []*Write) {
	p.nextEnd = time.Time{}

	for _, w := range p.open() {
		if end := w.lastMoment(); end.After(now) {
			p.noteEnd(now, end)
		} else {
			p.end(w)
			over = append(over, w)
		}
	}

	return over
}

// open returns all writes that the planner must give up when their time is over. Paused writes are left out, because a pause ends
// before its write does, and so are flights of one write, because the caller's context ends them.
func (p *Planner) open() []*Write {
	all := slices.Clone(p.alone)

	for lane := range lanes {
		for _, g := range p.groups[lane] {
			all = append(all, g.waiting[lane]...)
		}
	}

	for _, f := range p.flights {
		for _, w := range f.Writes {
			if w.flight == f && (f.IsShared() || !f.due.IsZero()) {
				all = append(all, w)
			}
		}
	}

	return all
}

// isNarrow reports whether the writes that wait in a lane may touch few hot items at a time. Before the first conflict no item is
// hot, so the items of the writes need not be looked at.
func (p *Planner) isNarrow(lane int) bool {
	return lane == transactions && p.gate.most > 0 && len(p.groups[lane]) > 0
}

// hotRoom returns how many hot items the next flight may touch: none while another one is under way that touches some.
func (p *Planner) hotRoom(now time.Time) int {
	for _, f := range p.flights {
		if !f.due.IsZero() || !p.gate.isHotFlight(now, f) {
			continue
		}

		if end := p.lettingGo(f); end.After(now) {
			p.note(now, end)

			return 0
		}
	}

	return p.gate.most
}
