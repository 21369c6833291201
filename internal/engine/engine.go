// Package engine sends the writes of a Store, in the flights that package planner makes of them. It has the only goroutines and timers of
// writes, and no rules: each event is handed to the planner, and what the planner says is done.
//
// A flight of one write is sent by its caller's goroutine with its caller's context. A flight of several writes has a goroutine, and a context
// that is made from nothing: the tenant, the trace and the credentials of one caller must not travel with the writes of another one. The last
// caller that leaves such a flight cancels it and waits for its end, so that no request outlives its callers: AWS Lambda freezes what is left.
package engine

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/planner"
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/wire"
)

// Operation makes the tries of a write, and takes their answers. Only one goroutine at a time calls its methods, and none after Send has
// returned.
type Operation interface {
	// Request returns the next try as a request of its own.
	Request() wire.Request

	// Read takes the answer to the last try and keeps what follows from it. The error, if any, is the reason of the step.
	Read(answer protocol.Answer) (protocol.Step, error)
}

// Sharer is an Operation that can also travel in a request of several writes.
type Sharer interface {
	Operation

	// Statement returns the next try as a statement of a shared request.
	Statement() types.BatchStatementRequest
}

// Config is what an Engine needs of its Store. The functions may be called at any time, also by several goroutines at once.
type Config struct {
	API     wire.Client
	Options []func(*dynamodb.Options)

	// Shared sends the requests of several writes; nil if each write is a request of its own.
	Shared wire.Executor

	// The goroutine of a write's caller calls these, with its context and key: before each further try, and when requests are not shared from
	// now on. The error says why.
	Retried   func(ctx context.Context, key string, err error)
	Ungrouped func(ctx context.Context, key string, err error)
}

// Engine sends the writes of one Store. It is safe for concurrent use and needs no closing: none of its goroutines outlives the calls of Send
// that wait for it.
type Engine struct {
	Config

	mu      sync.Mutex
	unbusy  sync.Cond // a call that was busy is not
	planner planner.Planner
	times   planner.Estimate
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

// Group is what belongs together among the writes: those of an invocation.
type Group struct{ planner.Group }

// Expect announces n calls of Arrive that come at once, so that the first claims wait for the others and share their request.
func (e *Engine) Expect(g *Group, n int) { e.change(func() { g.Expect(n) }) }

// Arrive counts a member of the group that may have been announced, and will still write.
func (e *Engine) Arrive(g *Group) { e.change(g.Arrive) }

// Join counts a member of the group, which will still write: the writes of the group wait a moment for it.
func (e *Engine) Join(g *Group) { e.change(g.Join) }

// Leave ends a membership.
func (e *Engine) Leave(g *Group) {
	e.change(func() {
		g.Leave()
		e.depart(time.Now())
	})
}

func (e *Engine) change(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()

	f()
}

// Shares reports whether writes share requests now.
func (e *Engine) Shares() bool {
	e.mu.Lock()
	defer e.mu.Unlock()

	return e.planner.Shares(time.Now())
}

// depart sends the flights that leave now, and sets the timer. It is called, with e.mu held, after each change.
func (e *Engine) depart(now time.Time) {
	for f := e.planner.Depart(now); f != nil; f = e.planner.Depart(now) {
		if f.IsShared() {
			e.start(f)

			continue
		}

		c := callOf(f.Writes[0])
		c.flight = f
		c.wake()
	}

	e.setTimer(now)
}

func (e *Engine) setTimer(now time.Time) {
	at := e.planner.Wake(now)

	switch {
	case at.Equal(e.wakeAt):
	case at.IsZero():
		e.timer.Stop()
	case e.timer == nil:
		e.timer = time.AfterFunc(at.Sub(now), e.tick)
	default:
		e.timer.Reset(at.Sub(now))
	}

	e.wakeAt = at
}

// tick lets the time of the planner pass.
func (e *Engine) tick() {
	e.mu.Lock()
	defer e.mu.Unlock()

	now := time.Now()
	e.wakeAt = time.Time{}

	for _, w := range e.planner.Tick(now) {
		c := callOf(w)
		if c.err == nil {
			c.err = errNoTime
		}

		e.finish(c)
	}

	e.depart(now)
}

// land hands the answers to a flight to the planner, and wakes its callers. The errors are those of the tries.
func (e *Engine) land(f *planner.Flight, answers []planner.Answer, errs []error) {
	e.mu.Lock()
	defer e.mu.Unlock()

	now := time.Now()

	for i, w := range f.Writes {
		if f.Has(w) {
			c := callOf(w)
			c.shared, c.err, c.isOver = nil, errs[i], answers[i] == planner.Done
			c.wake()
		}
	}

	for _, w := range e.planner.Land(now, f, answers, rand.Float64()) { //nolint:gosec // spreads load, guards nothing
		callOf(w).isOver = true
	}

	for i, w := range f.Writes {
		if c := callOf(w); !c.isOver && (answers[i] == planner.NotNow || answers[i] == planner.Refused) {
			c.news = append(c.news, news{e.Retried, errs[i]})
		}
	}

	if s := sharedOf(f); s != nil {
		s.setFree()
	}

	e.depart(now)
}

// measure counts a flight that DynamoDB has answered.
func (e *Engine) measure(f *planner.Flight) {
	e.change(func() { e.planner.T = e.times.Add(time.Since(f.Born)) })
}
