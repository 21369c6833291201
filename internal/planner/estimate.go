package planner

import (
	"slices"
	"time"
)

// Estimate is how long the last flights took: their median is T. Its zero value is ready.
type Estimate struct {
	last [15]time.Duration // each at most longestT
	n    int
}

const longestT = 100 * time.Millisecond

// Add counts a flight that was answered, and returns T.
func (e *Estimate) Add(took time.Duration) time.Duration {
	e.last[e.n%len(e.last)] = min(took, longestT)
	e.n++

	sorted := e.last
	known := sorted[:min(e.n, len(sorted))]
	slices.Sort(known)

	return max(1, known[len(known)/2])
}
