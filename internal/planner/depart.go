package planner

import (
	"slices"
	"time"
)

// Depart returns the next flight that leaves now, or nil if there is none. After each event, Tick is called, and then Depart until it returns
// nil: also where the event came before a call at the time of Wake, which was late.
func (p *Planner) Depart(now time.Time) *Flight {
	p.next.clear()

	if f := p.again(now); f != nil {
		return f
	}

	for _, w := range p.alone {
		if !p.isHeld(now, w) && !p.isGated(now, w) && !p.givesWay(w) {
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
	p.next.clear()

	for round, isMore := 0, true; isMore; round++ {
		isMore = false

		for _, g := range p.groups[lane] {
			if round >= len(g.waiting[lane]) {
				continue
			}

			isMore = true

			w := g.waiting[lane][round]
			isLingering := !w.IsUrgent && !w.hasLeft && len(g.waiting[lane]) < Size && now.Before(g.lingersUntil(lane))

			if isLingering || p.isHeld(now, w) || p.isGated(now, w) || p.givesWay(w) {
				continue
			}

			if p.next.take(w); len(p.next.writes) == Size {
				return
			}
		}
	}
}

// givesWay reports whether a write is an extension, and another one of its group waits that settles the record.
func (p *Planner) givesWay(w *Write) bool {
	if !w.IsExtend || w.IsUrgent {
		return false
	}

	settles := func(other *Write) bool { return !other.IsExtend && other.Record == w.Record && other.Group == w.Group }
	waiting := &w.Group.waiting

	return slices.ContainsFunc(waiting[statements], settles) || slices.ContainsFunc(waiting[transactions], settles) ||
		slices.ContainsFunc(p.alone, settles)
}

// isHeld reports whether a flight under way has an item of the write.
func (p *Planner) isHeld(now time.Time, w *Write) bool { return p.heldUntil(w).After(now) }

// heldUntil returns until when flights under way hold an item of a write, at most; zero if none does.
func (p *Planner) heldUntil(w *Write) (until time.Time) {
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
	if p.IsQuiet() {
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
		for _, g := range p.groups[lane] {
			note(g.lingersUntil(lane))

			for _, w := range g.waiting[lane][:min(len(g.waiting[lane]), Size)] {
				note(p.heldUntil(w))
			}
		}

		if p.collect(now, lane); len(p.next.writes) > 0 {
			note(p.leavesAt(now, lane))
		}
	}

	note(p.gate.opens)
	note(p.nextEnd)

	return at
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

// wait makes a write wait for its next flight.
func (p *Planner) wait(now time.Time, w *Write) {
	w.state, w.flight = waiting, nil
	p.noteEnd(now, w.lastMoment())

	if w.travelsAlone(p, now) {
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

// rest makes a write pause. A pause is at most half of the time that is left, so that tries go on until the end.
func (p *Planner) rest(now time.Time, w *Write, lot float64) {
	w.state, w.flight, w.due = paused, nil, w.nextTry(now, lot)
	p.paused = append(p.paused, w)
}

// nextTry returns when the next try is made.
func (w *Write) nextTry(now time.Time, lot float64) time.Time {
	pause := min(time.Duration(lot*float64(w.pause))+1, w.End.Sub(now)/2) //nolint:mnd // half
	w.pause = min(2*w.pause, w.Pause)

	return now.Add(pause)
}

// isOver reports whether the time of a write is over that has no answer.
func (w *Write) isOver(now time.Time, answer Answer) bool {
	if answer != Refused {
		w.denied = time.Time{}
	} else if w.denied.IsZero() {
		w.denied = now
	}

	return answer == Refused && now.Sub(w.denied) >= w.Denied || w.End.Sub(now) < lastTry
}
