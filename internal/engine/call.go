package engine

import (
	"context"
	"errors"
	"time"

	"github.com/idemddb/go-idemddb/internal/planner"
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/wire"
)

// Write is one conditional write of one record, with all of its tries.
type Write struct {
	Operation Operation

	planner.Policy

	Key      string // of the record, in events
	Record   string // the partition key
	Group    *Group // nil for a write that belongs to nothing else
	IsAlone  bool   // it travels alone, although it could be a statement
	IsExtend bool   // it extends a lease
	IsUrgent bool   // the lease that it extends is almost over
}

// errNoTime is the answer to a write whose time was over before it had one.
var errNoTime = errors.New("no answer came in time")

// call is one call of Send. The mutex of the Engine guards what changes.
type call struct {
	planner.Write

	op     Operation
	sharer Sharer // the same; nil for one that travels alone
	own    planner.Group
	signal chan struct{} // has a value when the caller must look at what follows; nil until it waits

	flight  *planner.Flight // of this write alone: the caller sends it
	shared  *shared         // the shared flight in which the write travels
	busy    bool            // its operation is used by the goroutine of a shared flight
	news    []news          // that the caller has not told
	isOver  bool            // err is the answer
	err     error           // that of the last try

	answers [1]planner.Answer // to a flight of this write alone
	errs    [1]error
	last    <-chan struct{} // closed when the request has ended which the caller left last; nil for none
}

// news is what the caller of a write tells: an error, by a function of Config.
type news struct {
	tell func(ctx context.Context, key string, err error)
	err  error
}

func callOf(w *planner.Write) *call {
	c, _ := w.Handle.(*call)

	return c
}

// wake makes the caller look. It is called with the mutex of the Engine held.
func (c *call) wake() {
	select {
	case c.signal <- struct{}{}:
	default: // it will look anyway
	}
}

// Send sends a write until it is answered, or until ctx ends. It returns an error if the write got no answer. Whatever the operation writes
// must be safe to send again after a try with an unknown outcome, and must be safe against a late request of such a try, which arrives after
// its sender has given it up.
func (e *Engine) Send(ctx context.Context, w Write) error {
	if ctx.Err() != nil {
		return gaveUp(ctx, nil)
	}

	c := newCall(&w)

	e.mu.Lock()
	defer e.mu.Unlock()

	defer e.withdraw(c) // also if the user's code panics or ends the goroutine

	now := time.Now()
	e.planner.Submit(now, &c.Write)
	e.depart(now)

	for {
		switch {
		case len(c.news) > 0:
			e.tell(ctx, w.Key, c)
		case c.isOver && c.busy:
			e.unbusy.Wait()
		case c.isOver:
			e.awaitLast(c)

			return c.err
		case c.flight != nil:
			e.fly(ctx, c)
		default:
			e.await(ctx, c)
		}
	}
}

func newCall(w *Write) *call {
	c := &call{op: w.Operation}
	c.Write = planner.Write{
		Policy: w.Policy, Record: w.Record, Group: &c.own, Handle: c,
		IsExtend: w.IsExtend, IsUrgent: w.IsUrgent,
	}

	if w.Group != nil {
		c.Group = &w.Group.Group
	}

	sharer, isSharer := w.Operation.(Sharer)
	c.sharer, c.IsAlone = sharer, w.IsAlone || !isSharer

	return c
}

// unlocked calls a function without the mutex of the Engine.
func (e *Engine) unlocked(f func()) {
	e.mu.Unlock()
	defer e.mu.Lock()

	f()
}

// tell tells the news of a write, in the goroutine of its caller.
func (e *Engine) tell(ctx context.Context, key string, c *call) {
	all := c.news
	c.news = nil

	e.unlocked(func() {
		for _, n := range all {
			n.tell(ctx, key, n.err)
		}
	})
}

// await waits for an event of the write, or for the end of ctx.
func (e *Engine) await(ctx context.Context, c *call) {
	if c.signal == nil {
		c.signal = make(chan struct{}, 1)
	}

	isEnded := false

	e.unlocked(func() {
		select {
		case <-c.signal:
		case <-ctx.Done():
			isEnded = true
		}
	})

	if !isEnded {
		return
	}

	for c.busy {
		e.unbusy.Wait()
	}

	if !c.isOver {
		c.err = gaveUp(ctx, c.err)
		e.withdraw(c)
	}
}

// withdraw takes a write back whose caller leaves, unless it has ended.
func (e *Engine) withdraw(c *call) {
	for c.busy {
		e.unbusy.Wait()
	}

	if c.isOver {
		return
	}

	now := time.Now()

	if c.flight != nil { // it was not sent
		e.planner.Land(now, c.flight, c.answers[:], 0)
	}

	e.planner.Withdraw(&c.Write)
	e.finish(c)
	e.depart(now)
}

// finish ends a write without an answer. If no other caller waits for its flight, the flight is cancelled, and the caller waits for its end.
func (e *Engine) finish(c *call) {
	c.isOver = true

	if s := c.shared; s != nil && !s.flight.IsAwaited() {
		s.cancel()
		c.last = s.done
	}

	c.wake()
}

func (e *Engine) awaitLast(c *call) {
	if c.last != nil {
		e.unlocked(func() { <-c.last })
	}
}

// gaveUp joins the last answer of DynamoDB with the reason why there is no further try.
func gaveUp(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return errors.Join(err, cause)
	}

	return err
}

// fly sends a flight of one write, in the goroutine of its caller. If the client panics or ends the goroutine, so does Send.
func (e *Engine) fly(ctx context.Context, c *call) {
	f := c.flight
	c.flight, c.answers[0] = nil, planner.Done

	e.unlocked(func() {
		defer func() { e.land(f, c.answers[:], c.errs[:]) }()

		request, cancel := context.WithTimeout(ctx, f.Limit)
		defer cancel()

		answer := wire.Send(request, e.API, c.op.Request(), e.Options...)
		if answer.Outcome != protocol.Unknown {
			e.measure(f)
		}

		if _, c.errs[0] = c.op.Read(answer); c.errs[0] == nil {
			return
		}

		if c.answers[0] = after(answer.Outcome); ctx.Err() != nil {
			c.answers[0], c.errs[0] = planner.Done, gaveUp(ctx, c.errs[0])
		}
	})
}

// after returns what follows from the outcome of a try that is not the answer to its write.
func after(o protocol.Outcome) planner.Answer {
	switch o { //nolint:exhaustive // the others are transient
	case protocol.Refused, protocol.Invalid, protocol.NotShared:
		return planner.Done
	case protocol.Rejected:
		return planner.Refused
	default:
		return planner.NotNow
	}
}
