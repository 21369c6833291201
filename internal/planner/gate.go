package planner

import (
	"slices"
	"time"
)

const (
	hotFor   = 64 // in T: for so long an item is hot after a conflict
	maxHot   = 1000
	gateTime = 5 // in T: the gate is closed for at least so long, and for at most twice as long
	moreHot  = 2 // so many more hot items a flight may touch after each one that met no conflict
	oldTries = 4 // after so many tries of a write, a conflict of its flight closes the gate for T to 2 T only; each further try adds as much
)

// gate is what stands before the writes that touch hot items. Its zero value is open.
type gate struct {
	until map[string]time.Time // until when an item is hot
	order []string             // of the hot items, the oldest first
	opens time.Time
	most  int // hot items that a flight may touch; 0 before the first conflict, when no item is hot
}

// land takes the conflicts of a flight that has landed.
func (g *gate) land(now time.Time, f *Flight, t time.Duration, jitter float64) {
	if len(f.Conflicts) == 0 {
		if f.IsAnswered && !f.MayRepeat && g.isHotFlight(now, f) { // one that was throttled says nothing
			g.most += moreHot
		}

		return
	}

	for _, item := range f.Conflicts {
		g.heat(item, now.Add(hotFor*t))
	}

	g.most = max(1, g.hotItems(now, f)/2)
	closed := gateTime

	oldest := slices.MaxFunc(f.Writes, func(a, b *Write) int { return a.tries - b.tries })
	if tries := oldest.tries + 1; tries >= oldTries { // this one is not counted yet
		closed = min(tries-oldTries+1, gateTime)
	}

	g.opens = now.Add(time.Duration((1 + jitter) * float64(closed) * float64(t)))
}

// heat makes an item hot. The oldest one leaves the list if it is full.
func (g *gate) heat(item string, until time.Time) {
	if g.until == nil {
		g.until = map[string]time.Time{}
	}

	if _, isKnown := g.until[item]; isKnown {
		g.order = without(g.order, item)
	} else if len(g.order) == maxHot {
		delete(g.until, g.order[0])
		g.order = without(g.order, g.order[0])
	}

	g.order = append(g.order, item)
	g.until[item] = until
}

func (g *gate) isHotFlight(now time.Time, f *Flight) bool {
	return slices.ContainsFunc(f.Writes, func(w *Write) bool { return g.isHot(now, w) })
}

// isHot reports whether a write touches a hot item.
func (g *gate) isHot(now time.Time, w *Write) bool {
	return slices.ContainsFunc(w.items, func(item Item) bool { return g.isHotItem(now, item.Key) })
}

func (g *gate) isHotItem(now time.Time, key string) bool { return g.until[key].After(now) }

// hotItems returns how many hot items a flight touches.
func (g *gate) hotItems(now time.Time, f *Flight) int {
	touched := load{taken: map[string]string{}}

	for _, w := range f.Writes {
		touched.touch(w)
	}

	return g.hotAmong(now, &touched)
}

// hotAmong returns how many of the items that a load has taken are hot.
func (g *gate) hotAmong(now time.Time, l *load) (hot int) {
	for key := range l.taken {
		if g.isHotItem(now, key) {
			hot++
		}
	}

	return hot
}

// fits reports whether the next flight may take the hot items of a write beside those that it has. A write that has more of them
// than a flight may touch is the only one of its flight that has any.
func (g *gate) fits(now time.Time, w *Write, l *load) bool {
	if !g.isHot(now, w) {
		return true
	}

	more := 0

	for _, item := range w.items {
		if _, isTaken := l.taken[item.Key]; !isTaken && g.isHotItem(now, item.Key) {
			more++
		}
	}

	has := g.hotAmong(now, l)

	return l.hot > 0 && (has == 0 || has+more <= l.hot)
}
