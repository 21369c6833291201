package idemddb

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// The retry policy. It is the library's own because the SDK's differs between versions, waits for seconds after a first
// error, and does not try a conflict again.
const (
	retryBase   = 25 * time.Millisecond  // the first pause is up to this, each later one up to twice the one before
	retryCap    = time.Second            // no pause is longer
	attemptMax  = 2 * time.Second        // for one attempt
	attemptMin  = 100 * time.Millisecond // unless the deadline is nearer
	attemptPart = 3                      // an attempt has at most this part of what is left
	budget      = 10 * time.Second       // for all attempts where the context has no deadline
)

// once turns the SDK's own retries off, and its check of the reply's checksum: all that the check does is to warn, after the
// reply was taken for good, and it warns of every refusal of DynamoDB Local, which sends none with it. Shared by all requests:
// never written.
var once = []func(*dynamodb.Options){func(o *dynamodb.Options) {
	o.Retryer = aws.NopRetryer{}
	o.DisableValidateResponseChecksum = true
}}

// send makes a request until there is an answer: success, a refused condition, or a final no.
//
// Whatever call writes must be safe to send again after an attempt with unknown outcome, and against a late twin of such an
// attempt; expr.go argues that for each. call builds its input anew, so that an attempt has the clock's present time.
func send[T any](ctx context.Context, s *Store, key string, call func(context.Context) (T, error)) (T, error) {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(budget)
	}

	for pause := retryBase; ; pause = min(2*pause, retryCap) {
		out, err := attempt(ctx, deadline, call)
		if err == nil {
			return out, nil
		}

		if !comesAgain(err) {
			return out, err
		}

		wait := jitter(err, pause)
		if ctx.Err() != nil || time.Until(deadline) <= wait {
			return out, gaveUp(ctx, err)
		}

		s.observe(ctx, Event{Kind: Retried, Key: key, Err: err})

		if !sleep(ctx, wait) {
			return out, gaveUp(ctx, err)
		}
	}
}

// comesAgain tells whether a request with this answer is sent again.
func comesAgain(err error) bool {
	if err == nil {
		return false
	}

	v := judge(err)

	return v != refused && v != final
}

// jitter is a pause of up to this, at random: the same for writes that failed in one request.
func jitter(err error, pause time.Duration) time.Duration {
	if e, ok := errors.AsType[*together](err); ok {
		return time.Duration(e.luck*float64(pause)) + 1
	}

	return rand.N(pause) + 1 //nolint:gosec // spreads load, guards nothing
}

// attempt gives one request its part of the time, so that a reply that never comes leaves time for another.
func attempt[T any](ctx context.Context, deadline time.Time, call func(context.Context) (T, error)) (T, error) {
	limit := min(attemptMax, max(attemptMin, time.Until(deadline)/attemptPart))

	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	return call(ctx)
}

// gaveUp keeps both: what DynamoDB said last, and why there is no further attempt.
func gaveUp(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return errors.Join(err, cause)
	}

	return err
}

// sleep waits, or reports false when the context ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()

	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
