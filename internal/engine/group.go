package engine

import (
	"sync"
	"time"

	"github.com/idemddb/go-idemddb/internal/planner"
)

// Group is what belongs together among the writes of a Store: those of one invocation. A wrapper announces what will come, so that the writes of
// the group wait a moment for each other and share a request. A nil Group is none. A Group needs no closing, and is safe for concurrent use.
type Group struct {
	engine *Engine
	plan   planner.Group // guarded by the mutex of the Engine

	mu        sync.Mutex
	answers   int  // claims that DynamoDB has answered
	exhausted bool // a claim had no answer for as long as it is tried, and DynamoDB has answered none since that claim began
}

// NewGroup returns a Group of writes.
func (e *Engine) NewGroup() *Group { return &Group{engine: e} }

// Ahead returns how many keys a wrapper may claim before their work can begin: as many as fit into one request. It returns 0 where that would
// save no request, and where a crash would count against a key whose work had not begun (Config.IsCounted).
func (e *Engine) Ahead() int {
	if e.IsCounted {
		return 0
	}

	e.mu.Lock()
	defer e.mu.Unlock()

	if !e.planner.Shares(time.Now()) {
		return 0
	}

	return planner.Size
}

// Expect announces n claims that are made at once, so that the first ones wait for the others and share their request. An announced claim that
// never comes delays the others by at most 10 ms.
func (g *Group) Expect(n int) { g.change(func() { g.plan.Expect(n) }, false) }

// Arrive counts a member of the group that may have been announced, and will still write.
func (g *Group) Arrive() {
	if g != nil {
		g.change(g.plan.Arrive, false)
	}
}

// Join counts a member of the group, which will still write: the writes of the group wait a moment for it.
func (g *Group) Join() {
	if g != nil {
		g.change(g.plan.Join, false)
	}
}

// Leave ends a membership.
func (g *Group) Leave() {
	if g != nil {
		g.change(g.plan.Leave, true)
	}
}

// Flush sends the commits that wait for others of the group. A commit waits until Flush is called or a transaction is full, but at most 0.1 s and
// at most half of the time that it has. A wrapper calls Flush when no other commit will come soon.
func (g *Group) Flush() { g.change(g.plan.Flush, true) }

// Patience returns how long a claim without an answer is tried, where limit is the longest time, and how many claims of the group DynamoDB has
// answered so far, for Answered. While DynamoDB answers no claim of the group, only the first claims wait; later ones make one try.
func (g *Group) Patience(limit time.Duration) (patience time.Duration, answers int) {
	if g == nil {
		return limit, 0
	}

	g.mu.Lock()
	defer g.mu.Unlock()

	if g.exhausted {
		limit = 0
	}

	return limit, g.answers
}

// Answered notes that a claim got an answer, or that it was given up without one. If a claim is given up while others are answered, the trouble
// concerns its own key only. answers is the number that Patience returned.
func (g *Group) Answered(isAnswered bool, answers int) {
	if g == nil {
		return
	}

	g.mu.Lock()
	defer g.mu.Unlock()

	if isAnswered {
		g.answers++
	}

	g.exhausted = g.answers == answers
}

func (g *Group) change(f func(), departs bool) {
	e := g.engine

	e.mu.Lock()
	defer e.mu.Unlock()

	if f(); departs {
		e.depart(time.Now())
	}
}
