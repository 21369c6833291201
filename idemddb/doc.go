// Package idemddb makes operations idempotent, on one DynamoDB table: the work for a key runs once, and repeated calls return the
// recorded result. It is for work that is delivered at least once, such as messages of a queue.
//
//	record, err := idemddb.Run(ctx, store, key, nil, work) // runs work once; every later call gets the record
//
// [Run] and [Do] claim the key, run the work and settle the claim. A program that must take these steps apart calls
// [Store.Claim], which returns a claim, a record or an error: if it does not look at the record, it has a nil claim for work that
// was done before. What a handler stages with [Stage] is written with the completion, so items are written exactly once; messages
// are stored with it, and sent at least once. [Store.Begin] is for wrappers, which run the work of others.
//
// Of all claims of a key, at most one is held at a time, as long as clocks differ by less than ClockSkew. In one life of a record
// at most one completion is accepted, whatever clocks do: every write after the claim is fenced by the owner token and the
// fencing token. A completed key is answered from its record until its retention ends.
//
// Not promised: an effect outside of the record can happen again if the process dies between the effect and its completion, or if
// the lease ends before the work does: the process stood still for longer, or the lease was not renewed. The other system can
// refuse the older of two workers by the fencing token, [Claim.Fence].
//
//	        claim                complete
//	 (none) ─────▶ INPROGRESS ─────────────────────────▶ COMPLETED ─▶ replayed until exp
//	                 ▲   │  │ fail, attempts used up
//	    claim again, │   │  └──────────────────────────▶ FAILED ────▶ refused until exp or Reopen
//	    takeover     └───┘ release, lease over
//
//	the process dies …      the record         the next claim
//	before its claim        none               runs the work
//	after its claim         INPROGRESS         waits for the lease, then runs the work: Takeover
//	after the work          INPROGRESS         the same, so the effect happens again
//	after the completion    COMPLETED          replays
//
// The pages at https://github.com/idemddb/go-idemddb/tree/main/docs say more: do.md about Run, Do, Claim, each error and the
// permissions, effects.md about [Stage], record.md about the table, time.md about clocks and leases, cost.md, limits.md and
// own-wrapper.md.
package idemddb
