// Package engine sends the writes of a Store, in the flights that package planner makes of them. It has all goroutines and timers
// of the writes of records, but those that renew a lease (idemddb/renew.go) and the pauses before a changed record is asked for
// again (idemddb/acquire.go), and no rules: each event is handed to the planner, and what the planner says is done.
//
// A flight of one write is sent by its caller's goroutine with its caller's context. A flight of several writes has a goroutine,
// and a context that is made from nothing: the tenant, the trace and the credentials of one caller must not travel with the
// writes of another one. The last caller that leaves such a flight cancels it and waits for its end, so that no request outlives
// its callers: AWS Lambda freezes what is left.
package engine

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/internal/planner"
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/wire"
)

// Config is what an Engine needs of its Store. The functions may be called at any time, also by several goroutines at once.
type Config struct {
	API        wire.Client
	Transactor wire.Transactor // nil if no write is joint
	Options    []func(*dynamodb.Options)

	// Shared sends the requests of several writes; nil if each write is a request of its own.
	Shared wire.Executor

	// The goroutine of a write's caller calls these, with its context and key: before each further try, after a conflict, and when
	// requests are not shared, or the records of a transaction not read first, from now on. The error says why.
	Retried  func(ctx context.Context, key string, err error)
	Conflict func(ctx context.Context, key string, err error) // another transaction held an item of the write
	Unshared func(ctx context.Context, key string, err error)
	Unread   func(ctx context.Context, key string, err error)

	// IsCounted says that a crash counts against each key that was claimed, whether or not its work had begun.
	IsCounted bool
}

// Engine sends the writes of one Store. It is safe for concurrent use and needs no closing: none of its goroutines outlives the
// calls of Send that wait for it.
type Engine struct {
	Config

	mu      sync.Mutex
	unbusy  sync.Cond // a call that was busy is not
	planner planner.Planner
	timer   *time.Timer
	wakeAt  time.Time // when the timer fires; zero if it does not
	wrong   int       // shared requests in a row that were answered with a wrong number of answers
}

// New returns the Engine of a Store.
func New(c Config) *Engine {
	e := &Engine{Config: c}
	e.unbusy.L = &e.mu
	e.planner.IsSingle = c.Shared == nil

	return e
}

// Send sends a write until it is answered, or until ctx ends. It returns an error if the write got no answer. Whatever the
// operation writes must be safe to send again after a try with an unknown outcome, and must be safe against a late request of
// such a try, which arrives after its sender has given it up.
func (e *Engine) Send(ctx context.Context, w Write) error {
	return e.Begin(ctx, w).Wait(ctx)
}

// Begin begins Send. Wait must follow.
func (e *Engine) Begin(ctx context.Context, w Write) *Call {
	c := newCall(&w)
	c.engine = e

	if ctx.Err() != nil {
		c.isOver, c.err = true, gaveUp(ctx, nil)

		return c
	}

	e.mu.Lock()
	defer e.mu.Unlock()

	now := time.Now()
	if c.flight = e.planner.Submit(now, &c.Write); c.flight == nil {
		e.depart(now)
	}

	return c
}

// Wait ends Send.
func (c *Call) Wait(ctx context.Context) error {
	c.waitOver(ctx)

	if c.hasLeft { // without the mutex, because an error of the client and a context may be code of the user
		return gaveUp(ctx, c.err)
	}

	return c.err
}

func (c *Call) waitOver(ctx context.Context) {
	e := c.engine

	e.mu.Lock()
	defer e.mu.Unlock()

	defer func() { // also if the user's code panics or ends the goroutine
		if !c.isOver || c.busy {
			e.withdraw(c)
		}

		if c.isLast {
			e.leave(c.Group)
		}
	}()

	for {
		switch {
		case len(c.reports) > 0:
			e.report(ctx, c)
		case c.last != nil:
			e.awaitLast(c)
		case c.isOver:
			return
		case c.flight != nil:
			e.fly(ctx, c)
		default:
			e.await(ctx, c)
		}
	}
}

// leave ends a membership of a group. It is called with the mutex of the Engine held.
func (e *Engine) leave(g *planner.Group) {
	g.Members--

	if !e.wakeAt.IsZero() { // a write waits, perhaps for this member
		e.depart(time.Now())
	}
}

// newCall makes the planner's write of a write. A write without a Group has one of its own.
func newCall(w *Write) *Call {
	c := &Call{op: w.Operation, key: w.Key, isLast: w.IsLast, retried: w.Retried}
	c.Write = planner.Write{
		Policy: w.Policy, Record: w.Record, Group: &c.own, Handle: c,
		IsAlone: w.IsAlone, IsExtend: w.IsExtend, IsUrgent: w.IsUrgent, IsRemoval: w.IsRemoval,
	}

	if w.Group != nil {
		c.Group = &w.Group.plan
	}

	if c.Joint = w.Joint; c.Joint != nil {
		c.joiner, _ = w.Operation.(Joiner)

		return c
	}

	c.requester, _ = w.Operation.(Requester)
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

// fly sends a flight of one write, in the goroutine of its caller. If the client panics or ends the goroutine, so does Send.
func (e *Engine) fly(ctx context.Context, c *Call) {
	f, before := c.flight, c.err
	c.flight, c.answers[0] = nil, planner.Done

	e.unlocked(func() {
		defer func() { e.land(f, c.answers[:], c.errs[:]) }()

		request, cancel := context.WithTimeout(ctx, f.Limit)
		defer cancel()

		if c.joiner != nil {
			answers := transactionOf(f, c).send(request, e, f)
			c.answers[0], c.errs[0] = answers.read(0, c)
		} else {
			answer := wire.Send(request, e.API, c.requester.Request(), e.Options...)
			f.IsAnswered = answer.Outcome != protocol.Unknown
			c.answers[0], c.errs[0] = c.readSingle(answer)
		}

		if c.answers[0] != planner.Done && ctx.Err() != nil {
			c.answers[0], c.errs[0] = planner.Done, gaveUp(ctx, afterOthers(ctx, c.errs[0], before))
		}
	})
}

func (c *Call) readSingle(answer protocol.Answer) (planner.Answer, error) {
	if _, err := c.op.Read(answer); err != nil {
		return after(answer.Outcome), err
	}

	return planner.Done, nil
}

// land hands the answers to a flight to the planner, and wakes its callers. The errors are those of the tries.
func (e *Engine) land(f *planner.Flight, answers []planner.Answer, errs []error) {
	e.mu.Lock()
	defer e.mu.Unlock()

	now := time.Now()
	over := e.planner.Land(now, f, answers, rand.Float64()) //nolint:gosec // spreads load, guards nothing

	isDone := true

	for i, w := range f.Writes {
		c := callOf(w)
		if c.isOver { // its caller has left
			continue
		}

		c.shared, c.err = nil, errs[i]
		c.isOver = answers[i] == planner.Done || slices.Contains(over, w)
		isDone = isDone && c.isOver

		switch answers[i] {
		case planner.NotNow, planner.Rejected, planner.Gated: // it is sent again later
			if !c.isOver {
				c.reports = append(c.reports, report{to: e.Retried, err: errs[i], isRetry: true})
			}
		case planner.Done, planner.AtOnce, planner.AloneNow:
		}

		c.wake()
	}

	if s, isShared := f.Handle.(*shared); isShared {
		s.setFree()
	}

	if !isDone || !e.wakeAt.IsZero() { // where a write waits, the timer is set
		e.depart(now)
	}
}

func callOf(w *planner.Write) *Call {
	c, _ := w.Handle.(*Call)

	return c
}

// wake makes the caller look. It is called with the mutex of the Engine held.
func (c *Call) wake() {
	select {
	case c.signal <- struct{}{}:
	default: // it will look anyway
	}
}

// depart does what the planner says now, and sets the timer. It is called, with e.mu held, after each change. The timer may be
// late, and what it was set for is done here too: afterwards it is set for what comes next.
func (e *Engine) depart(now time.Time) {
	ready := e.planner.Ready(now)

	for _, w := range ready.Over {
		c := callOf(w)
		if c.err == nil {
			c.err = errNoTime
		}

		e.finish(c)
	}

	for _, f := range ready.Flights {
		if f.IsShared() {
			e.start(f)

			continue
		}

		c := callOf(f.Writes[0])
		c.flight = f
		c.wake()
	}

	switch {
	case ready.Wake.Equal(e.wakeAt):
	case ready.Wake.IsZero():
		e.timer.Stop()
	case e.timer == nil:
		e.timer = time.AfterFunc(ready.Wake.Sub(now), e.tick)
	default:
		e.timer.Reset(ready.Wake.Sub(now))
	}

	e.wakeAt = ready.Wake
}

// tick is called by the timer.
func (e *Engine) tick() {
	e.mu.Lock()
	defer e.mu.Unlock()

	e.wakeAt = time.Time{}
	e.depart(time.Now())
}

// await waits for an event of the write, or for the end of ctx.
func (e *Engine) await(ctx context.Context, c *Call) {
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

	if isEnded {
		e.withdraw(c)
	}
}
