// Package retry sends a request until DynamoDB answers it. It knows nothing of what a request writes.
//
// The retry policy is the library's own, because the SDK's differs between versions, waits for seconds after a first error, and
// does not retry a conflict.
package retry

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/idemddb/go-idemddb/internal/planner"
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/sleep"
	"github.com/idemddb/go-idemddb/internal/wire"
)

const (
	// MaxTry is the longest time for one try.
	MaxTry = 2 * time.Second

	minTry  = 100 * time.Millisecond // the shortest, unless the context ends earlier
	tryPart = 3                      // one try has at most this part of the time that is left
	lastTry = 2 * time.Millisecond   // with less time left than this, no further try is made
)

// isOver reports whether too little time is left for another try.
func isOver(p planner.Policy) bool { return time.Until(p.End) < lastTry }

// Do calls try until its error does not call for another try, or until the policy's end. Pauses have full jitter and double
// up to the policy's limit. A pause is at most half of the time that is left, so that tries go on until the end.
//
// Whatever try writes must be safe to send again after a try with an unknown outcome, and must be safe against a late request of such
// a try, which arrives after its sender has given it up. failed is called before each pause.
func Do(ctx context.Context, p planner.Policy, failed func(error), try func(context.Context) error) error {
	var denied time.Time // when DynamoDB first refused the request as such

	for limit := planner.FirstPause; ; limit = min(2*limit, p.Pause) {
		err := tryOnce(ctx, p.End, try)

		if err == nil {
			return nil
		}

		switch wire.OutcomeOf(err) {
		case protocol.Refused, protocol.Invalid:
			return err
		case protocol.Rejected:
			if denied.IsZero() {
				denied = time.Now()
			}

			if time.Since(denied) >= p.Denied {
				return err
			}
		default:
			denied = time.Time{}
		}

		if ctx.Err() != nil || isOver(p) {
			return gaveUp(ctx, err)
		}

		failed(err)

		if !sleep.For(ctx, min(jitter(limit), time.Until(p.End)/2)) { //nolint:mnd // half
			return gaveUp(ctx, err)
		}
	}
}

// tryOnce gives one try its part of the time, so that an answer that never comes leaves time for another try.
func tryOnce(ctx context.Context, end time.Time, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, min(MaxTry, max(minTry, time.Until(end)/tryPart)))
	defer cancel()

	return try(ctx)
}

// gaveUp joins the last answer of DynamoDB with the reason why there is no further try.
func gaveUp(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return errors.Join(err, cause)
	}

	return err
}

func jitter(limit time.Duration) time.Duration {
	return rand.N(limit) + 1 //nolint:gosec // spreads load, guards nothing
}
