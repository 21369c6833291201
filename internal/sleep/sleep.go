// Package sleep waits for a time or for the end of a context.
package sleep

import (
	"context"
	"errors"
	"time"
)

// EndOf returns why a context has ended; nil if it has not. Its text also has the context's cause, but it wraps only the
// context's own error: the cause is an error of the caller, and may be the answer to another key.
func EndOf(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(err, cause) {
		return err //nolint:wrapcheck // of the context itself
	}

	return &end{err, cause}
}

type end struct{ err, cause error }

func (e *end) Error() string { return e.err.Error() + ": " + e.cause.Error() }

func (e *end) Unwrap() error { return e.err }

// For waits for d. It returns false if the context ends first.
func For(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()

	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Poll waits between two looks at what another process changes. The first pause is short, each further one is twice as long as
// the one before, and none is longer than 1 s.
type Poll struct {
	End time.Time // after it there is no further look

	pause time.Duration
}

const (
	pollMin = 50 * time.Millisecond
	pollMax = time.Second
)

// Next waits for the next look. It returns false if the time is over or the context ends first.
func (p *Poll) Next(ctx context.Context) bool {
	p.pause = min(max(2*p.pause, pollMin), pollMax)
	left := time.Until(p.End)

	return left > 0 && For(ctx, min(p.pause, left))
}
