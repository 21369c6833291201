package storage

import "time"

// partition is a partition of a table or of an index: what it has used, or the two into which it has split.
type partition struct {
	splitAfter time.Duration
	uses       [2]use
	splitsIn   int64         // the second from which on it is two; 0 for one that does not split
	halves     [2]*partition // nil for one that has not split
}

// What a partition has units for.
const (
	writeUse = iota
	readUse
)

// use are the units of one kind that a partition has used in one second.
type use struct {
	second int64
	units  float64
	isFull bool // a request was throttled in this second
	full   int  // seconds in a row with throttled requests, this one left out
}

// hasSplit reports whether the keys of the partition are divided among its halves.
func (p *partition) hasSplit(now time.Time) bool {
	if p.splitsIn == 0 || now.Unix() < p.splitsIn {
		return false
	}

	if p.halves[0] == nil {
		p.halves = [2]*partition{{splitAfter: p.splitAfter}, {splitAfter: p.splitAfter}}
	}

	return true
}

// isUsedUp reports whether no units are left in this second, and notes a request that is throttled for that. A partition that has
// throttled for long enough splits in the next second.
func (p *partition) isUsedUp(now time.Time, kind, limit int) bool {
	u := p.turn(now, kind)
	if limit <= 0 || u.units < float64(limit) {
		return false
	}

	u.isFull = true

	if p.splitAfter > 0 && time.Duration(u.full+1)*time.Second >= p.splitAfter {
		p.splitsIn = u.second + 1
	}

	return true
}

// turn begins a new second, if it is one.
func (p *partition) turn(now time.Time, kind int) *use {
	u := &p.uses[kind]

	second := now.Unix()
	if u.second == second {
		return u
	}

	next := use{second: second}
	if u.isFull && u.second == second-1 {
		next.full = u.full + 1
	}

	*u = next

	return u
}

func (p *partition) use(now time.Time, kind int, units float64) { p.turn(now, kind).units += units }
