package retry

import (
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

var (
	// ErrNoContent is a successful answer that lacks what was asked for. Something between the client and DynamoDB answered, or dropped
	// the content, so the outcome is unknown.
	ErrNoContent = errors.New("the answer has no content")

	// ErrFinal is the error of a try that its sender does not want to make again.
	ErrFinal = errors.New("must not be sent again in this way")
)

// IsTransient reports whether the same request may succeed if it is sent again at once.
func IsTransient(err error) bool {
	v := judge(err)

	return err != nil && (v == unprocessed || v == unknown)
}

// IsUnknown reports whether the write may have been applied although it has this error.
func IsUnknown(err error) bool { return err != nil && judge(err) == unknown }

// Code returns DynamoDB's code for an error; "InvalidRequest" for a request that the SDK could not encode.
func Code(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode()
	}

	return "InvalidRequest"
}

// Refusal returns the item that a refused condition carries, or nil if it carries none. It returns false for other errors.
func Refusal(err error) (found map[string]types.AttributeValue, isRefused bool) {
	e, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
	if !ok {
		return nil, false
	}

	return e.Item, true
}

// verdict is what the error of a request says about its outcome.
type verdict int

const (
	refused     verdict = iota // the condition was false
	invalid                    // the request can never succeed as it is
	rejected                   // DynamoDB refused the request for another reason than its condition, and wrote nothing
	unprocessed                // DynamoDB did not process the request now, and wrote nothing
	unknown                    // no answer, or one that leaves it open: the write may have been applied
)

// verdicts holds the verdict on each of DynamoDB's error codes that is retried or that can never succeed. The SDK's own list lacks the two
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

func judge(err error) verdict {
	if _, ok := Refusal(err); ok {
		return refused
	}

	// An error that a fake or a middleware made can lack its response, and HTTPStatusCode panics then.
	e, ok := errors.AsType[*smithyhttp.ResponseError](err)
	if ok && e.Response != nil && e.Response.Response != nil && e.HTTPStatusCode() >= firstServerError {
		return unknown
	}

	if api, ok := errors.AsType[smithy.APIError](err); ok {
		if v, ok := verdicts[api.ErrorCode()]; ok {
			return v
		}

		return rejected
	}

	if errors.Is(err, ErrFinal) || isUnsendable(err) {
		return invalid
	}

	// A broken connection, a time-out and an answer that ended early are not answers of DynamoDB.
	return unknown
}

// isUnsendable reports whether the request never left, because the SDK cannot encode it.
func isUnsendable(err error) bool {
	_, encoding := errors.AsType[*smithy.SerializationError](err)
	_, parameter := errors.AsType[*smithy.InvalidParamsError](err)

	return encoding || parameter
}
