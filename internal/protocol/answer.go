package protocol

import (
	"errors"
	"time"

	"github.com/idemddb/go-idemddb/internal/record"
)

// ErrNoContent is a successful answer that lacks what was asked for. Something between the client and DynamoDB answered, or dropped the
// content, so the outcome is unknown.
var ErrNoContent = errors.New("the answer has no content")

// Outcome says what is known of a write after one try of it.
type Outcome int

// The outcomes.
const (
	Applied       Outcome = iota // it was written
	Refused                      // its condition was false: nothing was written
	Taken                        // an INSERT found an item of its key: nothing was written
	Unprocessed                  // DynamoDB did not process the request now, and wrote nothing
	Rejected                     // DynamoDB refused the request for another reason than its condition, and wrote nothing
	Invalid                      // the request can never succeed as it is
	Unknown                      // no answer, or one that leaves it open: it may have been written
	NotShared                    // it must be sent by a request of its own
	EffectRefused                // another item of its transaction was refused, or its record as it would be: nothing was written
)

// Answer is the answer to one try of a write.
type Answer struct {
	Outcome  Outcome
	Item     Item  // if it was applied: as it is now, for an UpdateItem, and as it was before, for a statement that returns it; if refused: what refused it
	Err      error // nil if it was applied
	IsShared bool  // it was a statement of a shared request

	Refusal *Refusal // if its effect was refused
}

// Step is what an answer asks for.
type Step int

// The steps.
const (
	Done   Step = iota // nothing: the write has its answer
	Other              // the other statement, at once
	Again              // the same once more, after a pause, unless the error is final
	Single             // a request of its own
)

// Try is what one try of a claim was made of.
type Try struct {
	*Claimant

	Tx    string // of a commit; "" for a claim
	Stamp Stamp
	IsNew bool // it was an INSERT
}

// ClaimAnswer is what the answer to a claim means.
type ClaimAnswer struct {
	Verdict   Verdict
	Held      Held           // if the claim was won
	Lease     time.Time      // the end of its lease
	TakenFrom string         // if it is a takeover: the traceparent of the claim before, or ""
	Found     *record.Stored // the record that answers in place of a claim
	Err       error          // why a record is unreadable, or what was refused
}

// ReadClaim returns what the answer to a try of a claim asks for, and if that is nothing, what it means.
func (t *Table) ReadClaim(try Try, a Answer) (Step, ClaimAnswer) {
	switch {
	case a.Outcome == Applied:
		return t.readWon(try, a)
	case a.Outcome == Refused && a.Item != nil:
		return Done, t.ReadFound(try, a.Item)
	case (a.Outcome == Taken || a.Outcome == Refused) && a.IsShared: // there is a record after all, or there is none
		return Other, ClaimAnswer{}
	case a.Outcome == Refused:
		return Done, ClaimAnswer{Verdict: Changed, Err: a.Err}
	default:
		return Again, ClaimAnswer{}
	}
}

// readWon reads the answer to a claim that was applied. A claim with a wrong fencing token could never be completed, so an answer from
// which the token does not follow is not accepted.
func (t *Table) readWon(try Try, a Answer) (Step, ClaimAnswer) {
	switch {
	case a.IsShared && try.IsNew:
		return Done, ClaimAnswer{Verdict: Won, Held: try.ClaimedNew(try.Stamp), Lease: try.Stamp.Lease}
	case len(a.Item) == 0:
		return Single, ClaimAnswer{}
	}

	rec, err := record.Read(a.Item, t.TTLAttribute)

	switch {
	case err != nil && a.IsShared: // a statement returns the old item, which cannot be read; a single request returns the new one
		return Single, ClaimAnswer{}
	case err != nil:
		return Done, ClaimAnswer{Verdict: Unreadable, Err: err}
	case a.IsShared: // the item is as it was before the claim
		held := Held{try.Partition, try.Token, *rec.Fence + 1, rec.Attempts + 1, *rec.Lease}

		return Done, ClaimAnswer{Verdict: Won, Held: held, Lease: try.Stamp.Lease, TakenFrom: t.takenFrom(&held, rec.Trace)}
	default:
		return Done, t.won(try, rec)
	}
}

// ReadFound says what an item means for a claim whose condition it made false.
func (t *Table) ReadFound(try Try, found Item) ClaimAnswer {
	rec, err := record.Read(found, t.TTLAttribute)
	if err != nil {
		return ClaimAnswer{Verdict: Unreadable, Err: err}
	}

	return t.Judge(try, rec)
}

// Judge is ReadFound for an item that is read already.
func (t *Table) Judge(try Try, found *record.Stored) ClaimAnswer {
	verdict := t.judge(try, found)
	if verdict == Won {
		return t.won(try, found)
	}

	return ClaimAnswer{Verdict: verdict, Found: found}
}

// won returns the claim whose record this is.
func (t *Table) won(try Try, rec *record.Stored) ClaimAnswer {
	held := Held{try.Partition, try.Token, *rec.Fence, rec.Attempts, rec.Previous}

	return ClaimAnswer{Verdict: Won, Held: held, TakenFrom: t.takenFrom(&held, rec.PreviousTrace), Lease: rec.Until()}
}

func (t *Table) takenFrom(held *Held, trace string) string {
	if !t.IsTraced || held.Previous == 0 {
		return ""
	}

	return trace
}
