// Package exception makes the errors of DynamoDB, as the SDK returns them: with the types of the SDK, and with the texts that
// DynamoDB sends.
package exception

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// Validation returns a ValidationException. The SDK has no type for it, and leaves the fault of such errors unknown.
func Validation(format string, args ...any) error {
	return &smithy.GenericAPIError{Code: "ValidationException", Message: fmt.Sprintf(format, args...)}
}

// TableNotFound returns the error of a request whose table does not exist.
func TableNotFound() error {
	return &types.ResourceNotFoundException{Message: new("Cannot do operations on a non-existent table")}
}

// ConditionFailed returns the error of a write whose condition does not hold. The item is nil if the request does not ask for
// it.
func ConditionFailed(it map[string]types.AttributeValue) error {
	return &types.ConditionalCheckFailedException{Message: new("The conditional request failed"), Item: it}
}

// Conflict returns the error of a request whose item a transaction holds.
func Conflict() error { return &types.TransactionConflictException{Message: new(isOngoing)} }

// ThroughputExceeded returns the error of a request whose partition, or whose table, has no units left.
func ThroughputExceeded(reasons ...types.ThrottlingReason) error {
	return &types.ProvisionedThroughputExceededException{Message: new(overProvided), ThrottlingReasons: reasons}
}

// Throttled returns the error of a request that exceeds a limit of the account.
func Throttled() error {
	return &types.ThrottlingException{Message: new("Rate of requests exceeds the allowed throughput")}
}

// InternalServer returns the error of a request that DynamoDB fails to answer.
func InternalServer() error {
	return &types.InternalServerError{Message: new("Internal server error")}
}

// TokenMismatch returns the error of a transaction whose ClientRequestToken belongs to a transaction with other items.
func TokenMismatch() error {
	return &types.IdempotentParameterMismatchException{Message: new("Request rejected because it was retried with a different payload")}
}

// TransactionInProgress returns the error of a transaction whose ClientRequestToken belongs to a transaction in flight.
func TransactionInProgress() error {
	return &types.TransactionInProgressException{Message: new("The transaction with the given request token is already in progress")}
}
