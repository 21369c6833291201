package planner

import "time"

// Group is what belongs together among the writes: those of an invocation, or of one call. Its zero value is ready. The methods of Planner
// use it, so it is as little safe for concurrent use as they are.
type Group struct {
	waiting  [lanes][]*Write // in the order in which they came
	open     int             // writes that have no answer
	members  int             // callers that will still write
	expected int             // members that are announced and have not come yet
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

// Flush lets the writes that wait for others of the group by Joint.Hold leave.
func (g *Group) Flush() {
	for _, w := range g.waiting[transactions] {
		w.Joint.Hold = 0
	}
}

// insert queues a write in the order of Submit: one that is sent again keeps its place.
func (g *Group) insert(w *Write) {
	list := g.waiting[w.lane]

	at := len(list)
	for at > 0 && list[at-1].number > w.number {
		at--
	}

	list = append(list, nil)
	copy(list[at+1:], list[at:])
	list[at] = w
	g.waiting[w.lane] = list
}

// lingersUntil returns until when the writes of a lane wait for others of the group; zero if they do not wait.
func (g *Group) lingersUntil(lane int) time.Time {
	for _, w := range g.waiting[lane] {
		if w.hasLeft {
			continue
		}

		if wait := g.lingerOf(w); wait > 0 {
			return w.since.Add(wait)
		}

		break
	}

	return time.Time{}
}

// giveUpExpected waits no longer for members that were announced and did not come.
func (g *Group) giveUpExpected(now time.Time) {
	if until := g.lingersUntil(statements); g.expected > 0 && !until.IsZero() && !now.Before(until) {
		g.expected = 0
	}
}
