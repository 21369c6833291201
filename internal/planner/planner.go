// Package planner says which writes of a process travel together, in which request, when, and when again. It sends nothing and
// has no clock, no goroutine and no client: the time and the jitter of its pauses are arguments, and what is to be done comes
// back as data. So tables test each rule, and a program visits every order of events. Package engine drives it.
//
// A write is a conditional write of one record with all of its tries. A flight is one request with the writes that travel in it.
// T is how long a flight takes, as the type estimate measures it. The rules:
//
//  1. Alone. A write for which nothing is under way or announced leaves at once.
//  2. Together. While a flight is under way, a write waits until none is, until a flight is full, or for a third of T, whichever
//     comes first. At most eight flights are under way. A flight that takes longer than 100 ms is neither waited for nor counted.
//     A flight takes the oldest write of each group in turn, so that a group with many writes does not keep another one waiting.
//     What a group announces delays the writes of that group only: claims that are announced by at most 10 ms, writes while
//     other members of the group are at work by at most 0.2 ms, and a transaction with Joint.Hold by at most that long, until
//     the group is flushed. A removal of messages that are sent waits for the rest of its group, by at most 0.1 s, because
//     nothing but the end of the group waits for it; in a group with an order it waits as other writes do. An urgent extension
//     waits for none of them.
//  3. A write belongs to itself. If its answer is "not now", it waits its own pause and takes whichever flight leaves then. The
//     others have their answers at once. After three flights that DynamoDB has answered for others and not for it, it travels
//     alone.
//  4. Ends. A flight has a third of the time until the last end of its writes, at least 100 ms and at most 2 s. A write whose end
//     comes or whose caller leaves is in no flight from then on.
//  5. Limits. A flight has at most 25 writes, 100 items and 4 MB, and a record or another item once; an item that writes only add
//     to, and under the same condition, is one item of the flight for all of them. Large values travel alone, or not with many
//     others. If a flight is refused as a whole, each of its writes travels alone, once: nobody waits for it, and it waits for
//     nobody.
//  6. No conflict with oneself. Two flights under way do not hold the same item, unless one of them has been under way for longer
//     than 4 T. An extension gives way to a write of its group that settles the same record, unless it is urgent.
//  7. The gate. A conflict names its items: each is hot for 64 T. All waiting writes of a process that touch a hot item stand
//     behind one gate. A conflict closes it for 5 T to 10 T. It is closed for a shorter time if a write of the flight has been
//     sent often: T to 2 T after four tries, 2 T to 4 T after five, and so on. Then the writes behind it leave, one flight of hot
//     items at a time. The first flight touches at most half as many hot items as the one that met the conflict, and each flight
//     without a conflict lets the next one touch two more: a cancelled transaction is charged for all its items, and fewer hot
//     items mean fewer conflicts. Writes that touch no hot item leave at once, together. A conflict on a record alone is its
//     write's own pause.
//  8. A transaction without an answer, or throttled as a whole, is sent once more as it was, while all its callers wait. One in
//     progress is asked for until that ends. A write without a record is sent as it was to its end, alone. After the second
//     try, and after every other answer, the writes that are not done are regrouped.
//  9. Denied. After shared requests were denied, all writes that travel as statements travel alone for five minutes. Then one
//     flight probes, and its answer renews or ends the memory. After the reads of rule 10 were denied, none is made for as long,
//     and then one is.
//  10. Read first. After a record was met that answers a write of a transaction, because its key had ended before, the next ten
//     transactions of several writes are preceded by one read of their records: a transaction that a record cancels is charged
//     for all of its items. The flight goes on without the writes that the read has answered. A flight is not read first if all
//     of its writes were just in a transaction that other writes cancelled: that answer has shown that their records do not stand
//     in the way.
//
// Statements and transactions do not travel together: each has its own T, and waits for its own flights.
package planner

import (
	"slices"
	"time"
)

// Planner is the state of all writes of a process. Its zero value is ready. Its methods are not safe for concurrent use.
type Planner struct {
	IsSingle bool // no requests are shared

	times [lanes]estimate
	gate  gate

	groups  [lanes][]*Group // that have writes which wait, in turn
	alone   []*Write        // that wait and travel alone
	paused  []*Write
	flights []*Flight          // under way, or sent once more soon
	held    map[string]*Flight // by record and item: the last flight that has it
	next    load               // the writes that would leave next
	nextEnd time.Time          // not after the first end of all writes; zero if there is none
	wake    time.Time          // the first time that the last call of depart has noted
	number  int

	denied [lanes]denial // of shared statements, and of the reads before transactions
	reads  int           // how many of the next transactions of several writes are preceded by a read
}

// Submit hands in a write. It returns the write's flight if it leaves at once and alone; else the write leaves with a flight of
// Ready.
func (p *Planner) Submit(now time.Time, w *Write) *Flight {
	p.number++
	w.number, w.pause, w.since = p.number, FirstPause, now
	w.items = append(w.first[:0], Item{Key: w.Record})
	w.Group.counts(w, 1)

	if w.Joint != nil {
		w.lane, w.items = transactions, append(w.items, w.Joint.Items...)
	}

	isAlone, isGated := w.travelsAlone(p, now), p.gate.opens.After(now)

	if len(p.flights)+len(p.groups[w.lane]) == 0 && !isGated && w.Group.lingerOf(w) == 0 {
		return p.leave(now, w.alone(), !isAlone)
	}

	p.queue(now, w, isAlone)

	return nil
}

func (w *Write) travelsAlone(p *Planner, now time.Time) bool {
	return w.IsAlone || w.lane == statements && !p.Shares(now)
}

// Shares reports whether writes share requests now. After a denial was forgotten, the writes that come while one flight probes
// travel alone.
func (p *Planner) Shares(now time.Time) bool {
	return !p.IsSingle && p.denied[statements].isOver(now)
}

// isOver reports whether no denial is remembered, or whether it may be asked now if it still holds.
func (d *denial) isOver(now time.Time) bool { return !d.isProbing && now.After(d.until) }

// counts changes how many writes of the group have no answer.
func (g *Group) counts(w *Write, more int) {
	g.open += more

	if w.IsRemoval {
		g.removals += more
	}
}

// lingerOf returns how long a write waits for others of the group.
func (g *Group) lingerOf(w *Write) time.Duration {
	switch {
	case w.Joint != nil && w.Joint.Hold > 0:
		return w.Joint.Hold
	case w.IsRemoval && !g.IsOrdered && max(g.open, g.Members) > g.removals:
		return min(removalTime, w.End.Sub(w.since)/2)
	case w.Joint == nil && g.Expected > 0:
		return expectTime
	case g.Members > g.open:
		return lingerTime
	default:
		return 0
	}
}

// Land takes the answers to the writes of a flight, in their order. Those that have left do not count. jitter is between 0 and 1,
// and says how much of its longest pause a write waits; the writes of one flight have the same, so that those that wait equally
// long leave together. Land returns the writes that are not sent again although they were not answered: their time is over.
func (p *Planner) Land(now time.Time, f *Flight, answers []Answer, jitter float64) (over []*Write) {
	if f.isProbe {
		p.denied[f.lane].isProbing, f.isProbe = false, false
	}

	if f.HasMetEnded {
		p.reads = readFor
	}

	if f.IsAnswered && len(f.Conflicts) == 0 { // a conflict is answered at once
		p.times[f.lane].add(now.Sub(f.Born))
	}

	if f.repeatsAfter(answers) {
		return p.repeat(now, f, answers, jitter)
	}

	if f.lane == transactions {
		p.gate.land(now, f, p.times[transactions].t(), jitter)
	}

	l := landing{now, jitter, slices.Contains(answers, Done)}
	p.takeOff(f)

	for i, answer := range answers {
		if w := f.Writes[i]; w.flight == f && !p.landed(l, w, answer) {
			over = append(over, w)
		}
	}

	return over
}

// Withdraw ends a write whose caller leaves, whatever state it is in. If it is under way and no other write of its flight is
// awaited, the flight is to be cancelled.
func (p *Planner) Withdraw(w *Write) { p.end(w) }

// Deny notes that shared requests are denied. It returns false if that is known.
func (p *Planner) Deny(now time.Time) (isNew bool) {
	p.separate()

	return p.denied[statements].note(now)
}

// Processed notes that DynamoDB has processed a shared flight of statements, or the read before a transaction. If it was the one
// that probes, the denial is forgotten.
func (p *Planner) Processed(f *Flight) {
	if f.isProbe {
		p.denied[f.lane].until = time.Time{}
	}
}

// leave makes a flight of the writes.
func (p *Planner) leave(now time.Time, writes []*Write, isCounted bool) *Flight {
	f := newFlight(writes)
	f.Born, f.isCounted = now, isCounted

	f.lane = writes[0].lane

	if f.isProbe = f.IsShared() && f.lane == statements && p.denied[statements].probe(); f.isProbe {
		p.separate()
	}

	if f.lane == transactions && f.IsShared() {
		f.ReadsFirst = p.readsFirst(now, f)
	}

	p.hold(f)

	end := writes[0].End

	for _, w := range f.Writes {
		w.state, w.flight, w.hasLeft = flying, f, true

		if w.End.After(end) {
			end = w.End
		}
	}

	f.Limit = Limit(end.Sub(now))
	p.flights = append(p.flights, f)

	return f
}

// Limit returns how long a try may take when there is this much time left for all.
func Limit(left time.Duration) time.Duration { return min(MaxTry, max(minTry, left/tryPart)) }

// hold notes which items are in a flight that leaves.
func (p *Planner) hold(f *Flight) {
	if p.held == nil {
		p.held = map[string]*Flight{}
	}

	for _, w := range f.Writes {
		for _, item := range w.items {
			p.held[item.Key] = f
		}
	}
}

// takeOff takes a flight off the list of those under way.
func (p *Planner) takeOff(f *Flight) {
	p.flights = slices.DeleteFunc(p.flights, func(other *Flight) bool { return other == f })

	for _, w := range f.Writes {
		p.release(f, w)
	}
}

// release notes that a flight has the items of one of its writes no longer.
func (p *Planner) release(f *Flight, w *Write) {
	for _, item := range w.items {
		if p.held[item.Key] == f {
			delete(p.held, item.Key)
		}
	}
}

// landing is the end of a flight. It is the same for all of its writes.
type landing struct {
	now        time.Time
	jitter     float64 // as for Land
	isAnswered bool    // DynamoDB has answered one of the writes
}

// landed takes the answer to one write. It returns false if the write has no answer and its time is over.
func (p *Planner) landed(l landing, w *Write, answer Answer) bool {
	w.tries++
	w.isSeen = answer == AtOnce

	switch answer {
	case Done:
		p.end(w)

		return true
	case AtOnce, Gated:
		p.wait(l.now, w)

		return true
	case AloneNow:
		w.IsAlone = true
		p.wait(l.now, w)

		return true
	case NotNow, Rejected:
	}

	if w.isOver(l.now, answer) {
		p.end(w)

		return false
	}

	if l.isAnswered { // DynamoDB has answered others, so this one has a problem with its own key
		w.passedOver++
		w.IsAlone = w.passedOver >= maxPassedOver
	}

	p.rest(l.now, w, l.jitter)

	return true
}

// rest makes a write pause. A pause is at most half of the time that is left, so that tries go on until the end.
func (p *Planner) rest(now time.Time, w *Write, jitter float64) {
	w.state, w.flight, w.due = paused, nil, w.nextTry(now, jitter)
	p.paused = append(p.paused, w)
}

// nextTry returns when the next try is made.
func (w *Write) nextTry(now time.Time, jitter float64) time.Time {
	pause := min(time.Duration(jitter*float64(w.pause))+1, w.End.Sub(now)/2)
	w.pause = min(2*w.pause, w.Pause)

	return now.Add(pause)
}

// isOver reports whether the time of a write is over that has no answer.
func (w *Write) isOver(now time.Time, answer Answer) bool {
	if answer != Rejected {
		w.denied = time.Time{}
	} else if w.denied.IsZero() {
		w.denied = now
	}

	return answer == Rejected && now.Sub(w.denied) >= w.Denied || w.End.Sub(now) < lastTry
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
	w.Group.counts(w, -1)
}

// IsShared reports whether the flight is a request of several writes, or left as one.
func (f *Flight) IsShared() bool { return f.isShared }

// Has reports whether a write still travels in the flight: its caller waits for it.
func (f *Flight) Has(w *Write) bool { return w.flight == f }

// repeatsAfter reports whether the flight is sent once more as it was.
func (f *Flight) repeatsAfter(answers []Answer) bool {
	if f.lane != transactions || len(f.Writes) == 0 || !f.isComplete() {
		return false
	}

	if f.Writes[0].Joint.IsUnrecorded {
		return answers[0] != Done
	}

	return f.IsInProgress || f.MayRepeat && f.repeats == 0
}

// newFlight returns a flight of these writes. One that is alone has its own room, so that it costs no allocation.
func newFlight(writes []*Write) *Flight {
	if len(writes) > 1 {
		return &Flight{Writes: slices.Clone(writes), isShared: true}
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

// add counts a flight that was answered.
func (e *estimate) add(took time.Duration) {
	e.last[e.n%len(e.last)] = min(took, longestT)
	e.n++

	sorted := e.last
	known := sorted[:min(e.n, len(sorted))]
	slices.Sort(known)
	e.median = max(shortestT, known[len(known)/2])
}

// IsAwaited reports whether a caller waits for the flight.
func (f *Flight) IsAwaited() bool { return slices.ContainsFunc(f.Writes, f.Has) }
