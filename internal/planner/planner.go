// Package planner says which writes of a process travel together, in which request, when, and when again. It sends nothing and has no clock,
// no goroutine and no client: the time and what is drawn by lot are arguments, and what is to be done comes back as data. So tables test each
// rule, and a program visits every order of events. Package engine drives it.
//
// A write is a conditional write of one record with all of its tries. A flight is one request with the writes that travel in it. T is how
// long a flight takes, as Estimate measures it. The rules:
//
//  1. Alone. A write for which nothing is under way or announced leaves at once.
//  2. Company. While a flight is under way, a write waits until none is, until a flight is full, or for a third of T, whichever comes
//     first. At most eight flights are under way. A flight that takes longer than 100 ms is neither waited for nor counted. A flight takes the
//     oldest write of each group in turn, so that a group with many writes does not keep another one waiting. What a group announces delays
//     the writes of that group only: claims that are announced by at most 10 ms, and writes while other members of the group are at work by
//     at most 0.2 ms. An urgent extension waits for none of them.
//  3. A write belongs to itself. If its answer is "not now", it waits its own pause and takes whichever flight leaves then. The others have
//     their answers at once.
//  4. Ends. A flight has a third of the time until the last end of its writes, at least 100 ms and at most 2 s. A write whose end comes or
//     whose caller leaves is in no flight from then on.
//  5. Limits. A flight has at most 25 writes, and a record once. A write with a large value travels alone. If a flight is refused as a whole,
//     each of its writes travels alone, once: nobody waits for it, and it waits for nobody.
//  6. No conflict with oneself. Two flights under way do not hold the same record, unless one of them has been under way for longer than
//     4 T. An extension gives way to a write of its group that settles the same record, unless it is urgent.
//  7. Denied. After shared requests were denied, all writes travel alone for five minutes. Then one flight probes, and its answer renews or
//     ends the memory.
package planner

import (
	"slices"
	"time"
)

const (
	// Size is how many writes travel in a flight, at most.
	Size = 25

	// FirstPause is the longest pause after the first try. Each later one is at most twice the one before.
	FirstPause = 25 * time.Millisecond

	// LargeValue is the size in bytes above which the value of a write must not delay others.
	LargeValue = 64 << 10

	maxFlights  = 8                      // under way at a time
	overdueTime = 100 * time.Millisecond // a flight that takes longer is not waited for
	companyPart = 3                      // a write waits for company for this part of T
	heldFor     = 4                      // in T: for so long a flight holds its records
	expectTime  = 10 * time.Millisecond  // how long the claims of a group wait for those that are announced
	lingerTime  = 200 * time.Microsecond // how long a write waits for the members of its group that are at work

	maxTry  = 2 * time.Second
	minTry  = 100 * time.Millisecond
	tryPart = 3                    // a try has at most this part of the time that is left
	lastTry = 2 * time.Millisecond // with less time left than this, no further try is made

	maxShared = 3               // tries of a write while others of its flights have answers
	deniedFor = 5 * time.Minute // how long a denial is remembered
)

// Policy says how a write is sent again.
type Policy struct {
	End   time.Time     // no try begins after this, but the first
	Pause time.Duration // the longest pause between two tries

	// Denied is for how long the write is sent again while DynamoDB refuses it for another reason than its condition: access denied, table
	// not found.
	Denied time.Duration
}

// Write is one conditional write of one record. The caller sets the exported fields before Submit and does not change them.
type Write struct {
	Policy

	Record   string // what it writes: two writes of one record do not travel together
	Group    *Group
	IsAlone  bool // it cannot share a request
	IsExtend bool // it extends a lease
	IsUrgent bool // the lease that it extends is almost over
	Handle   any  // the caller's

	number int // in the order of Submit
	state  state
	since  time.Time // when it began to wait
	due    time.Time // the end of its pause
	pause  time.Duration
	denied time.Time // when it was first refused in this way
	tries  int
	shared int // tries that were not processed while others of the flight were
	flight *Flight
	single Flight // with room for the flight of this write alone
	one    [1]*Write
}

type state int

const (
	waiting state = iota
	paused
	flying
	ended
)

// Flight is one request that is to be sent, or is under way.
type Flight struct {
	Writes []*Write
	Limit  time.Duration // how long its answer is waited for
	Born   time.Time
	Handle any // the caller's

	IsAnswered bool // DynamoDB has answered it; the caller says so before Land

	isCounted bool // others wait for it
	isProbe   bool
}

// IsShared reports whether the flight is a request of several writes.
func (f *Flight) IsShared() bool { return len(f.Writes) > 1 }

// Answer is what the answer to one try of a write asks for.
type Answer int

// The answers.
const (
	Done     Answer = iota // nothing: the write has its answer
	NotNow                 // the same once more, after a pause
	Refused                // the same, for as long as Write.Denied says: DynamoDB refused the request for another reason than its condition
	AtOnce                 // the next try at once: it has another statement
	AloneNow               // a request of its own, at once
)

// Planner is the state of all writes of a process. Its zero value is ready. Its methods are not safe for concurrent use.
type Planner struct {
	IsSingle bool // no requests are shared

	times estimate

	groups  []*Group // that have writes which wait, in turn
	alone   []*Write // that wait and travel alone
	paused  []*Write
	flights []*Flight          // under way
	held    map[string]*Flight // by record: the last flight that has it
	next    []*Write           // the writes that would leave next
	nextEnd time.Time          // not after the first end of all writes; zero if there is none
	number  int

	deniedUntil time.Time // shared requests were denied; zero if not
	isProbing   bool      // the flight that asks again is under way
}

// Submit hands in a write. It returns the write's flight if it leaves at once and alone; else the write leaves with a flight of Depart.
func (p *Planner) Submit(now time.Time, w *Write) *Flight {
	p.number++
	w.number, w.pause, w.since = p.number, FirstPause, now
	w.Group.open++

	if len(p.flights)+len(p.groups) == 0 && (w.IsUrgent || !w.Group.lingers()) {
		return p.leave(now, w.alone(), !w.IsAlone && p.Shares(now))
	}

	p.wait(now, w)

	return nil
}

// wait makes a write wait for its next flight.
func (p *Planner) wait(now time.Time, w *Write) {
	w.state, w.flight = waiting, nil
	p.noteEnd(now, w.lastMoment())

	if w.IsAlone || !p.Shares(now) {
		p.alone = append(p.alone, w)

		return
	}

	if len(w.Group.waiting) == 0 {
		p.groups = append(p.groups, w.Group)
	}

	w.Group.insert(w)
}

func (p *Planner) end(w *Write) {
	switch w.state {
	case waiting:
		p.alone = without(p.alone, w)
		p.unqueue(w)
	case paused:
		p.paused = without(p.paused, w)
	case ended:
		return
	case flying:
	}

	w.state, w.flight = ended, nil
	w.Group.open--
}

// unqueue takes a write out of its group, and the group out of the turns if it was the last one.
func (p *Planner) unqueue(w *Write) {
	g := w.Group
	if g.waiting = without(g.waiting, w); len(g.waiting) == 0 {
		p.groups = without(p.groups, g)
	}
}

// Has reports whether a write still travels in the flight: its caller waits for it.
func (f *Flight) Has(w *Write) bool { return w.flight == f }

// IsAwaited reports whether a caller waits for the flight.
func (f *Flight) IsAwaited() bool { return slices.ContainsFunc(f.Writes, f.Has) }

// Land takes the answers to the writes of a flight, in their order. Those that have left do not count. lot is between 0 and 1, and says how
// much of its longest pause a write waits; the writes of one flight have the same, so that those that wait equally long leave together. Land
// returns the writes that are not sent again although they were not answered: their time is over.
func (p *Planner) Land(now time.Time, f *Flight, answers []Answer, lot float64) (over []*Write) {
	p.flights = without(p.flights, f)
	p.isProbing = p.isProbing && !f.isProbe

	if f.IsAnswered {
		p.times.add(now.Sub(f.Born))
	}

	isAnswered := false

	for i, w := range f.Writes {
		isAnswered = isAnswered || w.flight == f && answers[i] == Done

		if p.held[w.Record] == f {
			delete(p.held, w.Record)
		}
	}

	for i, w := range f.Writes {
		if w.flight == f && !p.landed(now, w, answers[i], isAnswered, lot) {
			over = append(over, w)
		}
	}

	return over
}

// landed takes the answer to one write. It returns false if the write has no answer and its time is over.
func (p *Planner) landed(now time.Time, w *Write, answer Answer, isAnswered bool, lot float64) bool {
	w.tries++

	switch answer {
	case Done:
		p.end(w)

		return true
	case AtOnce:
		p.wait(now, w)

		return true
	case AloneNow:
		w.IsAlone = true
		p.wait(now, w)

		return true
	case NotNow:
		w.denied = time.Time{}
	case Refused:
		if w.denied.IsZero() {
			w.denied = now
		}

		if now.Sub(w.denied) >= w.Denied {
			p.end(w)

			return false
		}
	}

	if w.End.Sub(now) < lastTry {
		p.end(w)

		return false
	}

	if isAnswered { // DynamoDB has answered others, so this one has a problem with its own key
		w.shared++
		w.IsAlone = w.IsAlone || w.shared >= maxShared
	}

	p.rest(now, w, lot)

	return true
}

// rest makes a write pause. A pause is at most half of the time that is left, so that tries go on until the end.
func (p *Planner) rest(now time.Time, w *Write, lot float64) {
	pause := time.Duration(lot*float64(w.pause)) + 1
	w.state, w.flight = paused, nil
	w.due = now.Add(min(pause, w.End.Sub(now)/2)) //nolint:mnd // half
	w.pause = min(2*w.pause, w.Pause)
	p.paused = append(p.paused, w)
}

// leave makes a flight of the writes.
func (p *Planner) leave(now time.Time, writes []*Write, isCounted bool) *Flight {
	f := newFlight(writes)
	f.Born, f.isCounted = now, isCounted

	if f.isProbe = f.IsShared() && !p.deniedUntil.IsZero(); f.isProbe {
		p.isProbing = true
		p.separate()
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

	writes = writes[0].alone()
	f := &writes[0].single
	*f = Flight{Writes: writes}

	return f
}

// alone returns the write as the only one of a flight.
func (w *Write) alone() []*Write {
	w.one[0] = w

	return w.one[:]
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
	for i, e := range list {
		if e == gone {
			copy(list[i:], list[i+1:])
			clear(list[len(list)-1:])

			return list[:len(list)-1]
		}
	}

	return list
}
