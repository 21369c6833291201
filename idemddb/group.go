package idemddb

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Group sends the writes of one batch of work together: up to 25 claims, completions, releases and renewals a request, each with
// an answer of its own. [Group.Claim] claims many keys at once; what settles or renews these claims (Complete, Release, Fail,
// Extend) is a group commit: while a request is under way, what comes meanwhile waits for the next one. While other claims of
// the Group are at work, a write waits up to 0.2 ms for company; the last one never waits.
//
// Where the Store has no groups ([Store.Grouped]), a Group does the same with a request for each write. A lone write, and one
// with a result above 64 KB, goes in a request of its own, too.
//
// A Group is for one batch, such as one invocation. It is safe for concurrent use and needs no closing: none of its goroutines
// outlives the calls that wait for it.
type Group struct {
	store *Store

	mu     sync.Mutex
	queue  []*pending
	calls  int         // requests under way
	open   int         // writes that will come: claims that are not settled, and what must be sent again
	linger *time.Timer // not nil while the queue waits for company
}

// Group returns a Group for one batch.
func (s *Store) Group() *Group { return &Group{store: s} }

const (
	groupSize   = 25                     // statements of a BatchExecuteStatement, at most
	groupCalls  = 4                      // requests of one Group under way at a time, at most; more than one only if they are full
	groupWait   = 200 * time.Microsecond // for company
	groupResult = 64 << 10               // bytes; a write with a larger result goes alone
)

// turn is one write's way through a Group, with all its attempts. The Group counts it as open until it is in the queue.
type turn struct {
	group *Group
	open  bool
}

// pending is one attempt.
type pending struct {
	write  write
	call   *groupCall // nil while it waits in the queue
	answer chan error // buffered: the request does not wait for a sender either
}

// groupCall is one request.
type groupCall struct {
	writes  []*pending
	waiting int // senders; a request that nobody waits for is cancelled
	cancel  context.CancelFunc
	done    chan struct{} // closed when it has ended
}

// send makes one attempt at a write. Its error is what the write would have met alone.
func (t *turn) send(ctx context.Context, w write) error {
	g := t.group
	if res, ok := w.values[":res"].(*types.AttributeValueMemberB); ok && len(res.Value) > groupResult || !g.store.Grouped() {
		return g.store.alone(ctx, w)
	}

	p := &pending{write: w, answer: make(chan error, 1)}

	g.mu.Lock()
	g.queue = append(g.queue, p)
	t.close()
	g.flush(context.WithoutCancel(ctx), true)
	g.mu.Unlock()

	select {
	case err := <-p.answer:
		if v, ok := errors.AsType[*panicked](err); ok {
			panic(v.value)
		}

		if errors.Is(err, errAlone) {
			return g.store.alone(ctx, w)
		}

		t.reopen(comesAgain(err))

		return err
	case <-ctx.Done():
		g.abandon(p)

		return ctx.Err() //nolint:wrapcheck // this attempt's own
	}
}

// end is the end of the last attempt.
func (t *turn) end(ctx context.Context) {
	g := t.group

	g.mu.Lock()
	defer g.mu.Unlock()

	if t.open {
		t.close()
		g.flush(context.WithoutCancel(ctx), true)
	}
}

// reopen counts a write that comes again.
func (t *turn) reopen(again bool) {
	if again {
		t.group.mu.Lock()
		defer t.group.mu.Unlock()

		t.open = true
		t.group.open++
	}
}

func (t *turn) close() {
	if t.open {
		t.open = false
		t.group.open--
	}
}

// abandon is a sender that waits no longer. What was not sent is taken back; the last one sees the request to its end, so that
// none outlives its senders.
func (g *Group) abandon(p *pending) {
	g.mu.Lock()

	if p.call == nil {
		g.queue = slices.DeleteFunc(g.queue, func(q *pending) bool { return q == p })
		g.mu.Unlock()

		return
	}

	p.call.waiting--
	last := p.call.waiting == 0
	g.mu.Unlock()

	if last {
		p.call.cancel()
		<-p.call.done
	}
}

// flush sends what need not wait any longer. It is called, with g.mu held, whenever something has changed. ctx, which never
// ends, is for its values. patient lets a write wait for company.
func (g *Group) flush(ctx context.Context, patient bool) {
	for len(g.queue) > 0 {
		full := len(g.queue) >= groupSize

		switch {
		case g.calls > 0 && (!full || g.calls >= groupCalls):
			return // the request under way comes here when it ends
		case patient && !full && g.open > 0:
			if g.linger == nil {
				g.linger = time.AfterFunc(groupWait, func() { g.tired(ctx) })
			}

			return
		}

		g.start(ctx)
	}
}

// tired is the end of the wait for company.
func (g *Group) tired(ctx context.Context) {
	g.mu.Lock()
	defer g.mu.Unlock()

	g.linger = nil
	g.flush(ctx, false)
}

// start sends the first of the queue.
func (g *Group) start(ctx context.Context) {
	if g.linger != nil {
		g.linger.Stop()
		g.linger = nil
	}

	request, cancel := context.WithCancel(ctx)
	call := &groupCall{writes: g.take(), cancel: cancel, done: make(chan struct{})}
	call.waiting = len(call.writes)

	for _, p := range call.writes {
		p.call = call
	}

	g.calls++

	go g.run(ctx, request, call)
}

// run makes the request and hands its answers out. A client that panics, or ends the goroutine, is met by those who called it.
func (g *Group) run(ctx, request context.Context, call *groupCall) {
	answers := make([]error, len(call.writes))
	returned := false

	defer func() {
		if v := recover(); !returned {
			if v == nil {
				v = errExited
			}

			for i := range answers {
				answers[i] = &panicked{v}
			}
		}

		call.cancel()
		g.deliver(ctx, call, answers)
	}()

	g.request(request, call, answers)

	returned = true
}

// deliver hands the answers out, and sends what has come meanwhile.
func (g *Group) deliver(ctx context.Context, call *groupCall, answers []error) {
	g.mu.Lock()
	defer g.mu.Unlock()

	for i, p := range call.writes {
		p.answer <- answers[i]
	}

	close(call.done)

	g.calls--
	g.flush(ctx, false)
}

// take takes the next writes from the queue. No key twice: DynamoDB would refuse the whole call.
func (g *Group) take() []*pending {
	taken := make([]*pending, 0, min(len(g.queue), groupSize))

	g.queue = slices.DeleteFunc(g.queue, func(p *pending) bool {
		if len(taken) == groupSize || slices.ContainsFunc(taken, func(q *pending) bool {
			return q.write.partition == p.write.partition
		}) {
			return false
		}

		taken = append(taken, p)

		return true
	})

	return taken
}

func (g *Group) request(ctx context.Context, call *groupCall, answers []error) {
	if len(call.writes) == 1 {
		answers[0] = g.store.alone(ctx, call.writes[0].write)

		return
	}

	statements := make([]types.BatchStatementRequest, len(call.writes))
	for i, p := range call.writes {
		statements[i] = p.write.request(g.store)
	}

	luck := rand.Float64() //nolint:gosec // spreads load, guards nothing

	for i, r := range g.store.execute(ctx, statements) {
		if answers[i] = r.err; comesAgain(r.err) {
			answers[i] = &together{r.err, luck}
		}
	}
}

// together is the error of a write whose company pauses as long as it does: what failed in one request comes again in one.
type together struct {
	error

	luck float64 // the part of the pause, 0 to 1
}

func (e *together) Unwrap() error { return e.error }

// errExited is what a caller panics with whose client has ended our goroutine.
var errExited = errors.New("idemddb: the client ended its goroutine (runtime.Goexit)")

// panicked is a panic of the client, on its way to who called it.
type panicked struct{ value any }

func (p *panicked) Error() string { return fmt.Sprint(p.value) }
