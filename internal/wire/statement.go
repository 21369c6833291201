package wire

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/idemddb/go-idemddb/internal/protocol"
)

// Executor is what [Statements] needs of a client; *dynamodb.Client has it.
type Executor interface {
	BatchExecuteStatement(
		ctx context.Context, in *dynamodb.BatchExecuteStatementInput, opts ...func(*dynamodb.Options),
	) (*dynamodb.BatchExecuteStatementOutput, error)
}

// Shared is the answer to a shared request.
type Shared struct {
	Answers []protocol.Answer // one for each statement; nil if Err is not nil
	Err     error             // the request as a whole got no answer, or none to each statement
	Denied  error             // the caller may not make shared requests, or the backend does not know them
}

// ErrCount is the error of an answer with another number of answers than statements.
var ErrCount = fmt.Errorf("%w: the number of answers is not that of the statements", protocol.ErrNoContent)

// Statements makes one request of up to 25 statements.
func Statements(
	ctx context.Context, api Executor, statements []types.BatchStatementRequest, opts ...func(*dynamodb.Options),
) Shared {
	out, err := api.BatchExecuteStatement(ctx, &dynamodb.BatchExecuteStatementInput{Statements: statements}, opts...)

	switch {
	case isUnsupported(err):
		return Shared{Err: err, Denied: err}
	case err != nil:
		return Shared{Err: err}
	case out == nil || len(out.Responses) != len(statements):
		return Shared{Err: ErrCount}
	}

	shared := Shared{Answers: make([]protocol.Answer, len(statements))}

	for i, r := range out.Responses {
		shared.Answers[i] = statementAnswer(r)

		if r.Error != nil && r.Error.Code == types.BatchStatementErrorCodeEnumAccessDenied {
			shared.Denied = &smithy.GenericAPIError{Code: "AccessDeniedException", Message: aws.ToString(r.Error.Message)}
		}
	}

	return shared
}

// isUnsupported reports whether BatchExecuteStatement is denied to the caller, or unknown to the backend.
func isUnsupported(err error) bool {
	if IsTransient(err) {
		return false
	}

	switch Code(err) {
	case "AccessDeniedException", "AccessDenied", "UnknownOperationException", "UnknownOperation", "InvalidAction", "NotImplemented":
		return true
	default:
		return false
	}
}

// statementErrors maps the error codes of a statement to those of a request of its own. A refused INSERT and a refused UPDATE
// have outcomes instead. Any other code means a misconfigured table. The single request is then made, because its error is more
// specific.
var statementErrors = map[types.BatchStatementErrorCodeEnum]string{
	types.BatchStatementErrorCodeEnumProvisionedThroughputExceeded: "ProvisionedThroughputExceededException",
	types.BatchStatementErrorCodeEnumRequestLimitExceeded:          "RequestLimitExceeded",
	types.BatchStatementErrorCodeEnumThrottlingError:               "ThrottlingException",
	types.BatchStatementErrorCodeEnumTransactionConflict:           "TransactionConflictException",
	types.BatchStatementErrorCodeEnumInternalServerError:           "InternalServerError",
}

func statementAnswer(r types.BatchStatementResponse) protocol.Answer {
	if r.Error == nil {
		return protocol.Answer{Item: r.Item, IsShared: true}
	}

	a := protocol.Answer{Outcome: protocol.NotShared, IsShared: true, Err: &smithy.GenericAPIError{
		Code: string(r.Error.Code), Message: aws.ToString(r.Error.Message),
	}}

	switch r.Error.Code { //nolint:exhaustive // the other codes follow below
	case types.BatchStatementErrorCodeEnumConditionalCheckFailed:
		a.Outcome, a.Item = protocol.Refused, r.Error.Item
	case types.BatchStatementErrorCodeEnumDuplicateItem:
		a.Outcome = protocol.Taken
	}

	if code, ok := statementErrors[r.Error.Code]; ok {
		a.Err = &smithy.GenericAPIError{Code: code, Message: aws.ToString(r.Error.Message)}
		a.Outcome = OutcomeOf(a.Err)
	}

	return a
}
