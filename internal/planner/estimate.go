package planner

import (
	"slices"
	"time"
)

const (
	firstT    = 5 * time.Millisecond // before a flight was answered
	shortestT = time.Millisecond     // so that the gate of rule 7 is never closed for so short a time that nothing has changed
	longestT  = 100 * time.Millisecond
)

// estimate is how long the last flights took: their median is T. Its zero value is ready.
type estimate struct {
	last   [15]time.Duration // each at most longestT
	n      int
	median time.Duration // 0 before the first
}

// add counts a flight that was answered.
func (e *estimate) add(took time.Duration) {
	e.last[e.n%len(e.last)] = min(took, longestT)
	e.n++

	sorted := e.last
	known := sorted[:min(e.n, len(sorted))]
	slices.Sort(known)
	e.median = max(shortestT, known[len(known)/2])
}

// t returns T.
func (e *estimate) t() time.Duration {
	if e.median == 0 {
		return firstT
	}

	return e.median
}
