package protocol

// This file holds every condition and every update of a record that a worker sends, and above each the argument why it is safe;
// add.go holds those of the sums that travel beside records. A test drops and flips the terms one by one and demands that the
// suite notices.
//
// A late request is a try that its sender has given up, and that arrives nevertheless: the network or a queue has held it back.
// Its sender may have sent the same write again meanwhile, and other writes after it.
//
// All conditions share two rules. DynamoDB offers no server time, so a claim compares the record with the claimant's clock and
// leaves the holder ClockSkew of margin. Every write after a claim is fenced by the owner token and the fencing token alone, so
// no clock, however wrong, lets two completions through.

// Aliases for names that the user chooses and that may be reserved words. None of our own attribute names is reserved.
const (
	namePK  = "#pk"
	nameSK  = "#sk" // in statements only
	nameExp = "#exp"
)

// condClaim lets exactly one claimant in.
//
//   - attribute_not_exists(#pk): the key is new. DynamoDB evaluates the condition and the write of one item as one step, so of
//     any number of racing claimants the first makes this false for all others.
//   - v = :v: a record of another format version means something that this code cannot know. It is reported, never taken over.
//   - st = :inprogress: a completed or failed key never runs again while its record lives.
//   - lease < :dead, where :dead is now − ClockSkew: the holder trusts its lease by its own clock. The claimant's clock may be
//     ahead by ClockSkew, so the claimant waits that much longer. A released key has the lease 0 or −1, which is below any :dead.
//     If the attribute is absent (a foreign writer), the comparison is false and nobody takes the key over.
//   - #exp > :nowsec: past its retention the record is dead and its old attributes must not be kept; that path is a PutItem.
//   - own <> :mine: a late request of this claim may arrive after the claim was won and released. It would claim
//     the released key again with a token that nobody holds.
//
// One late request remains possible: a claim by worker A that arrives after worker B has claimed and released the key finds B's
// token, so it succeeds although A is gone. Nobody completes with it. It delays the key until the lease that A asked for ends,
// measured from when A sent it, and it counts one attempt. So with MaxAttempts it can use up the last attempt, and with
// NoTakeover it ends the key as FAILED once that lease has run out. A claim whose worker died right after it does the same.
const condClaim = "attribute_not_exists(" + namePK + ") OR (" + condAgain

// condAgain is condClaim for a record that exists.
const condAgain = "v = :v AND st = :inprogress AND lease < :dead AND " + nameExp + " > :nowsec AND own <> :mine"

// condReleased joins condClaim if Options.NoTakeover is set: only a key whose holder released it is claimed again. A lease that
// ran out is not taken over.
const condReleased = " AND lease = :zero"

// condSameInput refuses another input under the same key. Two kinds of records match every input, because they cannot be
// compared and a refusal would dead-letter the redeliveries of a deployment: those without a fingerprint, and those whose
// fingerprint was made by another version of the algorithm.
const condSameInput = " AND (attribute_not_exists(fp) OR fp = :fp OR NOT begins_with(fp, :fpver))"

// condAttempts refuses the claim beyond Options.MaxAttempts. The attribute att counts the claims whose work began.
const condAttempts = " AND att < :max"

const condEnd = ")"

// condUnsent guards the removal of messages that were sent: it is the outbox of the call that was read. It needs no fencing
// token, which the sender does not know after a Commit: tx belongs to one call. If the item is gone, has another tx or no outbox,
// another sender was faster.
const condUnsent = "own = :own AND tx = :tx AND st = :completed AND attribute_exists(outbox)"

// condParked is condUnsent for an operator who sends parked messages again.
const condParked = "own = :own AND tx = :tx AND st = :completed AND attribute_exists(parked)"

// updateClaim makes the record this claimant's.
//
//   - fence rises with each claim. if_not_exists(fence, :nowms) starts it at the current time, so that it also rises across a
//     deletion of the record.
//   - prev keeps the lease that was found, or 0 for a new or a released key. All right-hand sides see the item as it was before
//     the update, so a claim whose answer was lost can still tell a takeover from a fresh start.
//   - took adds up the leases that the claims of the record have found. It is 0 exactly if none of them took the key over and
//     nobody reopened it: a lease that was not released adds its end or -1, and a reopening takes 1 away. The ends of leases are
//     so much greater than the number of claims that a sum of both is never 0 again. It counts as att does, so a late request
//     that is applied adds what it has found, and no request is added twice: of two tries of one claim the second is refused by
//     own.
//   - att and born stay with the key from its first claim. err, the text of the last failure, stays until a completion.
//   - exp is later than the lease by more than ClockSkew (see expiry), so the record cannot be deleted while it is held.
//
// No part of a result has to be removed: a record in progress has none.
const updateClaim = "SET v = :v, st = :inprogress, own = :mine, fence = if_not_exists(fence, :nowms) + :one," +
	" prev = if_not_exists(lease, :zero)" + updateTook + ", lease = :lease, " + nameExp + " = :exp," +
	" att = if_not_exists(att, :zero) + :one, born = if_not_exists(born, :nowms)"

// updateTook is the part of each write that claims a key, whether there is a record or not. A record that an older version made
// has no took: it counts from the claim that finds it.
const updateTook = ", took = if_not_exists(took, :zero) + if_not_exists(lease, :zero)"

// updateAgain is updateClaim for a record that exists, in the form that PartiQL supports (it has no if_not_exists). It needs the
// attributes that every record of this package has. Where a foreign record or an older one lacks them, DynamoDB refuses the
// statement as invalid, and the claim is made by a request of its own.
const updateAgain = "SET v = :v, st = :inprogress, own = :mine, fence = fence + :one, prev = lease + :zero," +
	" took = took + lease, lease = :lease, " + nameExp + " = :exp, att = att + :one"

// In a shared request, the claim of a new key is an INSERT of all that updateClaim would set. It is the same write: DynamoDB
// refuses it as soon as any item has the key, so of an INSERT and any other claim exactly one wins. A late INSERT finds an item
// for as long as the record lives. After that it creates a record with an old lease and an old token, which the next claim takes
// over.

// Each write that claims a key also says what it knows of its input and of its holder: it sets these attributes, or it removes
// them (see claimEnd). What an earlier claim left must not judge the input of this one, nor say of its lease what is untrue.
//
// nt is there if Options.NoTakeover was set, so that whoever reads the record knows what happens when its lease runs out. No
// condition reads it: it is for people and for package operate.
const (
	updateSetFP = ", fp = :fp"
	updateSetNT = ", nt = :one"
)

// With Options.Trace, each write that claims a key keeps the traceparent of its run. No condition reads it. One update writes it
// with the owner token, so both belong to the same run, whichever try of whichever call was applied last. An empty text stands
// for none: it replaces the traceparent of an earlier run, which a replay must not be linked to.
//
// ptrace keeps the traceparent that a claim found, as prev keeps the lease, and for the same reason: the right-hand side is the
// item as it was before, so a takeover whose answer was lost can still tell whom it follows. Only the claim that wrote ptrace
// reads it. In PartiQL, the record must have a traceparent, perhaps an empty one. If it has none, DynamoDB refuses the statement
// as invalid, and the claim is made by a request of its own.
const (
	updateSetTrace       = ", trace = :trace"
	updateKeepTrace      = ", ptrace = if_not_exists(trace, :notrace)"
	updateKeepTraceAgain = ", ptrace = trace"
)

// condRecreate guards the PutItem of a whole new record over one that is past its retention. It is a compare-and-set on all that
// another write would have changed: own and fence change with a claim; exp changes with a completion, a failure and an extension
// of the claim that was read. Without exp, a completion that lands between our read and our write would be erased. If Time to
// Live has deleted the record meanwhile, the condition is false as well, and the claim begins anew.
const condRecreate = "own = :own AND fence = :fence AND " + nameExp + " = :exp"

// condHeld fences complete and fail: the record is as this claim left it.
//
//   - own = :mine: nobody has claimed the key since. It is false if the record is gone, so nothing is created anew.
//   - fence = :fence: together with own it identifies one claim, whatever tokens do.
//   - st = :inprogress: the claim is not completed or failed. Of two completions the second is refused.
//   - lease > :zero: a late request must not revive a key that was released.
//
// The condition does not name the time: work that outlived its lease is accepted if nobody has taken the key over.
const condHeld = condOwn + " AND lease > :zero"

// condOwn fences a release. It is condHeld without the lease, because releasing a released key leaves the same item.
const condOwn = "own = :mine AND fence = :fence AND st = :inprogress"

// condExtend is condHeld for a lease that only grows: a late request of an earlier extension would take back what a later one has
// promised to the holder.
const condExtend = condHeld + " AND lease < :lease"

// condMarkFailed guards the step from INPROGRESS to FAILED that a claimant makes for a holder that is gone. It is a
// compare-and-set on the claim that was read and on its lease: the claimant has compared that lease with its clock. An extension
// and a release change the lease, so neither a holder that renewed nor one that gave the key back is marked as failed.
const condMarkFailed = "own = :mine AND fence = :fence AND st = :inprogress AND lease = :seen"

// condFailed guards Reopen: only a failed key of our version is reopened, and only the failure that was read. A late request must
// not reopen a key that has failed again.
const condFailed = "v = :v AND st = :failed AND own = :own AND fence = :fence"

// Each of these updates sets values and counts nothing, so applying it twice leaves the same item.
const (
	updateComplete = "SET st = :completed, done = :nowms, " + nameExp + " = :exp"

	// res is the result itself, or the name, length and SHA-256 of one in items of the table or in Options.Results. Such a result is
	// put before this write, so the record never names a result that is missing. Its name holds the owner token and a digest of its
	// bytes: a worker that this write refuses has put another name, and a Put that arrives late writes the same bytes.
	updateSetResult = ", res = :res"
	updateDropError = " REMOVE err"

	// tx names the completing call: a call recognises its own write by it, because another call of the same claim may have had other
	// effects.
	updateSetTx = ", tx = :tx"

	// With messages the record must not be deleted before they are sent: exp is then the last second of the year 9999, and ends keeps
	// the end of the retention. due and due_ns put the record into the sparse index of the unsent.
	updateSetOutbox = ", outbox = :outbox, ends = :ends, due = :due, due_ns = :duens"

	// tookat keeps the end of the lease that this claim has taken over, because the next claim replaces prev. Each write of the
	// holder sets it (see Held.write), and all writes of one claim set the same value. A late write is refused unless the record is
	// still that of its claim.
	updateTookAt = ", tookat = :tookat"

	updateFail   = "SET st = :failed, " + nameExp + " = :exp, err = :err"
	updateExtend = "SET lease = :lease, " + nameExp + " = :exp"

	updateRelease  = "SET lease = :zero"
	updateSetError = ", err = :err"
	updateUnused   = ", att = :att"

	// updateReturn releases a takeover whose work never began. The next claim must still see that a lease ran out, so the lease
	// becomes −1: it counts as released, as 0 does, but it is not 0.
	updateReturn = "SET lease = :returned" + updateUnused
)

// updateReopen lets a failed key be claimed again. The fencing token rises although nobody claims the key, so that a late
// request of the write that ended it (condMarkFailed) is refused. took says that a second run may begin: the first may have had
// its effect.
//
// The update counts in took, so it must not be applied twice. condFailed refuses the second time: st is INPROGRESS then, and if
// the key has failed again, its fencing token is higher.
const updateReopen = "SET st = :inprogress, fence = :next, lease = :zero, att = :zero, " + nameExp + " = :exp" +
	", took = if_not_exists(took, :zero) - :one"

// updateCommit claims and completes a key in one write. Every right-hand side is as in updateClaim. There is no lease: the record
// is completed when it is claimed. It has the same condition as a claim, so of a commit and any other claim of the key one wins.
const updateCommit = "SET v = :v, st = :completed, own = :mine, fence = if_not_exists(fence, :nowms) + :one," +
	" prev = if_not_exists(lease, :zero)" + updateTook + ", lease = :nowms, " + nameExp + " = :exp," +
	" att = if_not_exists(att, :zero) + :one, born = if_not_exists(born, :nowms), done = :nowms"

// updateReject writes a run that was not claimed and did not succeed, and that may be repeated: the key is as after a claim and
// its release. It has the same condition as a claim. A late request of it counts one attempt more, as a late claim does; so under
// MaxAttempts a key may end one run early. It never ends a key, because work that failed for good is claimed and then failed
// under condHeld.
const updateReject = "SET v = :v, st = :inprogress, own = :mine, fence = if_not_exists(fence, :nowms) + :one," +
	" prev = if_not_exists(lease, :zero)" + updateTook + ", lease = :zero, " + nameExp + " = :exp," +
	" att = if_not_exists(att, :zero) + :one, born = if_not_exists(born, :nowms), err = :err"

// A sender removes the messages that it has sent. A message that can never be sent moves to the attribute parked. Its record must
// not be deleted, so exp stays at the end of the year 9999, and ends keeps the retention for the day on which an operator sends
// or drops the message. A record with messages left stays in the index: the update writes due and due_ns again, because another
// sender may have removed them.
const (
	updateSent   = "SET " + nameExp + " = :exp REMOVE outbox, due, due_ns, ends, parked"
	updateParked = "SET parked = :parked REMOVE outbox, due, due_ns"
	updateLeft   = "SET outbox = :outbox, due = :due, due_ns = :duens"

	updateSetParked  = ", parked = :parked"
	updateDropParked = " REMOVE parked"
)
