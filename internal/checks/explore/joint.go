package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/dbitem"
	"github.com/idemddb/go-idemddb/internal/planner"
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/record"
)

// joint returns what the commit of a writer needs of its transaction; nil for a writer who claims its key.
func (w *writer) joint() *planner.Joint {
	if w.w.items == "" {
		return nil
	}

	if w.w.isAdded {
		return &planner.Joint{Items: []planner.Item{{Key: w.item, As: protocol.AsOf(nil, nil)}}}
	}

	return &planner.Joint{Items: []planner.Item{{Key: w.item}}}
}

// part returns the next try of its commit. The id of the completing call is its name.
func (w *writer) part() protocol.Part {
	done := w.w.Completion(w.name, nil, nil, stamp.Now)
	w.last = protocol.Try{Claimant: &w.Claimant, Tx: w.name, Stamp: protocol.Stamp{Now: stamp.Now}}

	part := protocol.Part{Record: w.w.Part(w.w.Commit(&w.Claimant, &done))}

	if w.w.isAdded {
		n, _ := dbitem.ParseNumber(strconv.Itoa(w.added))
		part.Adds = []protocol.Addition{{
			Table: tableName, Key: w.w.Key(w.item), Values: map[string]*dbitem.Number{"n": n}, Item: w.item, As: protocol.AsOf(nil, nil),
		}}
	} else {
		part.Effects = []types.TransactWriteItem{{Update: &types.Update{
			TableName: new(tableName), Key: w.w.Key(w.item), UpdateExpression: new("ADD n :one"),
			ExpressionAttributeValues: protocol.Item{":one": record.Number(1)},
		}}}
	}

	return part
}

// conflict returns the answer to a transaction if another one holds the item of a write.
func (f *flight) conflict(held int) []protocol.Cancelled {
	items := f.joined.Items()
	reasons := make([]types.CancellationReason, len(items))

	for i, it := range items {
		reasons[i].Code = new("None")

		if key, ok := it.Update.Key["pk"].(*types.AttributeValueMemberS); ok && key.Value == writerOf(f.Writes[held]).item {
			reasons[i].Code = new("TransactionConflict")
		}
	}

	return cancelled(f.joined, reasons)
}

// landJoint ends a transaction that is under way.
func (w *world) landJoint(f *flight, e event) {
	var parts []protocol.Cancelled

	whole := protocol.Answer{Err: errFault}

	switch e.kind {
	case losesRequest:
		w.tellf("the transaction of %s is lost", f.of)
		w.lost = append(w.lost, f.request)
		whole.Outcome = protocol.Unknown
	case losesAnswer:
		w.tellf("the transaction of %s arrives, and its answer is lost", f.of)
		w.sendJoint(f.request)
		whole.Outcome = protocol.Unknown
	case throttled:
		w.tellf("DynamoDB throttles the transaction of %s", f.of)
		whole.Outcome = protocol.Unprocessed
	case conflicts:
		w.tellf("DynamoDB cancels the transaction of %s: another one holds the item %s", f.of, writerOf(f.Writes[e.what]).item)
		parts = f.conflict(int(e.what))
	default:
		w.tellf("DynamoDB answers the transaction of %s", f.of)
		parts = w.sendJoint(f.request)
	}

	f.MayRepeat = parts == nil
	f.IsAnswered = whole.Outcome != protocol.Unknown && e.kind != conflicts

	if f.IsAnswered {
		f.Born = w.now.Add(-fixedT) // T stays as it is
	}

	follow := make([]planner.Answer, len(f.Writes))

	for i, write := range f.Writes {
		part := protocol.Cancelled{Answer: whole}
		if parts != nil {
			part = parts[i]
		}

		if follow[i] = planner.NotNow; f.Has(write) && writerOf(write).write == write {
			follow[i] = w.followJoint(f, writerOf(write), part, parts)
		}
	}

	w.closeGate(f)
	w.follow(f, follow)
}

// followJoint returns what follows from the answer to one write, as package engine does.
func (w *world) followJoint(f *flight, c *writer, part protocol.Cancelled, all []protocol.Cancelled) planner.Answer {
	next := c.read(part.Answer)
	f.HasMetEnded = f.HasMetEnded || part.Outcome == protocol.Refused
	hasCause := slices.ContainsFunc(all, func(other protocol.Cancelled) bool { return !other.IsInnocent })

	switch {
	case next != planner.NotNow:
		return next
	case len(part.Conflicts) > 0:
		f.Conflicts = append(f.Conflicts, c.item)

		return planner.Gated
	case part.IsInnocent && hasCause:
		if w.without == ruleGate { // the wrong driver takes the items of all for those that were held
			f.Conflicts = append(f.Conflicts, c.item)
		}

		return planner.AtOnce
	default:
		return next
	}
}

// closeGate notes what the rule of the gate says of a transaction that has landed, with the longest time for which the gate can
// be closed.
func (w *world) closeGate(f *flight) {
	if len(f.Conflicts) > 0 {
		w.hot[writerOf(f.Writes[w.held]).item] = w.now.Add(hotTime)
		w.opens = w.now.Add(gateTime)
	}
}

const (
	hotTime  = 64 * fixedT
	gateTime = 10 * fixedT
)

// isGated reports whether a write may stand behind the closed gate.
func (w *world) isGated(c *writer) bool { return w.opens.After(w.now) && w.hot[c.item].After(w.now) }

// areHot reports whether two writers write hot items.
func (w *world) areHot(one, other *writer) bool {
	return w.hot[one.item].After(w.now) && w.hot[other.item].After(w.now)
}

// isColdBehindGate reports whether a write waits although only the gate can hold it back, and it touches no hot item.
func (w *world) isColdBehindGate(c *writer) bool {
	return w.items != "" && w.opens.After(w.now) && !w.hot[c.item].After(w.now) && len(w.flights) == 0
}

// checkEffects checks that each effect has happened as often as a record says that it was committed.
func (w *world) checkEffects() {
	want := map[string]int{}

	broken := ruleProof
	if w.isAdded {
		broken = ruleAdditions
	}

	for _, c := range w.writers {
		if found, err := record.Read(w.contents.records[c.key], w.TTLAttribute); err == nil && found.State == record.Completed && *found.Token == c.name {
			want[c.item] += c.amount
		}
	}

	for item := range strings.SplitSeq(w.items, "") {
		got := 0
		if n, ok := w.contents.records[item]["n"].(*types.AttributeValueMemberN); ok {
			got, _ = strconv.Atoi(n.Value)
		}

		if item != "" && got != want[item] {
			w.violatef(broken, "the item %s has %d, and the completed records add up to %d", item, got, want[item])
		}
	}
}

// departJoint makes the transaction of a flight. One that is sent once more is as it was.
func (w *world) departJoint(sent *flight) {
	if before := w.repeated[sent.Flight]; before != nil {
		sent.request = *before
		w.tellf("  the transaction of %s leaves once more", sent.of)

		return
	}

	w.tellf("  a transaction of %s leaves", sent.of)
	w.checkRead(sent)

	sent.joined, sent.size = &protocol.Joined{}, len(sent.Writes)

	for _, write := range sent.Writes {
		c := writerOf(write)
		sent.joined.Take(c.part())
		sent.text += fmt.Sprintf("%s commits %d\n", c.name, c.added)
	}

	if w.without == ruleAdditions { // the wrong driver keeps the sum of the first flight, and sends it with whatever its first writer travels
		w.keepSum(sent)
	}

	w.repeated[sent.Flight] = &sent.request
}

// keepSum keeps the sum of a flight as the number of its first writer.
func (w *world) keepSum(sent *flight) {
	first := writerOf(sent.Writes[0])

	for _, write := range sent.Writes[1:] {
		c := writerOf(write)
		first.added, c.added = first.added+c.added, 0
	}
}

// sendJoint lets a transaction arrive.
func (w *world) sendJoint(r request) []protocol.Cancelled {
	a := w.arrive(r, w.contents)
	w.contents = a.after

	return a.parts
}

// gateLatest returns when a write behind the gate must have left.
func (w *world) gateLatest(c *writer, at time.Time) time.Time {
	if w.isGated(c) && w.opens.After(at) {
		return w.opens
	}

	return at
}
