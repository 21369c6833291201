package idemddb

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
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
func (s *Store) Batch() *Batch { return &Batch{store: s} }

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
	b.flush(context.WithoutCancel(ctx), true)
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

// queued is one write in a Batch.
type queued struct {
	request

	key    string
	policy policy
	retry  func()      // called for each retry
	answer chan error  // buffered: a request does not wait for a writer
	call   *sharedCall // nil while the write waits in the queue

	// Guarded by the mutex of the Batch.
	waits    bool // in the request's count of writers that wait
	finished bool // answered by the request, which may still have other writes

	mu   sync.Mutex
	left bool  // the writer waits no longer: an answer must not change what it looks at
	kept bool  // the request has kept its answer, which the writer then gets
	last error // the answer to the last try
}

func (q *queued) read(r response) (step, error) {
	q.mu.Lock()
	defer q.mu.Unlock()

	if q.left {
		return answered, nil
	}

	if errors.Is(r.err, errSingle) {
		return goSingle, nil
	}

	does, err := q.request.read(r)
	q.kept, q.last = does == answered, err

	return does, err
}

func statements(writes []*queued) []types.BatchStatementRequest {
	made := make([]types.BatchStatementRequest, len(writes))
	for i, q := range writes {
		made[i] = q.statement()
	}

	return made
}

// sharedCall is one request with all of its tries.
type sharedCall struct {
	writes  []*queued
	open    []*queued // those without an answer; only the goroutine of the call uses it
	tries   int
	landed  bool // its first try is over
	waiting int  // writers without an answer; a request for which none waits is cancelled
	cancel  context.CancelFunc
	done    chan struct{} // closed when it has ended
}

// policy is that of the writes without an answer: it ends with the first of them.
func (c *sharedCall) policy() policy {
	p := c.open[0].policy
	for _, q := range c.open[1:] {
		p.pause = min(p.pause, q.policy.pause)
		if q.policy.end.Before(p.end) {
			p.end = q.policy.end
		}
	}

	return p
}

// errSingle is the answer to a write that must be sent by a request of its own.
var errSingle = errors.New("must be sent by a request of its own")

// send sends a request together with others. It returns false if the request must be sent by itself.
func (b *Batch) send(ctx context.Context, key string, p policy, r request) (done bool, err error) {
	q := &queued{request: r, key: key, policy: p, retry: func() { retried(ctx) }, answer: make(chan error, 1)}

	b.mu.Lock()
	b.queue = append(b.queue, q)
	b.flush(context.WithoutCancel(ctx), true)
	b.mu.Unlock()

	select {
	case err = <-q.answer:
	case <-ctx.Done():
		if isAbandoned, last := b.abandon(q); isAbandoned {
			err = gaveUp(ctx, last)
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
	q.mu.Lock()
	if q.kept {
		q.mu.Unlock()

		return false, nil
	}

	q.left = true
	last = q.last
	q.mu.Unlock()

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

// leave takes a writer out of those that wait for its request, once, with the mutex of the Batch held. It returns whether none waits now.
func (q *queued) leave() (isLast bool) {
	if !q.waits {
		return false
	}

	q.waits = false
	q.call.waiting--

	return q.call.waiting == 0
}

// flush sends the writes that need not wait any longer. It is called, with b.mu held, whenever a write comes, a request has landed or a
// member has left. If mayLinger is true, the queue may wait for more writes. ctx never ends; it is there for its values.
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

	request, cancel := context.WithCancel(ctx)
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

// run sends a request until all of its writes are answered. If the client panics or ends the goroutine, the writers panic.
func (b *Batch) run(ctx context.Context, c *sharedCall) {
	var failure error = &clientPanicError{errExited, nil}

	defer func() {
		if v := recover(); v != nil {
			failure = &clientPanicError{v, debug.Stack()}
		}

		c.cancel()

		for _, q := range c.open {
			b.finish(q, failure)
		}

		b.landed(ctx, c)
		close(c.done)
	}()

	for len(c.open) > 0 {
		err := retry(ctx, c.policy(), func(err error) { b.failed(ctx, c, err) }, func(try context.Context) error {
			defer b.landed(ctx, c)

			return b.try(try, c)
		})

		c.open = slices.DeleteFunc(c.open, func(q *queued) bool {
			if ctx.Err() == nil && isTransient(err) && time.Until(q.policy.end) >= lastTry {
				return false // another write of the request has given up
			}

			b.finish(q, err)

			return true
		})
	}
}

// landed lets the writes that came meanwhile go: they wait for the first try of a request, not for its retries.
func (b *Batch) landed(ctx context.Context, c *sharedCall) {
	b.mu.Lock()
	defer b.mu.Unlock()

	if !c.landed {
		c.landed = true
		b.underWay--
		b.flush(context.WithoutCancel(ctx), false)
	}
}

// failed reports that the open writes are sent again.
func (b *Batch) failed(ctx context.Context, c *sharedCall, err error) {
	key := ""
	if len(c.writes) == 1 {
		key = c.writes[0].key
	}

	b.store.observe(ctx, Event{Kind: Retried, Key: key, Err: err})

	for _, q := range c.open {
		q.retry()
	}
}

// finish answers a write, once.
func (b *Batch) finish(q *queued, err error) {
	b.mu.Lock()

	if q.finished {
		b.mu.Unlock()

		return
	}

	q.finished = true
	b.sent--

	if q.leave() { // what is left of the request has no callers
		q.call.cancel()
	}
	b.mu.Unlock()

	q.answer <- err
}

// try makes one request of all open writes, and another one at once for those whose answer asks for the other statement. It returns an
// error if some must be sent again.
func (b *Batch) try(ctx context.Context, c *sharedCall) error {
	c.open = slices.DeleteFunc(c.open, b.drop)
	if len(c.open) == 0 {
		return nil
	}

	if len(c.writes) == 1 {
		err := b.store.sendSingle(ctx, c.writes[0])
		if err == nil {
			b.finish(c.writes[0], nil)

			c.open = nil
		}

		return err
	}

	var (
		again []*queued
		fault error
	)

	c.tries++

	for next := c.open; len(next) > 0; next = slices.DeleteFunc(next, b.drop) {
		asked := next
		next = nil

		for i, r := range b.store.execute(ctx, statements(asked)) {
			q := asked[i]

			switch does, err := q.read(r); does {
			case answered:
				b.finish(q, nil)
			case goSingle:
				b.finish(q, errSingle)
			case sendOther:
				next = append(next, q)
			case sendAgain:
				again, fault = append(again, q), err
			}
		}
	}

	// Where some writes have answers, DynamoDB is there, and what still fails concerns single keys. They must not delay each other.
	if c.tries >= batchTries && len(again) < len(c.writes) {
		for _, q := range again {
			b.finish(q, errSingle)
		}

		again, fault = nil, nil
	}

	c.open = again

	return fault
}

// drop finishes a write that must not be sent with the next try. It returns false if the write must be sent.
func (b *Batch) drop(q *queued) bool {
	q.mu.Lock()
	left := q.left
	q.mu.Unlock()

	switch {
	case left: // without a caller, a claim would keep its key from others
		b.finish(q, nil)
	case !b.store.shares(): // an earlier try, or another request, was denied
		b.finish(q, errSingle)
	default:
		return false
	}

	return true
}

// errExited is the panic of a writer whose client has ended the goroutine of the request.
var errExited = errors.New("idemddb: the client ended its goroutine (runtime.Goexit)")

// clientPanicError carries a panic of the client from the goroutine of the request to the writers, with its stack.
type clientPanicError struct {
	value any
	stack []byte
}

func (p *clientPanicError) Error() string {
	return fmt.Sprintf("idemddb: the client panicked: %v", p.value)
}

// Unwrap returns the panic's value if it is an error.
func (p *clientPanicError) Unwrap() error {
	err, _ := p.value.(error)

	return err
}

// Stack returns the stack of the goroutine that panicked, for those who recover.
func (p *clientPanicError) Stack() []byte { return p.stack }
