package main

import (
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/record"
)

// departRead sends the read before a transaction.
func (w *world) departRead(sent *flight) {
	w.tellf("  a read of the records of %s leaves", sent.of)

	sent.isReading = true

	for _, write := range sent.Writes {
		c := writerOf(write)
		c.last = protocol.Try{Claimant: &c.Claimant, Tx: c.name, Stamp: protocol.Stamp{Now: stamp.Now}}
		sent.statements = append(sent.statements, w.Look(c.key))
		sent.text += c.name + " reads\n"
	}
}

// landRead ends a read that is under way, and sends the transaction of those whom it has not answered.
func (w *world) landRead(f *flight, e event) {
	isAnswered := make([]bool, len(f.Writes))

	if f.isReading = false; e.kind != lands {
		w.tellf("the read of %s is lost", f.of)
	} else {
		w.tellf("DynamoDB answers the read of %s", f.of)

		for i, a := range w.send(f.request) {
			c := writerOf(f.Writes[i])
			if f.Has(f.Writes[i]) && c.write == f.Writes[i] && w.HasEnded(c.last, a.Item) {
				c.readCommit(protocol.Answer{Outcome: protocol.Refused, Item: a.Item})

				isAnswered[i] = true
			}
		}
	}

	w.planner.Read(w.now, f.Flight, isAnswered)

	if len(f.Writes) == 0 {
		w.planner.Land(w.now, f.Flight, nil, 1)

		return
	}

	f.request = request{of: namesOf(f.Flight), isUnread: e.kind != lands}
	w.departJoint(f)
	w.flights = append(w.flights, f)
}

// checkRead checks a transaction that leaves.
func (w *world) checkRead(f *flight) {
	if !f.ReadsFirst || f.isUnread {
		return
	}

	for _, write := range f.Writes {
		c := writerOf(write)
		if found, err := record.Read(w.contents.records[c.key], w.TTLAttribute); err == nil && found.State != record.InProgress {
			w.violatef(ruleRead, "the transaction of %s leaves, and %s had ended before", f.of, c.key)
		}
	}
}
