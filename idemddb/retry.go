package idemddb

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/idemddb/go-idemddb/internal/sleep"
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

// send sends a request until it is answered, in a shared request if there is a batch. Its error is that of a request without an
// answer.
func (s *Store) send(ctx context.Context, b *Batch, key string, p policy, r request) error {
	if b != nil && s.shares() {
		if done, err := b.send(ctx, key, p, r); done {
			return err
		}
	}

	return s.retry(ctx, key, p, func(ctx context.Context) error { return s.sendSingle(ctx, r) })
}

// shares reports whether writes share requests now: the client has BatchExecuteStatement, it was not denied recently, and neither
// Options.Single nor IDEMDDB_DISABLED is set.
func (s *Store) shares() bool {
	if s.batcher == nil {
		return false
	}

	until := s.singleUntil.Load()

	return until == nil || time.Now().After(*until)
}

// sendSingle makes one try with a request of its own. Its error is nil once the request is answered.
func (s *Store) sendSingle(ctx context.Context, r request) error {
	out, err := s.api.UpdateItem(ctx, r.single(), sdkOptions...)
	answer := response{err: err}

	if err == nil && out != nil {
		answer.item = out.Attributes
	}

	_, err = r.read(answer)

	return err
}

// retry retries a request of one key, or with key "" of several. It emits an event for each retry.
func (s *Store) retry(ctx context.Context, key string, p policy, try func(context.Context) error) error {
	return retry(ctx, p, func(err error) {
		s.opts.Observe(ctx, Event{Kind: Retried, Key: key, Err: err})
		onRetry(ctx)()
	}, try)
}

type onRetryKey struct{}

// OnRetry returns a context for settling a claim. f is called each time that a try of the write has failed and another one follows.
// It must be quick and safe for concurrent use. It is for wrappers, which should not begin new work while the records of finished
// work do not get through.
func OnRetry(ctx context.Context, f func()) context.Context {
	return context.WithValue(ctx, onRetryKey{}, f)
}

// onRetry returns the function that was given to OnRetry, or one that does nothing.
func onRetry(ctx context.Context) func() {
	if f, ok := ctx.Value(onRetryKey{}).(func()); ok {
		return f
	}

	return func() {}
}

// retry calls try until its error does not call for another try, or until the policy's end. Pauses have full jitter and double
// up to the policy's limit. A pause is at most half of the time that is left, so that retries go on until the end.
//
// Whatever try writes must be safe to send again after a try with an unknown outcome, and must be safe against a late request of such
// a try, which arrives after its sender has given it up; expr.go argues that for each write. failed is called before each pause.
func retry(ctx context.Context, p policy, failed func(error), try func(context.Context) error) error {
	var denied time.Time // when DynamoDB first refused the request as such

	for limit := retryBase; ; limit = min(2*limit, p.pause) {
		err := tryOnce(ctx, p.end, try)

		if err == nil {
			return nil
		}

		switch judge(err) {
		case refused, invalid:
			return err
		case rejected:
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

		if !sleep.For(ctx, min(jitter(limit), left/2)) { //nolint:mnd // half
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

// verdict is what the error of a request says about its outcome.
type verdict int

const (
	refused     verdict = iota // the condition was false
	invalid                    // the request can never succeed as it is
	rejected                   // DynamoDB refused the request for another reason than its condition, and wrote nothing
	unprocessed                // DynamoDB did not process the request now, and wrote nothing
	unknown                    // no answer, or one that does not tell: the write may have been applied
)

// verdicts are those of DynamoDB's error codes that are retried, and of those that never succeed. The SDK's own list lacks the two
// conflicts. Every other code is rejected.
var verdicts = map[string]verdict{
	"ProvisionedThroughputExceededException": unprocessed,
	"ThrottlingException":                    unprocessed,
	"Throttling":                             unprocessed,
	"RequestLimitExceeded":                   unprocessed,
	"LimitExceededException":                 unprocessed,
	"RequestThrottled":                       unprocessed,
	"RequestThrottledException":              unprocessed,
	"SlowDown":                               unprocessed,
	"TransactionConflictException":           unprocessed,
	"ReplicatedWriteConflictException":       unprocessed,
	"TransactionInProgressException":         unprocessed,
	"InternalServerError":                    unknown,
	"ServiceUnavailable":                     unknown,
	"RequestTimeout":                         unknown,
	"RequestTimeoutException":                unknown,

	"ValidationException":                      invalid,
	"SerializationException":                   invalid,
	"ItemCollectionSizeLimitExceededException": invalid,
}

const firstServerError = 500 // HTTP

// errNoContent is a successful answer that lacks what was asked for. Something between the client and DynamoDB answered, or dropped
// the content, so the outcome is unknown.
var errNoContent = errors.New("the answer has no content")

func judge(err error) verdict {
	if _, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return refused
	}

	if response, ok := errors.AsType[*smithyhttp.ResponseError](err); ok && response.HTTPStatusCode() >= firstServerError {
		return unknown
	}

	if api, ok := errors.AsType[smithy.APIError](err); ok {
		if v, ok := verdicts[api.ErrorCode()]; ok {
			return v
		}

		return rejected
	}

	if errors.Is(err, errSingle) {
		return invalid
	}

	// The request never left, because the SDK cannot encode it.
	if _, ok := errors.AsType[*smithy.SerializationError](err); ok {
		return invalid
	}

	if _, ok := errors.AsType[*smithy.InvalidParamsError](err); ok {
		return invalid
	}

	// A broken connection, a time-out and an answer that ended early are not answers of DynamoDB.
	return unknown
}

// isTransient reports whether the same request may succeed if it is sent again at once.
func isTransient(err error) bool {
	v := judge(err)

	return err != nil && (v == unprocessed || v == unknown)
}

// errorCode is DynamoDB's code for an error; "InvalidRequest" for a request that the SDK could not encode.
func errorCode(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode()
	}

	return "InvalidRequest"
}

// refusedItem returns the item that a refused condition carries, or nil if it carries none. It returns false for other errors.
func refusedItem(err error) (item, bool) {
	e, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
	if !ok {
		return nil, false
	}

	return e.Item, true
}

// explain adds to an answer that points to a wrong configuration what should be checked.
func (s *Store) explain(err error) error {
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return err
	}

	switch api.ErrorCode() {
	case "ResourceNotFoundException":
		return fmt.Errorf("table %q is missing in this account and Region: %w", s.table, err)
	case "AccessDeniedException":
		return fmt.Errorf("table %q: access denied; the role needs dynamodb:UpdateItem and dynamodb:PutItem: %w", s.table, err)
	case "ValidationException":
		return fmt.Errorf("table %q: request not valid; is the table's key Options.PartitionKey %q, Options.SortKey %q, of type S: %w",
			s.table, s.opts.PartitionKey, s.opts.SortKey, err)
	default:
		return err
	}
}
