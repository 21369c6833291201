package idemddb

import (
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// verdict is what the error of a request says about its outcome. This file is the only one that looks inside SDK errors.
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

// isTransient tells whether the same request may succeed if it is sent again at once.
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

// isUnsupported tells whether BatchExecuteStatement is denied to the caller, or unknown to the backend.
func isUnsupported(err error) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return false
	}

	switch api.ErrorCode() {
	case "AccessDeniedException", "AccessDenied", "UnknownOperationException", "UnknownOperation", "InvalidAction", "NotImplemented":
		return true
	default:
		return false
	}
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
