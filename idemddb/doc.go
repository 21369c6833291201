// Package idemddb makes operations idempotent, on one DynamoDB table: the work for a key runs once, and repeated calls return the
// recorded result. It is for work that is delivered at least once, such as messages of a queue.
//
//	value, err := idemddb.Do(ctx, store, key, nil, work) // runs work once; every later call returns its value
//
// Of all claims of a key, at most one is held at a time, as long as clocks differ by less than ClockSkew. In one life of a record at
// most one completion is accepted, whatever clocks do: every write after the claim is fenced by the owner token and the fencing token.
// A completed key is answered from its record until its retention ends.
//
// Not promised: an effect outside of the record can happen again if the process dies between the effect and its completion, or
// outlives its lease. The other system can refuse the older of two workers by the fencing token, [Claim.Fence].
//
//	        claim                complete
//	 (none) ─────▶ INPROGRESS ─────────────────────────▶ COMPLETED ─▶ replayed until exp
//	                 ▲   │  │ fail, attempts used up
//	    claim again, │   │  └──────────────────────────▶ FAILED ────▶ refused until exp
//	    takeover     └───┘ release, lease over
//
//	the process dies …      the record         the next claim
//	before its claim        none               runs the work
//	after its claim         INPROGRESS         waits for the lease, then runs the work: Takeover
//	after the work          INPROGRESS         the same, so the effect happens again
//	after the completion    COMPLETED          replays
//
// # Record
//
//	pk        S    namespace#key, or namespace#sha256:digest for a long key
//	v         N    format version
//	st        S    INPROGRESS, COMPLETED or FAILED
//	own       S    owner token, new for every claim: the Lambda request id and randomness
//	fence     N    fencing token; it rises with every claim of the key
//	lease     N    end of the lease by the holder's clock, epoch ms; 0 or -1 once released, by the holder or an operator
//	prev      N    the lease that the claim found
//	took      N    the sum of the leases that claims found, less 1 for each reopening: 0 if no second run can have begun beside the first
//	tookat    N    the end of the lease that was taken over last, once its taker has written after its claim
//	exp       N    end of the record, epoch s: the attribute for Time to Live
//	att       N    claims whose work began
//	born, done N   first claim and completion, epoch ms
//	fp        S    fingerprint of the input, behind the version of its algorithm
//	res       B    result; M with name, len and sum (SHA-256) for one in Options.Results; NULL for one that is not kept
//	err       S    text of the last failure
//	tx        S    id of the call that completed the key together with effects
//	outbox    L    messages that are not sent yet; exp is then the end of the year 9999
//	parked    L    messages that can never be sent, with the cause; exp as above
//	ends      N    the end of the retention, which exp gets back when all messages are sent
//	due       N    completion, epoch ms, while there are messages in outbox: sort key of the index of the unsent
//	due_ns    S    namespace#0 to namespace#f, while there are messages in outbox: partition key of that index
//	trace     S    with Options.Trace: traceparent of the run that claimed the key last; empty for none
//	ptrace    S    the trace that the claim found
//	nt        N    1 if the last claim was made with Options.NoTakeover
//	op        S    the last change of an operator: who, when and why (package operate)
//
// Limits: a record without a result stays below 1 KB; with its result it must fit into an item of 400 KB, unless Options.Results keeps
// large results elsewhere. A key of more than 1,024 bytes is stored as its digest. The table must not be replicated to a Region in which
// the same keys are claimed: the conditions hold within one Region.
//
// # Clocks
//
// DynamoDB offers no server time, so a lease is measured by the holder's clock, and a taker waits ClockSkew longer than the lease. A
// lease is cut to the deadline of the invocation and renewed by [Claim.Keep]. The retention counts from the completion to
// the arrival of a request, and must exceed the longest way of a message to a redelivery by the 15 minutes for which a request may be late.
//
// # Requests and costs
//
// A first run costs 2 requests and 2 WCU, a duplicate 1 and 1. A takeover and a claim after a release cost what a first run does; a
// record past its retention costs 1 request more. What a process writes at the same time shares requests of up to 25 writes; a duplicate that
// is claimed as new in such a request costs 2 WCU.
//
// The Store retries by itself. A claim without an answer is sent again until Options.ClaimPatience ends. A write that settles finished
// work is sent again until the last moment at which its answer is of use.
//
// # Permissions
//
// The role needs dynamodb:UpdateItem and dynamodb:PutItem on the table, and for shared requests dynamodb:PartiQLInsert and
// dynamodb:PartiQLUpdate. Without these two, every write is a request of its own, and the event KindUnshared says so. A transaction needs
// the actions of its items: those two on the table of records, and those of the effects on theirs.
//
// # For wrappers
//
// Most programs need [New], [Do], [Store.Claim] and the methods that settle a claim. A package that runs the work of others, such as
// lambdawrap, calls [Store.Begin], runs the code with [Work.Context], and calls [Work.Settle]; the [Ending] says what became of the key. By a
// [Batch] it says what belongs together. [WithInvocation] and [OnRetry] are for its contexts; [KindOf], [Claim.ReleaseUnused],
// [Store.RetryAfter] and [Store.Disabled] are for it, too.
//
// [Store.SendStored], [Store.GetItemInput], [Store.Table], [Store.Namespace] and [Store.Options] are for packages outbox and operate.
package idemddb
