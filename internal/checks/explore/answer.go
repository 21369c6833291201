package main

import (
	"slices"
	"time"

	"github.com/idemddb/go-idemddb/internal/planner"
	"github.com/idemddb/go-idemddb/internal/protocol"
)

// answers returns the answers to the writes of a request that ends in this way.
func (w *world) answers(f *flight, e event) []protocol.Answer {
	all := func(outcome protocol.Outcome) []protocol.Answer {
		list := make([]protocol.Answer, len(f.Writes))
		for i := range list {
			list[i] = protocol.Answer{Outcome: outcome, Err: errFault, IsShared: f.IsShared()}
		}

		return list
	}

	switch e.kind {
	case losesRequest:
		w.tellf("the request of %s is lost", f.of)
		w.lost = append(w.lost, f.request)

		return all(protocol.Unknown)
	case losesAnswer:
		w.tellf("the request of %s is applied, and its answer is lost", f.of)
		w.send(f.request)

		return all(protocol.Unknown)
	case throttled:
		w.tellf("DynamoDB throttles the request of %s", f.of)

		return all(protocol.Unprocessed)
	case denied:
		w.tellf("DynamoDB denies the shared request of %s", f.of)
		w.deny()

		return all(protocol.NotShared)
	case partThrottled:
		name := writerOf(f.Writes[e.what]).name
		w.tellf("DynamoDB answers the request of %s, but throttles the write of %s", f.of, name)
		w.processed(f)

		return slices.Insert(slices.Clone(w.send(f.without(int(e.what)))), int(e.what), all(protocol.Unprocessed)[0])
	default:
		w.tellf("DynamoDB answers the request of %s", f.of)
		w.processed(f)

		return w.send(f.request)
	}
}

func hasUnanswered(answers []protocol.Answer) bool {
	for _, a := range answers {
		if a.Outcome == protocol.Unprocessed || a.Outcome == protocol.Unknown {
			return true
		}
	}

	return false
}

func isDecisive(a protocol.Answer) bool {
	return a.Outcome == protocol.Applied || a.Outcome == protocol.Refused && a.Item != nil
}

// follow hands what follows from the answers to the planner.
func (w *world) follow(f *flight, follow []planner.Answer) {
	for i, write := range f.Writes {
		if c := writerOf(write); f.Has(write) {
			c.pause(w.now, follow[i])
			w.leaveGroup(c)
		}
	}

	for _, over := range w.planner.Land(w.now, f.Flight, follow, 1) {
		writerOf(over).end(unknown)
	}
}

// pause notes when the next try begins to wait.
func (w *writer) pause(now time.Time, answer planner.Answer) {
	if w.since = now; answer == planner.NotNow {
		w.since = now.Add(planner.FirstPause<<min(w.pauses, maxDoubled) + 1)
		w.pauses++
	}
}
