package turns

import "time"

// Longest returns the longest duration, and false if no handler has succeeded yet.
func (d *Durations) Longest() (time.Duration, bool) { return d.max() }
