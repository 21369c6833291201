// Package wire sends writes to DynamoDB, once, and reads the answers: as an UpdateItem or a PutItem, as the statements of a
// BatchExecuteStatement, and as a TransactWriteItems. Nothing else decides by an error of the SDK what a worker's write does
// next. It has no rules: what is sent, how often, and what follows from an answer is decided elsewhere.
package wire

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/idemddb/go-idemddb/internal/protocol"
)

// Client is what [Send] needs of a client; *dynamodb.Client has it.
type Client interface {
	UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	PutItem(ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
}

// Send makes one request.
func Send(ctx context.Context, api Client, r protocol.Request, opts ...func(*dynamodb.Options)) protocol.Answer {
	if r.Put != nil {
		out, err := api.PutItem(ctx, r.Put, opts...)
		if err == nil && out != nil {
			return answer(out.Attributes, nil)
		}

		return answer(nil, err)
	}

	out, err := api.UpdateItem(ctx, r.Update, opts...)
	if err == nil && out != nil {
		return answer(out.Attributes, nil)
	}

	return answer(nil, err)
}

// answer returns the answer to a request of one write, of which an item or an error came.
func answer(item protocol.Item, err error) protocol.Answer {
	if len(item) > 0 {
		return protocol.Answer{Item: item}
	}

	if err == nil {
		err = protocol.ErrNoContent
	}

	if refused, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		item = refused.Item
	}

	return protocol.Answer{Outcome: OutcomeOf(err), Item: item, Err: err}
}

// IsTransient reports whether the same request may succeed if it is sent again at once.
func IsTransient(err error) bool {
	outcome := OutcomeOf(err)

	return outcome == protocol.Unprocessed || outcome == protocol.Unknown
}

// Code returns DynamoDB's code for an error; "InvalidRequest" for a request that the SDK could not encode.
func Code(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode()
	}

	return "InvalidRequest"
}

// outcomes holds what each of DynamoDB's error codes says that is retried or that can never succeed. The SDK's own list lacks the
// two conflicts. Every other code is Rejected.
var outcomes = map[string]protocol.Outcome{
	"ProvisionedThroughputExceededException": protocol.Unprocessed,
	"ThrottlingException":                    protocol.Unprocessed,
	"Throttling":                             protocol.Unprocessed,
	"RequestLimitExceeded":                   protocol.Unprocessed,
	"LimitExceededException":                 protocol.Unprocessed,
	"RequestThrottled":                       protocol.Unprocessed,
	"RequestThrottledException":              protocol.Unprocessed,
	"SlowDown":                               protocol.Unprocessed,
	"TransactionConflictException":           protocol.Unprocessed,
	"ReplicatedWriteConflictException":       protocol.Unprocessed,
	"TransactionInProgressException":         protocol.Unprocessed,
	"InternalServerError":                    protocol.Unknown,
	"ServiceUnavailable":                     protocol.Unknown,
	"RequestTimeout":                         protocol.Unknown,
	"RequestTimeoutException":                protocol.Unknown,

	"ValidationException":                      protocol.Invalid,
	"SerializationException":                   protocol.Invalid,
	"ItemCollectionSizeLimitExceededException": protocol.Invalid,
}

const firstServerError = 500 // HTTP

// OutcomeOf returns what the error of a request says about its outcome.
func OutcomeOf(err error) protocol.Outcome {
	if err == nil {
		return protocol.Applied
	}

	if _, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return protocol.Refused
	}

	// An error that a fake or a middleware made can lack its response, and HTTPStatusCode panics then.
	e, ok := errors.AsType[*smithyhttp.ResponseError](err)
	if ok && e.Response != nil && e.Response.Response != nil && e.HTTPStatusCode() >= firstServerError {
		return protocol.Unknown
	}

	if api, ok := errors.AsType[smithy.APIError](err); ok {
		if outcome, ok := outcomes[api.ErrorCode()]; ok {
			return outcome
		}

		return protocol.Rejected
	}

	if isUnsendable(err) {
		return protocol.Invalid
	}

	// A broken connection, a time-out and an answer that ended early are not answers of DynamoDB.
	return protocol.Unknown
}

// isUnsendable reports whether the request never left, because the SDK cannot encode it.
func isUnsendable(err error) bool {
	_, encoding := errors.AsType[*smithy.SerializationError](err)
	_, parameter := errors.AsType[*smithy.InvalidParamsError](err)

	return encoding || parameter
}
