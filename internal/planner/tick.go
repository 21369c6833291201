package planner

import (
	"slices"
	"time"
)

// Withdraw takes a write back whose caller leaves, wherever it is. If it is under way and no other write of its flight is awaited, the flight
// is to be cancelled.
func (p *Planner) Withdraw(w *Write) { p.end(w) }

// Tick lets the time pass, before Depart. It returns the writes whose time is over: no try of theirs begins any more.
func (p *Planner) Tick(now time.Time) (over []*Write) {
	for i := 0; i < len(p.paused); {
		w := p.paused[i]
		if w.due.After(now) {
			i++

			continue
		}

		p.paused = without(p.paused, w)
		w.since = w.due
		p.wait(now, w)
	}

	if p.nextEnd.IsZero() || p.nextEnd.After(now) {
		return nil
	}

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

// open returns all writes that the planner must give up when their time is over. A flight of one write has the caller's own context.
func (p *Planner) open() []*Write {
	all := append([]*Write{}, p.alone...)
	all = append(all, p.paused...)

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

// Deny notes that shared requests are denied. It returns false if that is known.
func (p *Planner) Deny(now time.Time) (isNew bool) {
	p.separate()

	return p.denied[statements].note(now)
}

// note notes a denial. It returns false if one is remembered.
func (d *denial) note(now time.Time) (isNew bool) {
	isNew = now.After(d.until)
	d.until = now.Add(deniedFor)

	return isNew
}

// probe reports whether a flight that leaves asks if the remembered denial still holds, and notes that it does.
func (d *denial) probe() bool {
	d.isProbing = !d.until.IsZero()

	return d.isProbing
}

// separate makes all statements that wait travel alone.
func (p *Planner) separate() {
	for len(p.groups[statements]) > 0 {
		w := p.groups[statements][0].waiting[statements][0]
		p.unqueue(w)
		p.alone = append(p.alone, w)
	}
}

// Processed notes that DynamoDB has processed a shared flight of statements, or the read before a transaction. If it was the one that probes,
// the denial is forgotten.
func (p *Planner) Processed(f *Flight) {
	if f.isProbe {
		p.denied[f.lane].until = time.Time{}
	}
}

// IsAwaited reports whether a caller waits for the flight.
func (f *Flight) IsAwaited() bool { return slices.ContainsFunc(f.Writes, f.Has) }
