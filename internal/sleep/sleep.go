// Package sleep waits for a time or for the end of a context.
package sleep

import (
	"context"
	"time"
)

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
