package planner

import "time"

// Group is what belongs together among the writes: those of an invocation, or of one call. Its zero value is ready. The methods of Planner
// use it, so it is as little safe for concurrent use as they are.
type Group struct {
	waiting  []*Write // in the order in which they came
	open     int      // writes that have no answer
	members  int      // callers that will still write
	expected int      // members that are announced and have not come yet
}

// Expect announces n calls of Arrive that come at once, so that the first claims wait for the others.
func (g *Group) Expect(n int) { g.expected += n }

// Arrive counts a member that may have been announced. It will still write.
func (g *Group) Arrive() {
	g.members++
	g.expected = max(0, g.expected-1)
}

// Join counts a member, which will still write.
func (g *Group) Join() { g.members++ }

// Leave ends a membership.
func (g *Group) Leave() { g.members-- }

// insert queues a write in the order of Submit: one that is sent again keeps its place.
func (g *Group) insert(w *Write) {
	at := len(g.waiting)
	for at > 0 && g.waiting[at-1].number > w.number {
		at--
	}

	g.waiting = append(g.waiting, nil)
	copy(g.waiting[at+1:], g.waiting[at:])
	g.waiting[at] = w
}

// lingersUntil returns until when the writes of the group wait for others of the group; zero if they do not wait.
func (g *Group) lingersUntil() time.Time {
	switch {
	case len(g.waiting) == 0:
		return time.Time{}
	case g.expected > 0:
		return g.waiting[0].since.Add(expectTime)
	case g.members > g.open:
		return g.waiting[0].since.Add(lingerTime)
	default:
		return time.Time{}
	}
}

// lingers reports whether the next write of the group waits for others of the group.
func (g *Group) lingers() bool { return g.expected > 0 || g.members > g.open }

// giveUpExpected waits no longer for members that were announced and did not come.
func (g *Group) giveUpExpected(now time.Time) {
	if g.expected > 0 && !now.Before(g.lingersUntil()) {
		g.expected = 0
	}
}
