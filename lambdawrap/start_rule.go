package lambdawrap

import (
	"slices"
	"sync"
	"time"
)

// untilLastStart is how much time is left until it is too late for a handler to start, in an invocation with a deadline. Without a
// time-out, the handlers that succeeded lately say how long one takes; but the first half of the time is open to any.
func (l *limits) untilLastStart() time.Duration {
	need := l.timeout

	if need == 0 {
		need = l.end.Sub(l.begun) / 2 //nolint:mnd // half

		if longest, ok := l.durations.max(); ok {
			need = min(need, longest+longest/4) //nolint:mnd // a quarter more
		}
	}

	return time.Until(l.end) - need
}

// durations are how long the last handlers that succeeded took. The longest of them says when it is too late for another one to start.
type durations struct {
	mu   sync.Mutex
	last [16]time.Duration
	n    int
}

// add keeps the duration of a handler that succeeded, in place of the oldest one.
func (d *durations) add(took time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()

	d.last[d.n%len(d.last)] = took
	d.n++
}

// max returns the longest duration, and false if no handler has succeeded yet.
func (d *durations) max() (time.Duration, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()

	return slices.Max(d.last[:]), d.n > 0
}
