package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/idemddb/go-idemddb/internal/planner"
	"github.com/idemddb/go-idemddb/internal/protocol"
)

const (
	longestPause = time.Second
	maxDoubled   = 5           // so often a pause doubles until it is the longest
	heldTime     = 4 * fixedT  // for so long a request holds its records
	thirdOfT     = fixedT / 3  // for so long a write waits behind others
	announced    = 10 * millis // for so long it waits for writes of its group
	fixedT       = 5 * millis
	millis       = time.Millisecond
	deniedTime   = 5 * time.Minute
)

var (
	begin = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	stamp = protocol.Stamp{Now: begin, Lease: begin.Add(longAfter)} // the clock of all writers stands still

	errFault = errors.New("a fault of the exploration")
)

// world is one state.
type world struct {
	*table

	contents  *contents
	without   rule
	planner   planner.Planner
	now       time.Time
	wakeAt    time.Time // when the planner wants to be called
	writers   []*writer
	flights   []*flight // under way, the oldest first
	lost      []request // that may still arrive
	faults    int       // that may still happen
	leaving   int       // callers that may still leave
	sleeping  int       // how often the timer may still be late
	isLate    bool      // it is late
	number    int       // of the last write
	deniedTil time.Time // what the driver knows of the denial; zero for nothing

	repeated map[*planner.Flight]*request // the transactions
	hot      map[string]time.Time         // what the driver knows of the gate
	opens    time.Time
	held     int8 // which write of the last transaction met a conflict

	violation string
	isTold    bool
	told      []string
}

func (t *table) newWorld(without rule) *world {
	w := &world{table: t, contents: t.empty, without: without, now: begin, faults: t.faults, leaving: t.leaves, sleeping: t.sleeps}
	w.repeated, w.hot = map[*planner.Flight]*request{}, map[string]time.Time{}
	invocation := &planner.Group{}

	if t.isGroup {
		invocation.Expected = len(t.keys)
	}

	for i, key := range strings.Split(t.keys, "") {
		c := &writer{w: w, name: fmt.Sprintf("writer %d", i+1), key: key, group: &planner.Group{}}
		if t.items != "" {
			c.item, c.amount = t.items[i:i+1], 1
		}

		if t.isAdded {
			c.amount = 1 << i // each set of writers has another sum
		}

		c.added = c.amount

		if c.Claimant = (protocol.Claimant{Partition: key, Token: c.name}); t.isGroup {
			c.group = invocation
		}

		w.writers = append(w.writers, c)
	}

	if t.isMet {
		w.meet()
	}

	if t.isDenied {
		w.deny()
		w.now = begin.Add(deniedTime + 1)
	}

	return w
}

// flight is a request that is under way.
type flight struct {
	*planner.Flight
	request

	isReading bool // the records are read first
}

func writerOf(w *planner.Write) *writer {
	c, _ := w.Handle.(*writer)

	return c
}

// namesOf returns the names of the writers of a flight.
func namesOf(f *planner.Flight) string {
	names := make([]string, len(f.Writes))
	for i, write := range f.Writes {
		names[i] = writerOf(write).name
	}

	return strings.Join(names, " and ")
}

// send lets a request arrive.
func (w *world) send(r request) []protocol.Answer {
	a := w.arrive(r, w.contents)
	w.contents = a.after

	return a.answers
}

func (w *world) deny() {
	if w.without != ruleProbe { // the wrong driver forgets it
		w.planner.Deny(w.now)
	}

	w.deniedTil = w.now.Add(deniedTime)
}

// processed notes that DynamoDB has processed a request.
func (w *world) processed(f *flight) {
	if !f.IsShared() {
		return
	}

	if w.planner.Processed(f.Flight); w.now.After(w.deniedTil) {
		w.deniedTil = time.Time{}
	}
}

func (w *world) isUnderWay(c *writer) bool {
	return slices.ContainsFunc(w.flights, func(f *flight) bool { return c.write != nil && f.Has(c.write) })
}

// endsBefore reports whether a request under way has no answer in time before this moment.
func (w *world) endsBefore(at time.Time) bool {
	return slices.ContainsFunc(w.flights, func(f *flight) bool { return f.Born.Add(f.Limit).Before(at) })
}

// meet lets the planner meet a record whose key has ended, of a writer who takes no part.
func (w *world) meet() {
	met := &planner.Write{
		Policy: planner.Policy{End: w.now.Add(time.Minute)}, Record: "met", Group: &planner.Group{}, Joint: &planner.Joint{},
	}

	f := w.planner.Submit(w.now, met)
	f.HasMetEnded = true
	w.planner.Land(w.now, f, []planner.Answer{planner.Done}, 1)

	w.number++
}

func (w *world) leaveGroup(c *writer) {
	if w.isGroup && c.hasLeft() {
		c.group.Members--
	}
}

func (w *world) tellf(format string, args ...any) {
	if w.isTold {
		w.told = append(w.told, fmt.Sprintf(format, args...))
	}
}

// violatef notes that the property of a rule is broken. Where a rule is dropped, only its own property counts.
func (w *world) violatef(r rule, format string, args ...any) {
	if w.violation == "" && (w.without == 0 || w.without == r) {
		w.violation = fmt.Sprintf("Rule %d is broken: %s.", r, fmt.Sprintf(format, args...))
	}
}
