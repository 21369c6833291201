package protocol

import (
	"strconv"

	"github.com/idemddb/go-idemddb/internal/record"
)

// Verdict says what the record for which the condition of a claim was false means for the claimant.
type Verdict string

// The verdicts. The first three are about a record with the claimant's own token: an earlier try was applied, and its answer was
// lost.
const (
	Won       Verdict = "won"             // the claim is held
	Committed Verdict = "committed"       // the commit was applied
	Withdrawn Verdict = "withdrawn"       // the claim was won, and another claimant or an operator has released or completed it
	PastEnd   Verdict = "past its end"    // the record must be replaced by a new one
	Mismatch  Verdict = "another input"   // the key was used with another fingerprint
	Completed Verdict = "completed"       // the record answers
	Failed    Verdict = "failed"          // the key was ended for good
	InUse     Verdict = "held by another" // the lease of another claim is not over
	GivenUp   Verdict = "given up"        // the lease is over, and the key must be ended: GiveUpCause says why
	Changed   Verdict = "changed"         // the key could be claimed now: the record changed since the condition was false

	Unreadable Verdict = "unreadable" // the item is no record that this version knows
)

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

// judge returns what a record means for a try of a claim.
func (t *Table) judge(try Try, found *record.Stored) Verdict {
	now := try.Stamp.Now
	isHeld := !found.LeaseOver(now, t.ClockSkew)

	switch {
	case found.IsOwn(try.Token):
		return judgeOwn(try.Tx, found)
	case found.Expired(now) && (found.State != record.InProgress || found.Lease == nil || !isHeld):
		return PastEnd
	case !found.Matches(try.Fingerprint):
		return Mismatch
	case found.State == record.Completed:
		return Completed
	case found.State == record.Failed:
		return Failed
	case isHeld:
		return InUse
	case t.GiveUpCause(found) != "":
		return GivenUp
	default:
		return Changed
	}
}

func judgeOwn(tx string, found *record.Stored) Verdict {
	switch {
	case tx != "" && found.Tx == tx: // only a completion writes it
		return Committed
	case found.State == record.Failed:
		return Failed
	case found.State == record.InProgress && found.Lease != nil && *found.Lease > 0:
		return Won
	default:
		return Withdrawn
	}
}

// GiveUpCause says why a key whose lease is over may not be taken over. It returns "" if it may be.
func (t *Table) GiveUpCause(found *record.Stored) string {
	switch {
	case t.NoTakeover && *found.Lease != 0:
		return record.Cause("the lease of attempt "+strconv.Itoa(found.Attempts)+" ran out: outcome unknown, not taken over", found.Error)
	case t.MaxAttempts > 0 && found.Attempts >= t.MaxAttempts:
		return record.Cause("attempts used up", found.Error)
	default:
		return ""
	}
}
