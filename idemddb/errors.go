package idemddb

import (
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// The errors of this package, for errors.Is. What is true after each, and what a caller should do, stands beside it. An error
// that is none of these leaves the outcome unknown: the write may have happened. It is safe to repeat; a claim that was lost
// that way ends with its lease.
var (
	// ErrInProgress: nothing was written; another worker holds the key. Retry after [InProgressError].Until.
	ErrInProgress = errors.New("in progress")

	// ErrFenced: our work ran, and our write was refused: the claim was lost to another worker, settled before, or its
	// record is gone. Never repeat the work blindly; raise an alarm. [FencedError] tells who has the key.
	ErrFenced = errors.New("fenced")

	// ErrMismatch: nothing was written; the key was claimed before with another fingerprint. A bug of the sender:
	// dead-letter the message.
	ErrMismatch = errors.New("key was used for another input")

	// ErrFailed: the key ended for good, now or earlier, and is not run again while its record lives. Dead-letter the
	// message. [FailedError] holds the cause.
	ErrFailed = errors.New("failed for good")

	// ErrUnrecorded: the work is done, its record perhaps not. Acknowledge the message and raise an alarm: running it again
	// would be the second time.
	ErrUnrecorded = errors.New("completion unrecorded")

	// ErrTooLarge: nothing was sent; the record with this result does not fit into a DynamoDB item. The claim stays usable.
	ErrTooLarge = errors.New("result too large")

	// ErrResultOmitted: the work was done earlier, and its result was too large or not encodable and not kept. Done; the
	// value is zero.
	ErrResultOmitted = errors.New("done earlier, result not kept")

	// ErrBadKey: nothing was sent; the key is empty or not UTF-8.
	ErrBadKey = errors.New("bad key")

	// ErrCorrupt: no work was begun; the record can't be read, or is of another format version. For an operator. Nothing was
	// written, but for one case: a record that is free to be claimed shows only in the answer to the claim that its numbers
	// make no sense, and is then held, with nobody to work on it, to the end of that lease.
	ErrCorrupt = errors.New("record unreadable")
)

// InProgressError is the ErrInProgress of one key.
type InProgressError struct {
	Key   string
	Until time.Time // the end of the lease, by the holder's clock, if it is not renewed; a taker waits ClockSkew longer

	// Holder is the Lambda request id of the other worker, to find its logs; "" if its claim was made outside of Lambda.
	Holder string
}

func (e *InProgressError) Error() string {
	return fmt.Sprintf("idemddb: key %s is in progress until %s", KeyHash(e.Key), e.Until.UTC().Format(time.RFC3339Nano))
}

// Unwrap returns ErrInProgress.
func (*InProgressError) Unwrap() error { return ErrInProgress }

// FencedError is the ErrFenced of one claim.
type FencedError struct {
	Key     string
	Held    int64   // the fence of the claim that was refused
	Current int64   // the fence in the record; Held if the claim was settled before; 0 if the record is gone
	Record  *Record // the other's, if it completed; else nil
	Holder  string  // the Lambda request id of the worker whose claim is in the record; "" if there is none
}

func (e *FencedError) Error() string {
	text := fmt.Sprintf("idemddb: key %s: claim with fence %d is fenced", KeyHash(e.Key), e.Held)

	switch {
	case e.Current == 0:
		return text + ", its record is gone"
	case e.Current == e.Held:
		return text + ", it was settled before"
	case e.Record != nil:
		return fmt.Sprintf("%s, completed with fence %d", text, e.Current)
	default:
		return fmt.Sprintf("%s, now at fence %d", text, e.Current)
	}
}

// Unwrap returns ErrFenced.
func (*FencedError) Unwrap() error { return ErrFenced }

// FailedError is the ErrFailed of one key.
type FailedError struct {
	Key      string
	Cause    string // text of the last failure, bounded
	Attempts int    // claims whose work began
}

func (e *FailedError) Error() string {
	return fmt.Sprintf("idemddb: key %s failed for good (attempts: %d): %s", KeyHash(e.Key), e.Attempts, e.Cause)
}

// Unwrap returns ErrFailed.
func (*FailedError) Unwrap() error { return ErrFailed }

// keyError puts the package's prefix and the key's hash before an error of this package or the SDK.
func keyError(op, key string, err error) error {
	return fmt.Errorf("idemddb: %s of key %s: %w", op, KeyHash(key), err)
}

// verdict is what an error of a request says about its outcome.
type verdict int

const (
	refused  verdict = iota // a condition was false: an answer
	final                   // the service said no; sending it again changes nothing
	notDone                 // the service said not now: it did nothing
	maybe                   // no answer, or one that does not tell: the write may have happened
	conflict                // another write of the same item was under way: it did nothing
)

// retryable are the codes of the service for "not now". The SDK's own list lacks the two conflicts.
var retryable = map[string]verdict{
	"ProvisionedThroughputExceededException": notDone,
	"ThrottlingException":                    notDone,
	"Throttling":                             notDone,
	"RequestLimitExceeded":                   notDone,
	"LimitExceededException":                 notDone,
	"RequestThrottled":                       notDone,
	"RequestThrottledException":              notDone,
	"SlowDown":                               notDone,
	"TransactionConflictException":           conflict,
	"ReplicatedWriteConflictException":       conflict,
	"TransactionInProgressException":         conflict,
	"InternalServerError":                    maybe,
	"ServiceUnavailable":                     maybe,
	"RequestTimeout":                         maybe,
	"RequestTimeoutException":                maybe,
}

const firstServerError = 500 // HTTP

// judge is the only place that looks at what kind of error the SDK returned.
func judge(err error) verdict {
	if _, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return refused
	}

	if response, ok := errors.AsType[*smithyhttp.ResponseError](err); ok && response.HTTPStatusCode() >= firstServerError {
		return maybe
	}

	if api, ok := errors.AsType[smithy.APIError](err); ok {
		if v, ok := retryable[api.ErrorCode()]; ok {
			return v
		}

		return final
	}

	if errors.Is(err, errAlone) {
		return final
	}

	// The request never left: what it holds can't be sent.
	if _, ok := errors.AsType[*smithy.SerializationError](err); ok {
		return final
	}

	if _, ok := errors.AsType[*smithy.InvalidParamsError](err); ok {
		return final
	}

	// A connection that broke, a time-out, a reply that ended early: not an answer of the service.
	return maybe
}

// refusedItem returns the record that a refusal carries; nil if it has none.
func refusedItem(err error) (item, bool) {
	e, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
	if !ok {
		return nil, false
	}

	return e.Item, true
}

// explain adds what to look at to the answers that point to a wrong set-up.
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
