package planner

import (
	"slices"
	"time"
)

// wait makes a write wait again that was under way, or paused.
func (p *Planner) wait(now time.Time, w *Write) { p.queue(now, w, w.travelsAlone(p, now)) }

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
	at, _ := slices.BinarySearchFunc(g.waiting[w.lane], w.number, func(other *Write, number int) int { return other.number - number })
	g.waiting[w.lane] = slices.Insert(g.waiting[w.lane], at, w)
}

// takeTurns takes the writes that leave out of their groups, and lets the other groups have their turn.
func (p *Planner) takeTurns(writes []*Write) {
	for _, w := range writes {
		g := w.Group
		p.unqueue(w)

		if len(g.waiting[w.lane]) > 0 {
			p.groups[w.lane] = append(without(p.groups[w.lane], g), g)
		}
	}
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

// separate makes all statements that wait travel alone.
func (p *Planner) separate() {
	for len(p.groups[statements]) > 0 {
		w := p.groups[statements][0].waiting[statements][0]
		p.unqueue(w)
		p.alone = append(p.alone, w)
	}
}
