package turns

import (
	"slices"
	"sync"
	"time"
)

// StartRule says when it is too late for a handler to start.
type StartRule struct {
	Begun     time.Time     // the start of the invocation
	End       time.Time     // the beginning of the reserve; zero without a deadline
	Timeout   time.Duration // of one handler; 0 for none
	Durations *Durations    // of the handlers of this process
}

// HasTime reports whether another handler may start, or its key be claimed.
func (r StartRule) HasTime() bool {
	return r.End.IsZero() || r.UntilLastStart() >= 0 && time.Until(r.End) > 0
}

// UntilLastStart returns how much time is left until it is too late for a handler to start, in an invocation with a deadline. Without a
// time-out, the handlers that succeeded lately say how long one takes; but the first half of the time is open to any.
func (r StartRule) UntilLastStart() time.Duration {
	need := r.Timeout

	if need == 0 {
		need = r.End.Sub(r.Begun) / 2 //nolint:mnd // half

		if longest, ok := r.Durations.max(); ok {
			need = min(need, longest+longest/4) //nolint:mnd // a quarter more
		}
	}

	return time.Until(r.End) - need
}

// Durations are how long the last handlers that succeeded took. The longest of them says when it is too late for another one to start.
type Durations struct {
	mu   sync.Mutex
	last [16]time.Duration
	n    int
}

// Add keeps the duration of a handler that succeeded, in place of the oldest one.
func (d *Durations) Add(took time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()

	d.last[d.n%len(d.last)] = took
	d.n++
}

// max returns the longest duration, and false if no handler has succeeded yet.
func (d *Durations) max() (time.Duration, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()

	return slices.Max(d.last[:]), d.n > 0
}
