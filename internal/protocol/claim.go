package protocol

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/record"
)

// Claimant is one call that claims a key, or commits it. All of its tries have the same.
type Claimant struct {
	Partition   string
	Token       string // the owner token: new for each call
	Fingerprint string // as stored; "" for none
	Trace       string // the traceparent of the run; "" for none
}

// formsOf returns the expressions for a claimant.
func (t *Table) formsOf(c *Claimant) *claimForms {
	if c.Fingerprint == "" {
		return &t.forms[0]
	}

	return &t.forms[1]
}

// MaxTurns is how often a write is made anew whose record changes between two requests.
const MaxTurns = 5

// Claiming is the write that claims a key, with all of its tries.
type Claiming struct {
	Claimant

	Table *Table
	Stamp func() Stamp // reads the clock for one try
	Tx    string       // of a commit: the id of the completing call; "" for a claim

	IsNew bool // in a shared request: as an INSERT, because there is probably no record
	Turns int  // how often the answer asked for the other statement
	Last  Stamp

	Answer ClaimAnswer // to the last try, if it asks for nothing
}

// Request returns the next try as a request of its own.
func (c *Claiming) Request() Request {
	c.Last = c.Stamp()

	return Request{Update: c.Table.Update(c.Table.Claim(&c.Claimant, c.Last), types.ReturnValueAllNew)}
}

// Statement returns the next try as a statement of a shared request.
func (c *Claiming) Statement() types.BatchStatementRequest {
	c.Last = c.Stamp()

	return c.Table.ClaimStatement(&c.Claimant, c.Last, c.IsNew)
}

// Read takes the answer to the last try.
func (c *Claiming) Read(answer Answer) (Step, error) {
	step, meaning := c.Table.ReadClaim(c.LastTry(), answer)

	switch step {
	case Done:
		c.Answer = meaning
	case Again:
		return Again, answer.Err
	case Other:
		if c.Turns++; c.Turns == MaxTurns {
			return Single, nil
		}

		c.IsNew = answer.Outcome != Taken
	case Single:
	}

	return step, nil
}

// LastTry returns what the last try was made of.
func (c *Claiming) LastTry() Try {
	return Try{Claimant: &c.Claimant, Tx: c.Tx, Stamp: c.Last, IsNew: c.IsNew}
}

// Claim returns the write that claims the key, whether there is a record or not.
func (t *Table) Claim(c *Claimant, s Stamp) Write {
	forms := t.formsOf(c)

	w := t.claim(c, s, form{forms.claim, forms.setClaim})
	w.values[":lease"], w.values[":exp"] = number(s.Lease.UnixMilli()), t.expiry(s)

	if t.IsTraced {
		w.values[":notrace"] = noTraceValue
	}

	return w
}

// Reject returns the write of a run that was not claimed and did not succeed. It is the claim with another update: the record has
// no lease, and its retention begins now.
func (t *Table) Reject(c *Claimant, s Stamp, cause string) Write {
	forms := t.formsOf(c)

	w := t.claim(c, s, form{forms.claim, forms.setReject})
	w.values[":err"], w.values[":exp"] = text(cause), t.expiry(Stamp{Now: s.Now, Lease: s.Now})

	return w
}

// MinCommitRetention is the least retention of a Store that commits without a claim. A late request of a commit is refused by the
// record while the record lives, and by DynamoDB once the signature of the request is too old: it accepts one for up to 15
// minutes. So a late request of the try that wrote the record never outlives it. A redelivery that is committed near the end of
// the retention is another matter: if its first try arrives late and its second try is answered by the record, Time to Live may
// delete that record before the first try arrives. That is why the retention must exceed the time of the last redelivery by the
// lifetime of a signature, as docs/time.md and idem check say.
const MinCommitRetention = time.Hour

// Commit returns the write that claims and completes the key. Its time is that of the completion.
func (t *Table) Commit(c *Claimant, done *record.Stored) Write {
	forms := t.formsOf(c)
	update := updateWith(done, updateCommit) + forms.endCommit

	w := t.claim(c, stampOf(done), form{forms.claim, update})
	t.addCompletion(w.values, c.Partition, done)

	return w
}

// claim returns a write with the condition of a claim, without the values that only its update uses.
func (t *Table) claim(c *Claimant, s Stamp, f form) Write {
	values := t.claimValues(c, s)
	values[":nowms"] = number(s.Now.UnixMilli())

	return Write{c.Partition, f, values}
}

// ClaimStatement returns the claim as a statement of a shared request. If isNew is true, it is an INSERT of a new record, which
// any record of the key refuses; else it takes a record that exists.
func (t *Table) ClaimStatement(c *Claimant, s Stamp, isNew bool) types.BatchStatementRequest {
	if isNew {
		return t.insertion(c, s)
	}

	values := t.claimValues(c, s)
	values[":lease"], values[":exp"] = number(s.Lease.UnixMilli()), t.expiry(s)

	return t.Statement(Write{c.Partition, form{t.formsOf(c).again, t.formsOf(c).setAgain}, values})
}

// insertion returns the statement that creates the record if there is none.
func (t *Table) insertion(c *Claimant, s Stamp) types.BatchStatementRequest {
	st := &t.formsOf(c).insert
	stored := t.newRecord(c, s, firstFence(s))

	parameters := make([]types.AttributeValue, len(st.parameters))
	for i, name := range st.parameters {
		parameters[i] = stored[name]
	}

	return types.BatchStatementRequest{Statement: &st.text, Parameters: parameters}
}

// claimValues returns the values for the placeholders that the condition of a claim and all of its updates use.
func (t *Table) claimValues(c *Claimant, s Stamp) Item {
	values := Item{
		":v":          versionValue,
		":inprogress": inProgressValue,
		":zero":       zeroValue,
		":one":        oneValue,
		":mine":       text(c.Token),
		":nowsec":     number(s.Now.Unix()),
		":dead":       number(s.Now.Add(-t.ClockSkew).UnixMilli()),
	}

	if t.MaxAttempts > 0 {
		values[":max"] = number(int64(t.MaxAttempts))
	}

	if c.Fingerprint != "" {
		values[":fp"] = text(c.Fingerprint)
		values[":fpver"] = fingerprintVersionValue
	}

	if t.IsTraced {
		values[":trace"] = text(c.Trace)
	}

	return values
}

// newRecord returns the item of a new record of this claim.
func (t *Table) newRecord(c *Claimant, s Stamp, fence int64) Item {
	stored := t.Key(c.Partition)
	stored[record.Version] = versionValue
	stored[record.State] = inProgressValue
	stored[record.Token] = text(c.Token)
	stored[record.Fence] = number(fence)
	stored[record.Previous] = zeroValue
	stored[record.Took] = zeroValue
	stored[record.Lease] = number(s.Lease.UnixMilli())
	stored[record.Attempts] = oneValue
	stored[record.Born] = number(s.Now.UnixMilli())
	stored[t.TTLAttribute] = t.expiry(s)

	if c.Fingerprint != "" {
		stored[record.Fingerprint] = text(c.Fingerprint)
	}

	if t.IsTraced {
		stored[record.Trace] = text(c.Trace)
		stored[record.PrevTrace] = noTraceValue
	}

	if t.NoTakeover {
		stored[record.NoTakeover] = oneValue
	}

	return stored
}

// ClaimedNew returns the claim of a key that had no record.
func (c *Claimant) ClaimedNew(s Stamp) Held { return Held{c.Partition, c.Token, firstFence(s), 1, 0} }

// firstFence returns the fencing token of a new record.
func firstFence(s Stamp) int64 { return s.Now.UnixMilli() + 1 }

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

// readWon reads the answer to a claim that was applied. A claim with a wrong fencing token could never be completed, so an answer
// from which the token does not follow is not accepted.
func (t *Table) readWon(try Try, a Answer) (Step, ClaimAnswer) {
	if a.IsShared && try.IsNew {
		return Done, ClaimAnswer{Verdict: Won, Held: try.ClaimedNew(try.Stamp), Lease: try.Stamp.Lease}
	}

	rec, err := record.Read(a.Item, t.TTLAttribute)

	switch {
	case err != nil && a.IsShared: // a statement returns the old item, which is missing or cannot be read; a single request returns the new one
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
