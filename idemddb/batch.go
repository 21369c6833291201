package idemddb

import (
	"context"
	"sync"

	"github.com/idemddb/go-idemddb/internal/engine"
	"github.com/idemddb/go-idemddb/internal/planner"
)

// Batch says which claims and settlements belong to one batch. All writes of a Store share requests: up to 25 conditional writes travel in
// one BatchExecuteStatement, each with an answer of its own. While a request is under way, the writes that come meanwhile wait for it, but at
// most for a third of the time that a request takes. A Batch announces what will come: a write waits up to 0.2 ms for others while claims of
// its batch are at work, and the last one never waits. A write that is alone is sent by a request of its own, and so is one with a result
// above 64 KB.
//
// Costs: a request for each 25 new keys; one more if some of them have records. A new key costs 1 WCU, a redelivered one that has a
// record also 1, and 2 if [ClaimOptions.Redelivered] says otherwise.
//
// Where the Store sends single requests only (Options.Unshared, or BatchExecuteStatement is not available), a Batch does the same
// with one request for each write.
//
// A Batch is for wrappers, and for one invocation. It is safe for concurrent use and needs no closing: none of its goroutines
// outlives the calls that wait for it.
type Batch struct {
	store *Store
	group engine.Group

	mu        sync.Mutex
	answers   int  // claims that DynamoDB has answered
	exhausted bool // a claim had no answer in Options.ClaimPatience, and DynamoDB has answered none since that claim began
}

// Claim is [Store.Claim]. Claims that are made at the same time share requests, and so do the writes that settle and extend them.
// While DynamoDB answers no claim of the batch, only the first claims wait for Options.ClaimPatience; later ones make one try.
func (b *Batch) Claim(ctx context.Context, key string, opts *ClaimOptions) (*Claim, *Record, error) {
	return b.store.acquire(ctx, b, key, opts)
}

// Expect announces n calls of Claim that are made at once, so that the first ones wait for the others and share their request. An
// announced claim that never comes delays the others by at most 10 ms.
func (b *Batch) Expect(n int) { b.store.engine.Expect(&b.group, n) }

// Ahead returns how many keys a wrapper may claim before their work can begin: as many as fit into one request. It returns 0 where that
// would save no request, and where a crash would count against a key whose work had not begun (Options.MaxAttempts, Options.NoTakeover).
func (b *Batch) Ahead() int {
	if !b.store.engine.Shares() || b.store.opts.MaxAttempts > 0 || b.store.opts.NoTakeover {
		return 0
	}

	return planner.Size
}

// groupOf returns the group of the batch; nil for none.
func (b *Batch) groupOf() *engine.Group {
	if b == nil {
		return nil
	}

	return &b.group
}
