package groupcommit

import (
	"context"
	"errors"
	"slices"

	"github.com/idemddb/go-idemddb/internal/panicerror"
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/retry"
	"github.com/idemddb/go-idemddb/internal/wire"
)

// TheClient is who panicked, in the text of a panic of the client.
const TheClient = "idemddb: the client"

// ErrExited is the panic of a writer whose client has ended the goroutine of the request.
var ErrExited error = &panicerror.Error{Who: TheClient, Value: errors.New("idemddb: the client ended its goroutine (runtime.Goexit)")}

// call is one request with all of its tries.
type call struct {
	queue  *Queue
	writes []*write
	tries  int
	landed bool // its first try is over
	cancel context.CancelFunc
	done   chan struct{} // closed when it has ended
}

// run sends the request until all of its writes are answered. If the client panics or ends the goroutine, the writers panic.
func (c *call) run(ctx context.Context) {
	failure := ErrExited

	defer func() {
		c.cancel()
		c.land(ctx) // all writers may have left before the first try
		c.finish(failure, c.writes...)
		close(c.done)
	}()
	defer panicerror.Catch(TheClient, &failure)

	for open := c.open(c.writes); len(open) > 0; open = c.open(c.writes) {
		err := retry.Do(ctx, policy(open), func(err error) { c.retried(ctx, err) }, c.try)
		c.finishEnded(ctx, err)
	}
}

// open returns the writes that have no answer.
func (c *call) open(writes []*write) []*write {
	c.queue.mu.Lock()
	defer c.queue.mu.Unlock()

	return slices.DeleteFunc(slices.Clone(writes), func(w *write) bool { return w.state == finished })
}

// policy returns the strictest policy of the open writes: the earliest end and the shortest pause.
func policy(open []*write) retry.Policy {
	p := open[0].Policy
	for _, w := range open[1:] {
		p.Pause = min(p.Pause, w.Policy.Pause)
		if w.Policy.End.Before(p.End) {
			p.End = w.Policy.End
		}
	}

	return p
}

// retried reports that the open writes are sent again.
func (c *call) retried(ctx context.Context, err error) {
	key := ""
	if len(c.writes) == 1 {
		key = c.writes[0].Key
	}

	c.queue.Client.Retried(ctx, key, err)

	for _, w := range c.open(c.writes) {
		w.OnRetry()
	}
}

// try makes one request of the open writes, and another one at once of those whose answer asks for the other statement. It returns an
// error if some must be sent again.
func (c *call) try(ctx context.Context) (fault error) {
	defer c.land(ctx)

	for next := c.sendable(c.writes); len(next) > 0; next = c.sendable(next) {
		other, err := c.exchange(ctx, next)
		if err != nil {
			fault = err
		}

		next = other
	}

	c.tries++

	// DynamoDB has answered some writes, so one that still fails has a problem with its own key. Such writes must not delay each other.
	if open := c.open(c.writes); c.tries >= maxTries && len(open) < len(c.writes) {
		c.finish(errAlone, open...)

		return nil
	}

	return fault
}

// sendable returns the writes that have no answer. A writer waits for each of them; a write for which nobody waits must not be sent. If
// shared requests are off, because an earlier try or another request was denied, sendable returns none, and each write is sent by a request
// of its own.
func (c *call) sendable(writes []*write) []*write {
	open := c.open(writes)
	if c.queue.Client.Shares() {
		return open
	}

	c.finish(errAlone, open...)

	return nil
}

// exchange makes one request of the writes, and gives answers to those that are done. It returns those whose answer asks for the other
// statement, and why others must be sent again.
func (c *call) exchange(ctx context.Context, writes []*write) (other []*write, fault error) {
	var done, single []*write

	for i, a := range c.ask(ctx, writes) {
		w := writes[i]

		switch step, err := w.read(a); step {
		case protocol.Done:
			done = append(done, w)
		case protocol.Other:
			other = append(other, w)
		case protocol.Again:
			fault = err
		case protocol.Single:
			single = append(single, w)
		}
	}

	if len(done) > 0 {
		c.land(ctx)
	}

	c.finish(nil, done...)
	c.finish(errAlone, single...)

	return other, fault
}

// ask makes one request of the writes and returns an answer to each. The only write of a call has a request of its own.
func (c *call) ask(ctx context.Context, writes []*write) []protocol.Answer {
	if len(c.writes) == 1 {
		client := c.queue.Client

		return []protocol.Answer{wire.Update(ctx, client.API, writes[0].Input(), client.Options...)}
	}

	return c.queue.Client.execute(ctx, statements(writes))
}

// land lets the writes that came meanwhile go: they wait for the first answer to a request, not for its retries. It is called before
// the writers of the request have their answers: what they write next waits for the others again.
func (c *call) land(ctx context.Context) {
	c.queue.mu.Lock()
	defer c.queue.mu.Unlock()

	if !c.landed {
		c.landed = true
		c.queue.underWay--
		c.queue.flush(ctx, false)
	}
}

// finishEnded answers the open writes that are not sent again with the last error. After a transient error, a write whose own time is not
// over stays open: the tries ended with the time of another write.
func (c *call) finishEnded(ctx context.Context, err error) {
	goesOn := ctx.Err() == nil && wire.IsTransient(err)

	c.finish(err, slices.DeleteFunc(c.open(c.writes), func(w *write) bool { return goesOn && !w.Policy.IsOver() })...)
}

// finish answers those of the writes that have no answer yet. It marks all of them as answered before any writer runs again, so that the
// next writes of these writers can share a request.
func (c *call) finish(err error, writes ...*write) {
	c.queue.mu.Lock()
	defer c.queue.mu.Unlock()

	for _, w := range writes {
		if w.state != finished {
			c.queue.finish(w, err)
		}
	}

	if !c.isAwaited() { // the rest of the request has no writers
		c.cancel()
	}
}

// isAwaited reports whether a writer waits for the call. It is called with the mutex of the Queue held.
func (c *call) isAwaited() bool {
	return slices.ContainsFunc(c.writes, func(w *write) bool { return w.state != finished })
}
