package idemddb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"

	"github.com/idemddb/go-idemddb/internal/retry"
)

const (
	claimCap  = time.Second            // the longest pause between the tries of a claim
	settleCap = 200 * time.Millisecond // the same for a write that settles finished work: each pause is a window for a crash
)

// sdkOptions turn off the SDK's own retries and its check of the answer's checksum: that check only logs a warning after the
// answer was accepted, and it does so for every refusal of DynamoDB Local, which sends no checksum. All requests share the
// slice, so it is never written.
var sdkOptions = []func(*dynamodb.Options){func(o *dynamodb.Options) {
	o.Retryer = aws.NopRetryer{}
	o.DisableValidateResponseChecksum = true
}}

// send sends a request until it is answered, in a shared request if there is a batch. Its error is that of a request without an
// answer.
func (s *Store) send(ctx context.Context, b *Batch, key string, p retry.Policy, r request) error {
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

// retry retries a request of one key. expr.go argues for each write that it is safe to send again.
func (s *Store) retry(ctx context.Context, key string, p retry.Policy, try func(context.Context) error) error {
	return retry.Do(ctx, p, func(err error) { s.retried(ctx, key, err) }, try) //nolint:wrapcheck // its caller names the key
}

// retried tells that a try of a request of one key, or with key "" of several, had this answer, and another try follows.
func (s *Store) retried(ctx context.Context, key string, err error) {
	s.opts.Observe(ctx, Event{Kind: Retried, Key: key, Err: err})
	onRetry(ctx)()
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
