// Package idemddb lets the work of a key happen once: a claim, the work, a fenced completion, on one DynamoDB table.
//
//	value, err := idemddb.Do(ctx, store, key, nil, work) // runs work once; every later call answers with its value
//
// Of all claims of a key at most one is held at a time, as long as clocks differ by less than ClockSkew. At most one completion
// is accepted in a record's life, whatever clocks do. A completed key is answered from its record until its retention ends. Not
// promised: an effect outside of the record can happen again if the process dies between the effect and the completion, or
// outlives its lease; [Claim.Fence] lets the other system refuse the older one.
//
//	        claim                complete
//	 (none) ─────▶ INPROGRESS ─────────────────────────▶ COMPLETED ─▶ replayed until exp
//	                 ▲   │  │ fail, attempts used up
//	    claim again, │   │  └──────────────────────────▶ FAILED ────▶ refused until exp
//	    takeover     └───┘ release, lease over
//
//	a process dies …        the record         the next claim
//	before its claim        none               runs the work
//	after its claim         INPROGRESS         waits for the lease, then runs it: Takeover
//	after the work          INPROGRESS         the same: the effect happens again
//	after the completion    COMPLETED          replays
//
// A record: key, v version, st state, own token, fence, lease (ms), exp (s, the TTL attribute), att attempts, born, prev (the
// lease before), fp fingerprint, done (ms), res result, err last failure. Below 1 KB without a result.
//
// Clocks: a lease is cut to the context's deadline and renewed by [Claim.Keep]; a taker waits ClockSkew longer; retention, from
// the completion on, should exceed the longest way to a redelivery.
//
// Cost: a first run 2 requests and 2 write units, a duplicate 1 and 1, a takeover or a retry after a release as a first run, a
// record past its retention 1 request more. In a [Group] the requests are shared by up to 25 keys; a duplicate that is claimed as
// new costs 2 write units.
//
// IAM: dynamodb:UpdateItem and dynamodb:PutItem on the table, for groups dynamodb:PartiQLInsert and dynamodb:PartiQLUpdate, too.
// Without these two, or with a client that hides BatchExecuteStatement, every write is a request of its own: event "ungrouped".
package idemddb
