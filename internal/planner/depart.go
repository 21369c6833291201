package planner

import (
	"maps"
	"slices"
	"time"
)

// Depart returns the next flight that leaves now, or nil if there is none. After each event, Tick is called, and then Depart until it returns
// nil: also where the event came before a call at the time of Wake, which was late.
func (p *Planner) Depart(now time.Time) *Flight {
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
		p.collect(now, lane)

		if len(p.next.writes) == 0 || now.Before(p.leavesAt(now, lane)) {
			continue
		}

		for _, w := range p.next.writes {
			p.takeTurn(w)
		}

		return p.leave(now, p.next.writes, true)
	}

	return nil
}

// takeTurn takes a write that leaves out of its group, and lets the other groups have their turn.
func (p *Planner) takeTurn(w *Write) {
	g := w.Group
	p.unqueue(w)

	if len(g.waiting[w.lane]) > 0 {
		p.groups[w.lane] = append(without(p.groups[w.lane], g), g)
	}
}

// collect gathers the writes that would travel in the next flight: the oldest one of each group, the second one of each, and so on.
func (p *Planner) collect(now time.Time, lane int) {
	clear(p.next.taken)
	p.next = load{writes: p.next.writes[:0], taken: p.next.taken}

	for _, g := range p.groups[lane] {
		g.until = g.lingersUntil(lane)

		switch {
		case len(g.waiting[lane]) >= Size:
			g.until = time.Time{}
		case lane == statements && !g.until.IsZero() && !now.Before(g.until):
			g.Expected = 0 // those that were announced and did not come are waited for no longer
		}
	}

	for round, isMore := 0, true; isMore; round++ {
		isMore = false

		for _, g := range p.groups[lane] {
			if round >= len(g.waiting[lane]) {
				continue
			}

			isMore = true

			w := g.waiting[lane][round]
			if now.Before(g.until) && !w.IsUrgent && !w.hasLeft || p.isKept(now, w) {
				continue
			}

			if p.next.take(w); len(p.next.writes) == Size {
				return
			}
		}
	}
}

// isKept reports whether a write cannot leave, whatever it has for company: a flight under way has an item of it, it stands behind the closed
// gate, or it gives way.
func (p *Planner) isKept(now time.Time, w *Write) bool {
	return p.isHeld(now, w) || p.gate.opens.After(now) && p.gate.isHot(now, w) || w.IsExtend && !w.IsUrgent && p.givesWay(w)
}

// isHeld reports whether a flight under way has an item of the write.
func (p *Planner) isHeld(now time.Time, w *Write) bool { return p.heldUntil(w).After(now) }

// heldUntil returns until when flights under way hold an item of a write, at most; zero if none does.
func (p *Planner) heldUntil(w *Write) (until time.Time) {
	if len(p.held) == 0 {
		return until
	}

	for item := range w.items {
		if f := p.held[item]; f != nil && f.due.IsZero() {
			until = later(until, f.Born.Add(heldFor*p.times[f.lane].t()))
		}
	}

	return until
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
	case own == 0, p.next.isFull:
		return now
	}

	oldest := p.next.writes[0].since
	for _, w := range p.next.writes {
		if w.since.Before(oldest) {
			oldest = w.since
		}
	}

	return oldest.Add(p.times[lane].t() / companyPart)
}

// Wake returns when Tick and Depart are to be called again, if nothing happens before; zero for never. It is called after them, with the same
// time.
func (p *Planner) Wake(now time.Time) time.Time {
	if p.isQuiet() {
		return time.Time{}
	}

	var at time.Time

	note := func(t time.Time) {
		if t.After(now) && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}

	p.noteAlone(note)

	for lane := range lanes {
		p.collect(now, lane)

		for _, g := range p.groups[lane] {
			note(g.until)

			for _, w := range g.waiting[lane][:min(len(g.waiting[lane]), Size)] {
				note(p.heldUntil(w))
			}
		}

		if len(p.next.writes) > 0 {
			note(p.leavesAt(now, lane))
		}
	}

	note(p.gate.opens)
	note(p.nextEnd)

	return at
}

// isQuiet reports whether Tick and Depart have nothing to do: no write waits, and each that is under way is alone.
func (p *Planner) isQuiet() bool {
	return len(p.alone)+len(p.paused)+len(p.groups[statements])+len(p.groups[transactions]) == 0 &&
		!slices.ContainsFunc(p.flights, func(f *Flight) bool { return f.IsShared() || !f.due.IsZero() })
}

// noteAlone notes when a pause ends, a flight is sent once more, or the items are free of a write that travels alone.
func (p *Planner) noteAlone(note func(time.Time)) {
	for _, w := range p.paused {
		note(w.due)
	}

	for _, f := range p.flights {
		if note(f.due); !f.due.IsZero() {
			for _, w := range f.Writes {
				note(p.heldUntil(w))
			}
		}
	}

	for _, w := range p.alone {
		note(p.heldUntil(w))
	}
}

// take takes a write, if it fits.
func (l *load) take(w *Write) {
	if l.taken == nil {
		l.taken = map[string]string{}
	}

	items, size, value := l.items+1, l.size, l.value
	if j := w.Joint; j != nil {
		items, size, value = items+len(j.Items)+len(j.Adds), size+j.Size, value+j.Value
	}

	for item, as := range w.items {
		taken, isTaken := l.taken[item]

		switch {
		case !isTaken:
		case as == "" || taken != as:
			return
		default:
			items-- // one update is for both
		}
	}

	if len(l.writes) > 0 && (items > maxItems || size > maxSize || value > LargeValue) {
		l.isFull = true

		return
	}

	maps.Insert(l.taken, w.items)

	l.items, l.size, l.value, l.writes = items, size, value, append(l.writes, w)
	l.isFull = l.isFull || len(l.writes) == Size
}

// queue makes a write wait for its next flight.
func (p *Planner) queue(now time.Time, w *Write, isAlone bool) {
	w.state, w.flight = waiting, nil
	p.noteEnd(now, w.lastMoment())

	if isAlone {
		p.alone = append(p.alone, w)

		return
	}

	if len(w.Group.waiting[w.lane]) == 0 {
		p.groups[w.lane] = append(p.groups[w.lane], w.Group)
	}

	w.Group.insert(w)
}

// unqueue takes a write out of its group, and the group out of the turns if it was the last one.
func (p *Planner) unqueue(w *Write) {
	g := w.Group
	if g.waiting[w.lane] = without(g.waiting[w.lane], w); len(g.waiting[w.lane]) == 0 {
		p.groups[w.lane] = without(p.groups[w.lane], g)
	}
}

// insert queues a write in the order of Submit: one that is sent again keeps its place.
func (g *Group) insert(w *Write) {
	list := g.waiting[w.lane]

	at := len(list)
	for at > 0 && list[at-1].number > w.number {
		at--
	}

	list = append(list, nil)
	copy(list[at+1:], list[at:])
	list[at] = w
	g.waiting[w.lane] = list
}

// lingersUntil returns until when the writes of a lane wait for others of the group; zero if they do not wait.
func (g *Group) lingersUntil(lane int) time.Time {
	first := slices.IndexFunc(g.waiting[lane], func(w *Write) bool { return !w.hasLeft })
	if first < 0 || g.lingerOf(g.waiting[lane][first]) == 0 {
		return time.Time{}
	}

	return g.waiting[lane][first].since.Add(g.lingerOf(g.waiting[lane][first]))
}

// lastMoment returns when the write is given up. The first try has its time also where the end is earlier.
func (w *Write) lastMoment() time.Time {
	begun := w.since
	if w.flight != nil {
		begun = w.flight.Born
	} else if w.tries > 0 {
		return w.End
	}

	return later(w.End, begun.Add(minTry))
}

// noteEnd notes the end of a write. One that is past must not hide those that come.
func (p *Planner) noteEnd(now, end time.Time) {
	if end = later(end, now.Add(1)); p.nextEnd.IsZero() || end.Before(p.nextEnd) {
		p.nextEnd = end
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}

	return b
}

func without[E comparable](list []E, gone E) []E {
	return slices.DeleteFunc(list, func(e E) bool { return e == gone })
}
