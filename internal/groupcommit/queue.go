// Package groupcommit lets conditional writes on single items share requests: up to 25 of them travel in one BatchExecuteStatement, each
// with an answer of its own. It knows nothing of what they write.
//
// A writer puts its write into a Queue and waits. The Queue takes the writes that wait into a call, which is one request with all of its
// tries, in a goroutine of its own. While a request is under way, the writes that come meanwhile wait for the next one.
package groupcommit

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/idemddb/go-idemddb/internal/panicerror"
	"github.com/idemddb/go-idemddb/internal/retry"
)

const (
	// Size is how many writes share a request, at most.
	Size = 25

	maxCalls   = 4                      // requests under way at a time, at most; more than one only if they are full
	linger     = 200 * time.Microsecond // how long a write waits for others
	longLinger = 10 * time.Millisecond  // the same while members are announced, which come at once
	maxTries   = 3                      // shared tries of a write while others of its request have answers
)

// Queue holds the writes of writers that share requests. It is safe for concurrent use and needs no closing: none of its goroutines
// outlives the calls of Send that wait for it.
type Queue struct {
	Client *Client

	mu       sync.Mutex
	waiting  []*write    // writes that wait for a request
	underWay int         // requests whose first try is under way
	sent     int         // writes in requests whose writers wait
	members  int         // writers that will still write
	expected int         // members that are announced, and have not come yet
	timer    *time.Timer // not nil while the queue waits for more writes
	long     bool        // the timer waits for announced members
}

// Expect announces n calls of Arrive that come at once, so that the first writes wait for the others.
func (q *Queue) Expect(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()

	q.expected += n
}

// Arrive is Join for a member that may have been announced.
func (q *Queue) Arrive() {
	q.mu.Lock()
	defer q.mu.Unlock()

	q.members++
	q.expected = max(0, q.expected-1)
}

// Join counts a member, which will still write: the writes in the queue wait a moment for the writes of members.
func (q *Queue) Join() {
	q.mu.Lock()
	defer q.mu.Unlock()

	q.members++
}

// Leave ends a membership. Writes that waited for this member need not wait longer. Only the values of ctx count, not its end.
func (q *Queue) Leave(ctx context.Context) {
	q.mu.Lock()
	defer q.mu.Unlock()

	q.members--
	q.flush(ctx, true)
}

// Send sends a write together with others until it is answered, or until ctx ends. It returns false if the write must be sent by requests
// of its own, and an error if the write got no answer. If the client panics, so does Send.
func (q *Queue) Send(ctx context.Context, given Write) (done bool, err error) {
	if !q.Client.Shares() {
		return false, nil
	}

	w := &write{Write: given, answer: make(chan error, 1)}

	q.mu.Lock()
	q.waiting = append(q.waiting, w)
	q.flush(ctx, true)
	q.mu.Unlock()

	select {
	case err = <-w.answer:
	case <-ctx.Done():
		q.abandon(ctx, w)

		err = <-w.answer
	}

	if p, ok := err.(*panicerror.Error); ok { //nolint:errorlint // only the panic itself: the client may return an error that wraps another
		panic(p)
	}

	return !errors.Is(err, errAlone), err
}

// abandon answers a write whose writer waits no longer with the answer to its last try, unless its own answer is on its way. A write that
// was not sent is taken back. The last writer of a call cancels it and waits for its end, so that no request outlives its writers.
func (q *Queue) abandon(ctx context.Context, w *write) {
	q.mu.Lock()

	isAbandoned := w.state == pending
	if isAbandoned {
		q.waiting = slices.DeleteFunc(q.waiting, func(other *write) bool { return other == w })
		q.finish(w, retry.GaveUp(ctx, w.last))
	}

	isLast := isAbandoned && w.call != nil && !w.call.isAwaited()
	q.mu.Unlock()

	if isLast {
		w.call.cancel()
		<-w.call.done
	}
}

// finish answers a write, once. It is called with q.mu held.
func (q *Queue) finish(w *write, err error) {
	if w.call != nil {
		q.sent--
	}

	w.state = finished
	w.answer <- err
}

// flush sends the writes that need not wait any longer. It is called, with q.mu held, whenever a write comes, a request has landed or a
// member has left. If mayLinger is true, the queue may wait for more writes. Only the values of ctx count, not its end.
func (q *Queue) flush(ctx context.Context, mayLinger bool) {
	for len(q.waiting) > 0 {
		full := len(q.waiting) >= Size

		if q.underWay > 0 && (!full || q.underWay >= maxCalls) {
			return // flush is called again when the request lands
		}

		if !full && (q.expected > 0 || mayLinger && q.members > len(q.waiting)+q.sent) {
			q.linger(ctx)

			return
		}

		q.start(ctx)
	}
}

// linger sets the timer that ends the wait for more writes.
func (q *Queue) linger(ctx context.Context) {
	switch {
	case q.timer == nil:
		wait := linger
		if q.long = q.expected > 0; q.long {
			wait = longLinger
		}

		q.timer = time.AfterFunc(wait, func() {
			q.mu.Lock()
			defer q.mu.Unlock()

			q.timer, q.expected = nil, 0
			q.flush(ctx, false)
		})
	case q.long && q.expected == 0:
		q.long = !q.timer.Reset(linger)
	}
}

// start starts a call of the first writes of the queue.
func (q *Queue) start(ctx context.Context) {
	if q.timer != nil {
		q.timer.Stop()
		q.timer = nil
	}

	request, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c := &call{queue: q, writes: q.take(), cancel: cancel, done: make(chan struct{})}

	for _, w := range c.writes {
		w.call = c
	}

	q.underWay++
	q.sent += len(c.writes)

	go c.run(request)
}

// take takes the next writes from the queue. No key is taken twice: DynamoDB would refuse the whole request.
func (q *Queue) take() []*write {
	taken := make([]*write, 0, min(len(q.waiting), Size))

	q.waiting = slices.DeleteFunc(q.waiting, func(w *write) bool {
		if len(taken) == Size || slices.ContainsFunc(taken, func(other *write) bool { return other.Key == w.Key }) {
			return false
		}

		taken = append(taken, w)

		return true
	})

	return taken
}
