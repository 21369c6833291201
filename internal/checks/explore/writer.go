package main

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/planner"
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/record"
)

// phase says what a writer does.
type phase int

const (
	ready      phase = iota // it will claim its key
	claiming                // its claim is with the planner
	holding                 // it has the claim, and will complete its key
	completing              // its completion is with the planner
	committing              // its commit is with the planner
	completed               // the key is completed, it says
	replayed                // the record answers, it says
	refused                 // another writer has the key, it says
	unknown                 // its caller has left, or its time was over
)

var phaseNames = [...]string{
	"is ready", "claims", "has the claim", "completes", "commits", "has completed the key", "has the answer of a completed record",
	"is refused, because another writer has the key", "has no answer",
}

// writer is a caller who claims a key and completes it. It makes the tries of its writes and reads their answers as package
// idemddb does.
type writer struct {
	protocol.Claimant

	w      *world
	name   string
	key    string
	item   string // that the effect of its commit changes
	amount int    // that the effect adds
	added  int    // the amount that its next try adds: the same, but for a wrong driver
	group  *planner.Group

	phase  phase
	write  *planner.Write // nil if it has none
	number int            // of its write, as the planner counts
	since  time.Time      // when its write began to wait, or will, after its pause
	pauses int            // of its write

	isInsert bool          // its next statement is an INSERT
	turns    int           // how often it had another statement
	last     protocol.Try  // of its claim
	held     protocol.Held // if it has the claim
}

// maxTurns is how often a claim tries the other statement before it travels alone.
const maxTurns = 3

func (w *writer) isClaim() bool { return w.phase == claiming }

// completion returns what its completion writes.
func (w *writer) completion() protocol.Write {
	done := w.w.Completion("", nil, nil, stamp.Now)

	return w.w.Complete(&w.held, &done)
}

// request returns its next try as a request of its own.
func (w *writer) request() protocol.Request {
	if !w.isClaim() {
		return protocol.Request{Update: w.w.Update(w.completion(), types.ReturnValueUpdatedNew)}
	}

	w.last = protocol.Try{Claimant: &w.Claimant, Stamp: stamp, IsNew: w.isInsert}

	return protocol.Request{Update: w.w.Update(w.w.Claim(&w.Claimant, stamp), types.ReturnValueAllNew)}
}

// statement returns its next try as a statement of a shared request.
func (w *writer) statement() types.BatchStatementRequest {
	if !w.isClaim() {
		return w.w.Statement(w.completion())
	}

	w.last = protocol.Try{Claimant: &w.Claimant, Stamp: stamp, IsNew: w.isInsert}

	return w.w.ClaimStatement(&w.Claimant, stamp, w.isInsert)
}

// read takes the answer to its last try.
func (w *writer) read(a protocol.Answer) planner.Answer {
	switch {
	case a.Outcome == protocol.NotShared:
		return planner.AloneNow
	case a.Outcome == protocol.Unknown && w.w.without == ruleProof: // the wrong driver takes silence for success
		return w.believe()
	case w.phase == committing:
		return w.readCommit(a)
	case w.isClaim():
		return w.readClaim(a)
	default:
		return w.readCompletion(a)
	}
}

func (w *writer) believe() planner.Answer {
	if w.isClaim() {
		w.held = w.ClaimedNew(stamp)
		w.end(holding)
	} else {
		w.end(completed)
	}

	return planner.Done
}

func (w *writer) readClaim(a protocol.Answer) planner.Answer {
	step, meaning := w.w.ReadClaim(w.last, a)

	switch step {
	case protocol.Done:
		w.held = meaning.Held
		w.endAs(meaning.Verdict, map[protocol.Verdict]phase{protocol.Won: holding, protocol.Completed: replayed, protocol.InUse: refused})

		return planner.Done
	case protocol.Other:
		if w.turns++; w.turns == maxTurns {
			return planner.AloneNow
		}

		w.isInsert = a.Outcome != protocol.Taken

		return planner.AtOnce
	case protocol.Single:
		return planner.AloneNow
	default:
		return planner.NotNow
	}
}

func (w *writer) readCompletion(a protocol.Answer) planner.Answer {
	switch a.Outcome {
	case protocol.Applied:
		w.end(completed)

		return planner.Done
	case protocol.Refused:
		found, err := record.Read(a.Item, w.w.TTLAttribute)
		if err != nil || !w.held.Matches(found) || found.State != record.Completed {
			w.w.violatef(ruleProof, "the completion of %s is refused, although it has the claim", w.name)
		}

		w.end(completed)

		return planner.Done
	default:
		return planner.NotNow
	}
}

// end ends its write.
func (w *writer) end(p phase) {
	w.phase, w.write = p, nil
	if p == holding && w.w.isClaimed {
		w.phase = completed
	}
}

// endAs ends its write as one of these verdicts says. No other one can be.
func (w *writer) endAs(verdict protocol.Verdict, phases map[protocol.Verdict]phase) {
	w.end(phases[verdict])

	if w.phase == ready {
		w.w.violatef(ruleProof, "%s reads the verdict %q, which cannot be", w.name, verdict)
	}
}

// hasLeft reports whether it will not write any more.
func (w *writer) hasLeft() bool { return w.phase >= completed }

func (w *writer) readCommit(a protocol.Answer) planner.Answer {
	switch a.Outcome {
	case protocol.Applied:
		w.end(completed)

		return planner.Done
	case protocol.Refused:
		verdict := w.w.ReadFound(w.last, a.Item).Verdict
		w.endAs(verdict, map[protocol.Verdict]phase{protocol.Committed: completed, protocol.Completed: replayed})

		return planner.Done
	default:
		return planner.NotNow
	}
}
