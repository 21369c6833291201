package main

import (
	"fmt"

	"github.com/idemddb/go-idemddb/internal/planner"
)

func (w *world) departAll() {
	w.isLate = false

	ready := w.planner.Ready(w.now)
	w.wakeAt = ready.Wake

	for _, over := range ready.Over {
		c := writerOf(over)
		c.end(unknown)
		w.leaveGroup(c)
	}

	for _, f := range ready.Flights {
		w.depart(f)
	}
}

// depart sends a flight.
func (w *world) depart(f *planner.Flight) {
	sent := &flight{Flight: f, request: request{of: namesOf(f)}}
	w.checkDeparture(sent)

	switch {
	case f.ReadsFirst && w.without != ruleRead:
		w.departRead(sent)
	case w.items != "":
		w.departJoint(sent)
	case f.IsShared():
		w.tellf("  a shared request of %s leaves", sent.of)

		for _, write := range f.Writes {
			c := writerOf(write)
			statement := c.statement()
			sent.statements = append(sent.statements, statement)
			sent.text += fmt.Sprintf("%s %d %s\n", c.name, c.held.Fence, *statement.Statement)
		}
	default:
		w.tellf("  a request of %s leaves", sent.of)
		c := writerOf(f.Writes[0])
		sent.single = c.request()
		sent.text = fmt.Sprintf("%s %d alone %s\n", c.name, c.held.Fence, *sent.single.Update.UpdateExpression)
	}

	w.flights = append(w.flights, sent)
}
