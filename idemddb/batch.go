package idemddb

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/idemddb/go-idemddb/internal/retry"
)

// Batch lets the claims and settlements of one batch share requests: up to 25 conditional writes travel in one
// BatchExecuteStatement, each with an answer of its own. It is a group commit: while one request is under way, the writes that come
// meanwhile wait for the next one. A write waits up to 0.2 ms for others while claims of its batch are at work, and the last one
// never waits. A write that is alone is sent by a request of its own, and so is one with a result above 64 KB.
//
// Costs: a request for each 25 new keys; one more if some of them have records. A new key costs 1 WCU, a redelivered one that has a
// record also 1, and 2 if [ClaimOptions.Redelivered] says otherwise.
//
// Where the Store sends single requests only (Options.Single, or BatchExecuteStatement is not available), a Batch does the same
// with one request for each write.
//
// A Batch is for wrappers, and for one invocation. It is safe for concurrent use and needs no closing: none of its goroutines
// outlives the calls that wait for it.
type Batch struct {
	store *Store

	mu        sync.Mutex
	queue     []*queued   // writes that wait for a request
	underWay  int         // requests whose first try is under way
	sent      int         // writes in requests, without an answer yet
	members   int         // claims that will still write: being claimed, or held and not settled
	expected  int         // claims that are announced, and not yet made
	timer     *time.Timer // not nil while the queue waits for more writes
	long      bool        // the timer waits for announced claims
	answers   int         // claims that DynamoDB has answered
	exhausted bool        // a claim used its patience up, and DynamoDB has answered none since that claim began

	commits     []*waitingCommit // commits that wait for a transaction
	commitTimer *time.Timer      // not nil while they wait
}

// Batch returns a Batch for the claims of one invocation.
func (s *Store) Batch() *Batch { return &Batch{store: s, queue: make([]*queued, 0, batchSize)} }

const (
	batchSize   = 25                     // statements of one BatchExecuteStatement, at most
	batchCalls  = 4                      // requests under way at a time, at most; more than one only if they are full
	batchLinger = 200 * time.Microsecond // how long a write waits for others
	batchExpect = 10 * time.Millisecond  // the same while claims are announced, which come at once
	batchResult = 64 << 10               // bytes; a write with a larger result is sent by a request of its own
	batchTries  = 3                      // shared tries of a write while others of its request have answers
)

// Claim is [Store.Claim]. Claims that are made at the same time share requests, and so do the writes that settle and extend them.
// While DynamoDB answers no claim of the batch, only the first claims wait for Options.ClaimPatience; later ones make one try.
func (b *Batch) Claim(ctx context.Context, key string, opts *ClaimOptions) (*Claim, *Record, error) {
	b.mu.Lock()
	b.members++
	b.expected = max(0, b.expected-1)
	b.mu.Unlock()

	isMember := false

	defer func() { // also if the client panics or ends the goroutine
		if !isMember {
			b.leave(ctx)
		}
	}()

	claim, rec, err := b.store.acquire(ctx, b, key, opts)
	if claim == nil {
		return nil, rec, err
	}

	isMember = true
	claim.batch, claim.member = b, true

	return claim, nil, nil
}

// Expect announces n calls of Claim that are made at once, so that the first ones wait for the others and share their request. An
// announced claim that never comes delays the others by at most 10 ms.
func (b *Batch) Expect(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()

	b.expected += n
}

// Ahead returns how many keys a wrapper may claim before their work can begin: what fits into one request. It returns 0 where that
// would save no request, and where a crash would count against a key whose work had not begun (Options.MaxAttempts,
// Options.NoTakeover).
func (b *Batch) Ahead() int {
	if !b.store.shares() || b.store.opts.MaxAttempts > 0 || b.store.opts.NoTakeover {
		return 0
	}

	return batchSize
}

// leave ends the membership of a claim: its key was not claimed, or it is settled. Writes that waited for it need not wait longer.
func (b *Batch) leave(ctx context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()

	b.members--
	b.flush(ctx, true)
}

// patience returns when a claim gives up that DynamoDB does not answer, and how many claims of the batch it has answered so far.
func (b *Batch) patience(ctx context.Context, limit time.Duration) (end time.Time, answers int) {
	if b != nil {
		b.mu.Lock()
		defer b.mu.Unlock()

		answers = b.answers

		if b.exhausted {
			limit = 0
		}
	}

	return earliest(ctx, limit), answers
}

// answered keeps that a claim got an answer, or that it gave up for want of one. One that gives up while others are answered concerns
// its own key only. answers is what patience returned.
func (b *Batch) answered(isAnswered bool, answers int) {
	if b == nil {
		return
	}

	b.mu.Lock()
	defer b.mu.Unlock()

	if isAnswered {
		b.answers++
	}

	b.exhausted = b.answers == answers
}

// send sends a request together with others. It returns false if the request must be sent by itself.
func (b *Batch) send(ctx context.Context, key string, p retry.Policy, r request) (done bool, err error) {
	q := &queued{request: r, key: key, policy: p, retry: onRetry(ctx), answer: make(chan error, 1)}

	b.mu.Lock()
	b.queue = append(b.queue, q)
	b.flush(ctx, true)
	b.mu.Unlock()

	select {
	case err = <-q.answer:
	case <-ctx.Done():
		if isAbandoned, last := b.abandon(q); isAbandoned {
			err = retry.GaveUp(ctx, last)
		} else {
			err = <-q.answer
		}
	}

	if p, ok := errors.AsType[*clientPanicError](err); ok {
		panic(p)
	}

	return !errors.Is(err, errSingle), err
}

// abandon ends the wait of a writer, and returns true and the last answer to the write. A write that was not sent is taken back. The
// last writer of a request cancels it and waits for its end, so that no request outlives its writers. If the request has kept its
// answer just now, abandon does nothing and returns false: the answer is on its way.
func (b *Batch) abandon(q *queued) (isAbandoned bool, last error) {
	isKept, last := q.stopWaiting()
	if isKept {
		return false, nil
	}

	b.mu.Lock()

	if q.call == nil {
		b.queue = slices.DeleteFunc(b.queue, func(other *queued) bool { return other == q })
		b.mu.Unlock()

		return true, last
	}

	isLast := q.leave()
	b.mu.Unlock()

	if isLast {
		q.call.cancel()
		<-q.call.done
	}

	return true, last
}

// stopWaiting lets no later answer change what the writer looks at, and returns the last answer to the write. It returns true and changes
// nothing if the request has kept its answer.
func (q *queued) stopWaiting() (isKept bool, last error) {
	q.mu.Lock()
	defer q.mu.Unlock()

	if q.kept {
		return true, nil
	}

	q.left = true

	return false, q.last
}

// flush sends the writes that need not wait any longer. It is called, with b.mu held, whenever a write comes, a request has landed or a
// member has left. If mayLinger is true, the queue may wait for more writes. Only the values of ctx count, not its end.
func (b *Batch) flush(ctx context.Context, mayLinger bool) {
	for len(b.queue) > 0 {
		full := len(b.queue) >= batchSize

		if b.underWay > 0 && (!full || b.underWay >= batchCalls) {
			return // flush is called again when the request lands
		}

		if !full && (b.expected > 0 || mayLinger && b.members > len(b.queue)+b.sent) {
			b.linger(ctx)

			return
		}

		b.start(ctx)
	}
}

// linger sets the timer that ends the wait for more writes.
func (b *Batch) linger(ctx context.Context) {
	switch {
	case b.timer == nil:
		wait := batchLinger
		if b.long = b.expected > 0; b.long {
			wait = batchExpect
		}

		b.timer = time.AfterFunc(wait, func() {
			b.mu.Lock()
			defer b.mu.Unlock()

			b.timer, b.expected = nil, 0
			b.flush(ctx, false)
		})
	case b.long && b.expected == 0:
		b.long = !b.timer.Reset(batchLinger)
	}
}

// start sends the first writes of the queue.
func (b *Batch) start(ctx context.Context) {
	if b.timer != nil {
		b.timer.Stop()
		b.timer = nil
	}

	request, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c := &sharedCall{writes: b.take(), cancel: cancel, done: make(chan struct{})}
	c.waiting, c.open = len(c.writes), c.writes

	for _, q := range c.writes {
		q.call, q.waits = c, true
	}

	b.underWay++
	b.sent += len(c.writes)

	go b.run(request, c)
}

// take takes the next writes from the queue. No key is taken twice: DynamoDB would refuse the whole request.
func (b *Batch) take() []*queued {
	taken := make([]*queued, 0, min(len(b.queue), batchSize))

	b.queue = slices.DeleteFunc(b.queue, func(q *queued) bool {
		if len(taken) == batchSize || slices.ContainsFunc(taken, func(other *queued) bool { return other.key == q.key }) {
			return false
		}

		taken = append(taken, q)

		return true
	})

	return taken
}
