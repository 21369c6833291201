package engine

import (
	"time"

	"github.com/idemddb/go-idemddb/internal/planner"
)

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

// Flush lets the writes that wait for others of the group by Joint.Hold leave.
func (e *Engine) Flush(g *Group) {
	e.change(func() {
		g.Flush()
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
