package idemddb

import "slices"

// Every condition and update that is sent, and why each term is there. A test drops and flips the terms one by one and
// demands that the suite notices.
//
// What all of them share: no condition knows the table's time, DynamoDB has none to offer. A claim compares the record with
// the claimant's clock and gives the other ClockSkew; every write after a claim is fenced by token and fence alone, so that no
// clock, however wrong, lets two completions through.

// Aliases. The names of the key and of the TTL attribute are the user's and may be reserved words; ours are not.
const (
	namePK  = "#pk"
	nameExp = "#exp"
)

// condClaim lets exactly one claimant in.
//
//   - attribute_not_exists(#pk): the key is new. DynamoDB evaluates condition and write of one item as one step, so of any
//     number of racing claimants the first makes this false for all others.
//   - v = :v: a record of another format version means something that this code does not know; it is reported, never taken.
//   - st = :inprogress: a completed or failed key is never run again while its record lives.
//   - lease < :dead, :dead being now − ClockSkew: the holder trusts its lease by its own clock; the taker's may be ahead by
//     as much as ClockSkew, so it waits that much longer. 0, a released key, is below any :dead. Absent (a foreign writer):
//     the comparison is false and nobody takes it.
//   - #exp > :nowsec: past it the record is dead and old attributes must not be carried on; that path is a PutItem.
//   - own <> :mine: a late twin of this claim (an attempt that was given up and arrives after the claim was won and
//     released) would lock the released key again with a token that nobody holds. A twin that arrives after yet another
//     claim came and went finds that one's token instead: it can delay the key to the end of its own lease, measured from
//     when it was sent, as a claim whose answer is lost for good does. It can do no more, nobody completes with it.
const condClaim = "attribute_not_exists(" + namePK + ") OR (" + condAgain

// condAgain is condClaim for a record that is there.
const condAgain = "v = :v AND st = :inprogress AND lease < :dead AND " + nameExp + " > :nowsec AND own <> :mine"

// condReleased joins condClaim under Options.NoTakeover: only a key whose holder gave it back is claimed again, a lease that ran
// out is not.
const condReleased = " AND lease = :zero"

// condSameInput refuses another input under the same key. A record from before fingerprints were compared has none and
// matches every input: it can't be told, and refusing it would dead-letter the redeliveries of a deploy.
const condSameInput = " AND (attribute_not_exists(fp) OR fp = :fp)"

// condAttempts refuses the claim beyond Options.MaxAttempts; att counts the claims whose work began.
const condAttempts = " AND att < :max"

const condEnd = ")"

// updateClaim makes the record ours.
//
//   - fence rises with each claim. if_not_exists(fence, :nowms) starts it at the time, so that it rises across a deletion of
//     the record, too.
//   - prev keeps the lease that was found, 0 for a new or a released key. All right sides see the item as it was before the
//     update; so a claim whose reply was lost can still tell a takeover from a fresh start.
//   - att and born stay with the key from its first claim; err, the last failure, stays until a completion.
//   - exp is later than the lease by more than ClockSkew (expiry), so that the record can't die under its holder.
//
// Nothing of a result has to go: a record in progress has none.
const updateClaim = "SET v = :v, st = :inprogress, own = :mine, fence = if_not_exists(fence, :nowms) + :one," +
	" prev = if_not_exists(lease, :zero), lease = :lease, " + nameExp + " = :exp," +
	" att = if_not_exists(att, :zero) + :one, born = if_not_exists(born, :nowms)"

// updateAgain is updateClaim for a record that is there, in the form that PartiQL knows (no if_not_exists). It needs the
// attributes that every record of ours has; where a foreign one lacks them, the statement is refused as not valid, and the
// claim is made the single way.
const updateAgain = "SET v = :v, st = :inprogress, own = :mine, fence = fence + :one, prev = lease + :zero, lease = :lease, " +
	nameExp + " = :exp, att = att + :one"

// A new record in a group is an INSERT of all that updateClaim would set. It is the same write: refused as soon as there is an
// item, whose ever, so that of an INSERT and any other claim one wins. A late twin of it finds an item for as long as the
// record lives. After that it makes one with the lease and the token of long ago, which the next claim takes over.

const (
	updateSetFP  = ", fp = :fp"
	updateDropFP = " REMOVE fp" // an old fingerprint must not judge the input of this claim
)

// condRenew guards the PutItem of a whole new record over one that is past its retention: compare-and-set on all that a
// write of somebody else would have changed. own and fence change with a claim. exp changes with a completion, a failure and
// an extension of the claim that was seen: without it, a completion that lands between our look and our write would be
// erased. A record that TTL deleted meanwhile refuses, too (no attribute), and the claim begins anew.
const condRenew = "own = :own AND fence = :fence AND " + nameExp + " = :exp"

// condHeld fences complete and fail: the record is as our claim left it.
//
//   - own = :mine: nobody has claimed the key since. It is false on a record that is gone, so that nothing is created anew.
//   - fence = :fence: together with own this is one claim, whatever tokens do.
//   - st = :inprogress: the claim is not completed or failed; of two completions the second is refused.
//   - lease > :zero: a late twin of a write must not revive a key that was released.
//
// There is no time in it: work that outlived its lease and found no taker is accepted.
const condHeld = condOwn + " AND lease > :zero"

// condOwn fences a release. It is condHeld without the lease: releasing what is released leaves the same item.
const condOwn = "own = :mine AND fence = :fence AND st = :inprogress"

// condExtend is condHeld, and the lease only grows: a late twin of an earlier extension would take back what a later one
// has promised to the holder.
const condExtend = condHeld + " AND lease < :lease"

// condGiveUp guards the step from INPROGRESS to FAILED that a claimant takes for a holder that is gone: compare-and-set on
// the claim that was seen, and still only after its lease (an extension changes neither token nor fence).
const condGiveUp = "own = :mine AND fence = :fence AND st = :inprogress AND lease < :dead"

// condFailed guards Reopen: only a failed key of our version goes back, and only the failure that was seen: a late twin must
// not open a key that has failed again.
const condFailed = "v = :v AND st = :failed AND own = :own AND fence = :fence"

// Each of these sets and none counts, so that applied twice it leaves the same item.
const (
	updateComplete  = "SET st = :completed, done = :nowms, " + nameExp + " = :exp"
	updateSetResult = ", res = :res"
	updateDropError = " REMOVE err"

	updateFail   = "SET st = :failed, " + nameExp + " = :exp, err = :err"
	updateExtend = "SET lease = :lease, " + nameExp + " = :exp"

	updateRelease  = "SET lease = :zero"
	updateSetError = ", err = :err"
	updateUnused   = ", att = :att"

	// What was taken over and not begun: the next claim must know that somebody's lease ran out. Below 0 is released as 0 is,
	// and is not 0.
	updateReturn = "SET lease = :returned" + updateUnused

	// The fence rises, though nobody claims: a late twin of the write that ended the key (condGiveUp) finds another one.
	updateReopen = "SET st = :inprogress, fence = :next, lease = :zero, att = :zero, " + nameExp + " = :exp"
)

// expressions are the strings of one Store, put together once.
type expressions struct {
	claim, claimFP string // conditions, without and with a fingerprint
	again, againFP string // the same for a record that is there

	insert, insertFP     string   // statements
	inserted, insertedFP []string // the attributes of their parameters

	names     map[string]string // expression attribute names, shared by all requests: never written
	nameOfExp map[string]string // the same for those that do not name the key
}

func newExpressions(table string, o *Options) expressions {
	limits := ""
	if o.NoTakeover {
		limits += condReleased
	}

	if o.MaxAttempts > 0 {
		limits += condAttempts
	}

	inserted := []string{
		o.PartitionKey, o.TTLAttribute, attrVersion, attrState, attrToken, attrFence, attrPrevious, attrLease, attrAttempts, attrBorn,
	}
	if o.SortKey != "" {
		inserted = append(inserted, o.SortKey)
	}

	insertedFP := append(slices.Clone(inserted), attrFingerprint)

	return expressions{
		insert: insertStatement(table, inserted), inserted: inserted,
		insertFP: insertStatement(table, insertedFP), insertedFP: insertedFP,
		claim:     condClaim + limits + condEnd,
		claimFP:   condClaim + limits + condSameInput + condEnd,
		again:     condAgain + limits,
		againFP:   condAgain + limits + condSameInput,
		nameOfExp: map[string]string{nameExp: o.TTLAttribute},
		names:     map[string]string{namePK: o.PartitionKey, nameExp: o.TTLAttribute},
	}
}
