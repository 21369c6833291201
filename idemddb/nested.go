package idemddb

import (
	"context"
	"time"
)

// heldKey is the context key for the work that runs under an idempotency key, however deep other work is nested in it: its *Claim, or the
// *staging of work that has no claim.
type heldKey struct {
	store     *Store
	partition string
}

// isNested reports whether the work of this very key runs with the context, and refuses the call if it does. The call could only wait for
// its caller. If the caller has no claim, the call would complete the key, and the effects that its caller staged would be lost.
func (a *acquisition) isNested(ctx context.Context) bool {
	var until time.Time

	switch work := ctx.Value(heldKey{a.store, a.partition}).(type) {
	case *Claim:
		if !work.isHeld() {
			return false
		}

		until = work.Deadline()
	case *staging:
		if work.isClosed() {
			return false
		}
	default:
		return false
	}

	a.err = &InProgressError{Key: a.key, Until: until, Holder: requestID(ctx), isNested: true}

	return true
}
