package idemddb

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// The retry policy is the library's own, because the SDK's differs between versions, waits for seconds after a first error, and
// does not retry a conflict.
const (
	retryBase = 25 * time.Millisecond  // the first pause is at most this, each later one at most twice the one before
	claimCap  = time.Second            // the longest pause between the tries of a claim
	settleCap = 200 * time.Millisecond // the same for a write that settles finished work: each pause is a window for a crash
	lastTry   = 2 * time.Millisecond   // with less time left than this, no further try is made

	tryMax  = 2 * time.Second        // the longest time for one try
	tryMin  = 100 * time.Millisecond // the shortest, unless the context ends earlier
	tryPart = 3                      // one try has at most this part of the time that is left
)

// policy says how a request is retried.
type policy struct {
	end   time.Time     // no try begins after this
	pause time.Duration // the longest pause between two tries

	// denied is for how long the request is sent again while DynamoDB refuses it for another reason than its condition: access
	// denied, table not found. Such an answer is final for a claim. A write that settles finished work outlasts a policy that
	// takes time to propagate.
	denied time.Duration
}

// sdkOptions turn off the SDK's own retries and its check of the answer's checksum: that check only logs a warning after the
// answer was accepted, and it does so for every refusal of DynamoDB Local, which sends no checksum. All requests share the
// slice, so it is never written.
var sdkOptions = []func(*dynamodb.Options){func(o *dynamodb.Options) {
	o.Retryer = aws.NopRetryer{}
	o.DisableValidateResponseChecksum = true
}}

// retry calls try until its error does not call for another try, or until the policy's end. Pauses have full jitter and double
// up to the policy's limit. A pause is at most half of the time that is left, so that retries go on until the end.
//
// Whatever try writes must be safe to send again after a try with an unknown outcome, and must be safe against a late twin of
// such a try; expr.go argues that for each write. failed is called before each pause.
func retry(ctx context.Context, p policy, failed func(error), try func(context.Context) error) error {
	var denied time.Time // when DynamoDB first refused the request as such

	for limit := retryBase; ; limit = min(2*limit, p.pause) {
		err := tryOnce(ctx, p.end, try)

		switch v := judge(err); {
		case err == nil, v == refused, v == invalid:
			return err
		case v == rejected:
			if denied.IsZero() {
				denied = time.Now()
			}

			if time.Since(denied) >= p.denied {
				return err
			}
		default:
			denied = time.Time{}
		}

		left := time.Until(p.end)
		if ctx.Err() != nil || left < lastTry {
			return gaveUp(ctx, err)
		}

		failed(err)

		if !sleep(ctx, min(jitter(limit), left/2)) { //nolint:mnd // half
			return gaveUp(ctx, err)
		}
	}
}

// tryOnce gives one try its part of the time, so that an answer that never comes leaves time for another try.
func tryOnce(ctx context.Context, end time.Time, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, min(tryMax, max(tryMin, time.Until(end)/tryPart)))
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

// sleep waits for d. It returns false if the context ends first.
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
