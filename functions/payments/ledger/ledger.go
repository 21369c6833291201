// Package ledger is the work of the payments sample: it adds a payment to an account's balance, in DynamoDB.
//
// The update would count a payment twice if it ran twice, and nothing in it would notice. That is the point of the sample:
// lambdawrap keeps it to one run. The effect lies outside the record's own write, though, so there are two windows that no
// wrapper can close:
//
//   - The process dies, or outlives its lease, between the update and the record of it. The next delivery runs the update
//     again.
//   - The update's reply is lost. Then nobody knows whether it was applied; [Ledger.Pay] says what it does.
//
// Writing the update and the completion in one transaction closes both; idemddb will have that as Claim.CompleteWith.
package ledger

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// DynamoDB is the part of the DynamoDB API that a Ledger uses; *dynamodb.Client fits.
type DynamoDB interface {
	UpdateItem(
		ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options),
	) (*dynamodb.UpdateItemOutput, error)
}

// ErrOutcomeUnknown is wrapped by what [Ledger.Pay] returns when the update may have been applied or not.
var ErrOutcomeUnknown = errors.New("payments: outcome unknown")

// Options shape a Ledger. Nil and zero mean the defaults.
type Options struct {
	// Pause is how long Pay waits before the update, so that a person can stop it in between. Negative is an error.
	// Defaults to none.
	Pause time.Duration
}

// Ledger adds payments to the accounts in one table. It is safe for concurrent use.
type Ledger struct {
	api     DynamoDB
	table   string
	pause   time.Duration
	retries func(*dynamodb.Options)
	wrap    lambdawrap.Options
}

// New returns the ledger in a table whose partition key is the string "pk". Its errors name the field.
func New(api DynamoDB, table string, opts *Options) (*Ledger, error) {
	if opts == nil {
		opts = &Options{}
	}

	switch {
	case api == nil:
		return nil, errors.New("payments: api: must not be nil")
	case table == "":
		return nil, errors.New("payments: table of the ledger: must not be empty")
	case opts.Pause < 0:
		return nil, errors.New("payments: Options.Pause: must not be negative")
	}

	key, errKey := lambdawrap.Body("paymentId")

	fingerprint, errFingerprint := lambdawrap.Body("account", "amount")
	if err := errors.Join(errKey, errFingerprint); err != nil {
		return nil, err
	}

	retryer := onlyRefused()

	return &Ledger{
		api:     api,
		table:   table,
		pause:   opts.Pause,
		retries: func(o *dynamodb.Options) { o.Retryer = retryer },
		wrap:    lambdawrap.Options{Key: key, Fingerprint: fingerprint},
	}, nil
}

// Options returns what to wrap [Ledger.Pay] with, the caller's own to add to: a payment is its paymentId, whatever else the
// message says. The account and the amount are its fingerprint, so that another payment under a paymentId that was used
// before is refused rather than taken for done. A message without one of the three is no payment: it has no key or no
// fingerprint, which is [lambdawrap.ErrNoKey].
func (l *Ledger) Options() *lambdawrap.Options {
	opts := l.wrap

	return &opts
}

// Pay adds the payment in a message's body to its account: the item "account#" + account has the sum in balance and the
// number of payments in payments. When it returns
//   - nil, the payment is counted;
//   - an error, it is not, and the same message may be tried again: DynamoDB refused it, or the context ended before it was
//     sent;
//   - a [lambdawrap.Permanent] error that names a field, it is not and never will be: the message is no payment;
//   - a Permanent error that wraps [ErrOutcomeUnknown], it may be counted or not.
//
// An unknown outcome is the choice between counting a payment twice, silently, and stopping it. It is stopped: the key fails
// for good, the message goes to the dead-letter queue, and a person compares the account with its payments, then either
// drops the message or deletes the payment's record and sends it again. Only a worker that is killed while it waits for the
// reply, or cancelled for want of time, cannot make that choice; its payment runs again when the lease is over.
func (l *Ledger) Pay(ctx context.Context, m events.SQSMessage) error {
	payment, err := decode(m.Body)
	if err != nil {
		return lambdawrap.Permanent(err) //nolint:wrapcheck // a marker, not a source
	}

	if err := wait(ctx, l.pause); err != nil {
		return fmt.Errorf("payments: not sent: %w", err)
	}

	return l.add(ctx, payment)
}

// replyTime is what one update has. Without it, a reply that never comes would last until the invocation's end, when it is
// too late to say that the outcome is unknown.
const replyTime = 5 * time.Second

func (l *Ledger) add(ctx context.Context, payment Payment) error {
	ctx, cancel := context.WithTimeout(ctx, replyTime)
	defer cancel()

	// No overflow to guard against: DynamoDB counts to 38 digits, 10^19 payments of the largest amount.
	_, err := l.api.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: aws.String(l.table),
		Key: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: accountKey(payment.Account)},
		},
		UpdateExpression: aws.String("ADD balance :amount, payments :one"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":amount": &types.AttributeValueMemberN{Value: strconv.FormatInt(payment.Amount, 10)},
			":one":    &types.AttributeValueMemberN{Value: "1"},
		},
	}, l.retries)

	switch {
	case err == nil:
		return nil
	case notApplied(err):
		return fmt.Errorf("payments: not applied: %w", err)
	default:
		err = fmt.Errorf("%w: check whether the account has it: %w", ErrOutcomeUnknown, err)

		return lambdawrap.Permanent(err) //nolint:wrapcheck // a marker, not a source
	}
}

// onlyRefused retries an update that DynamoDB surely did not apply. The SDK's default would also send it again after a lost
// reply, and count the payment twice.
func onlyRefused() aws.Retryer {
	const attempts, base = 4, 25 * time.Millisecond

	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = attempts
		o.Retryables = []retry.IsErrorRetryable{
			retry.RetryableErrorCode{Codes: retry.DefaultThrottleErrorCodes},
			retry.RetryableErrorCode{Codes: map[string]struct{}{
				"TransactionConflictException": {}, "ReplicatedWriteConflictException": {},
			}},
		}
		o.Backoff = retry.BackoffDelayerFunc(func(attempt int, _ error) (time.Duration, error) {
			return rand.N(base << attempt), nil //nolint:gosec // spreads load, guards nothing
		})
	})
}

// notApplied tells an update that surely had no effect: DynamoDB answered that it refuses it, or there was no connection to
// send it on. All else, a server error included, may have been applied.
func notApplied(err error) bool {
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		return true
	}

	answer, ok := errors.AsType[smithy.APIError](err)
	if !ok || answer.ErrorFault() == smithy.FaultServer {
		return false
	}

	response, ok := errors.AsType[*awshttp.ResponseError](err)

	return !ok || response.HTTPStatusCode() < http.StatusInternalServerError
}

func wait(ctx context.Context, pause time.Duration) error {
	if pause > 0 {
		timer := time.NewTimer(pause)
		defer timer.Stop()

		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}

	return context.Cause(ctx) //nolint:wrapcheck // wrapped by Pay
}
