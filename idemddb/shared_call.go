package idemddb

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/idemddb/go-idemddb/internal/retry"
)

// queued is one write in a Batch.
type queued struct {
	request

	key    string
	policy retry.Policy
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
func (c *sharedCall) policy() retry.Policy {
	p := c.open[0].policy
	for _, q := range c.open[1:] {
		p.Pause = min(p.Pause, q.policy.Pause)
		if q.policy.End.Before(p.End) {
			p.End = q.policy.End
		}
	}

	return p
}

// errSingle is the answer to a write that must be sent by a request of its own.
var errSingle = errors.New("must be sent by a request of its own")

// run sends a request until all of its writes are answered. If the client panics or ends the goroutine, the writers panic.
func (b *Batch) run(ctx context.Context, c *sharedCall) {
	var failure error = &clientPanicError{errExited, nil}

	defer func() {
		if v := recover(); v != nil {
			failure = &clientPanicError{v, debug.Stack()}
		}

		c.cancel()

		b.landed(ctx, c)
		b.finish(failure, c.open...)
		close(c.done)
	}()

	for len(c.open) > 0 {
		err := retry.Do(ctx, c.policy(), func(err error) { b.failed(ctx, c, err) }, func(try context.Context) error {
			defer b.landed(ctx, c)

			return b.try(try, c)
		})

		b.finishEnded(ctx, c, err)
	}
}

// finishEnded answers the open writes that are not sent again, with the last error or with nil. After a transient error, a write whose own
// time is not over stays open: the tries ended with the time of another write.
func (b *Batch) finishEnded(ctx context.Context, c *sharedCall, err error) {
	c.open = slices.DeleteFunc(c.open, func(q *queued) bool {
		if ctx.Err() == nil && retry.IsTransient(err) && !q.policy.IsOver() {
			return false
		}

		b.finish(err, q)

		return true
	})
}

// landed lets the writes that came meanwhile go: they wait for the first answer to a request, not for its retries. It is called before
// the writers of the request have their answers: what they write next waits for the others again.
func (b *Batch) landed(ctx context.Context, c *sharedCall) {
	b.mu.Lock()
	defer b.mu.Unlock()

	if !c.landed {
		c.landed = true
		b.underWay--
		b.flush(ctx, false)
	}
}

// failed reports that the open writes are sent again.
func (b *Batch) failed(ctx context.Context, c *sharedCall, err error) {
	key := ""
	if len(c.writes) == 1 {
		key = c.writes[0].key
	}

	b.store.opts.Observe(ctx, Event{Kind: Retried, Key: key, Err: err})

	for _, q := range c.open {
		q.retry()
	}
}

// finish answers writes, each of them once. All of them count as answered before the first writer can go on: the next write of one
// that goes on waits for those of the others.
func (b *Batch) finish(err error, writes ...*queued) {
	b.mu.Lock()

	writes = slices.DeleteFunc(writes, func(q *queued) bool { return q.finished })

	for _, q := range writes {
		q.finished = true
		b.sent--

		if q.leave() { // what is left of the request has no callers
			q.call.cancel()
		}
	}
	b.mu.Unlock()

	for _, q := range writes {
		q.answer <- err
	}
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

// try makes one request of all open writes, and another one at once for those whose answer asks for the other statement. It returns an
// error if some must be sent again.
func (b *Batch) try(ctx context.Context, c *sharedCall) error {
	c.open = slices.DeleteFunc(c.open, b.drop)
	if len(c.open) == 0 {
		return nil
	}

	if len(c.writes) == 1 {
		return b.tryAlone(ctx, c)
	}

	c.tries++

	again, fault := b.exchange(ctx, c)

	// Where some writes have answers, DynamoDB is there, and what still fails concerns single keys. They must not delay each other.
	if c.tries >= batchTries && len(again) < len(c.writes) {
		b.finish(errSingle, again...)

		again, fault = nil, nil
	}

	c.open = again

	return fault
}

// tryAlone sends the only write of a call by a request of its own.
func (b *Batch) tryAlone(ctx context.Context, c *sharedCall) error {
	err := b.store.sendSingle(ctx, c.writes[0])
	if err == nil {
		b.landed(ctx, c)
		b.finish(nil, c.writes[0])

		c.open = nil
	}

	return err
}

// exchange sends the open writes in one request, and those whose answer asks for the other statement in another one at once. It returns
// those that must be sent again, and why.
func (b *Batch) exchange(ctx context.Context, c *sharedCall) (again []*queued, fault error) {
	for next := c.open; len(next) > 0; next = slices.DeleteFunc(next, b.drop) {
		asked := next
		next = nil

		var single []*queued

		done := make([]*queued, 0, len(asked))

		for i, r := range b.store.execute(ctx, statements(asked)) {
			q := asked[i]

			switch does, err := q.read(r); does {
			case answered:
				done = append(done, q)
			case goSingle:
				single = append(single, q)
			case sendOther:
				next = append(next, q)
			case sendAgain:
				again, fault = append(again, q), err
			}
		}

		if len(done) > 0 {
			b.landed(ctx, c)
		}

		b.finish(nil, done...)
		b.finish(errSingle, single...)
	}

	return again, fault
}

// drop finishes a write that must not be sent with the next try. It returns false if the write must be sent.
func (b *Batch) drop(q *queued) bool {
	q.mu.Lock()
	left := q.left
	q.mu.Unlock()

	switch {
	case left: // without a caller, a claim would keep its key from others
		b.finish(nil, q)
	case !b.store.shares(): // an earlier try, or another request, was denied
		b.finish(errSingle, q)
	default:
		return false
	}

	return true
}
