package idemddb

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/idemddb/go-idemddb/internal/retry"
)

// batcher is what a client needs for shared requests; *dynamodb.Client has it.
type batcher interface {
	BatchExecuteStatement(
		ctx context.Context, in *dynamodb.BatchExecuteStatementInput, opts ...func(*dynamodb.Options),
	) (*dynamodb.BatchExecuteStatementOutput, error)
}

// execute makes one request of up to batchSize statements and returns an answer to each.
func (s *Store) execute(ctx context.Context, statements []types.BatchStatementRequest) []response {
	out, err := s.batcher.BatchExecuteStatement(ctx, &dynamodb.BatchExecuteStatementInput{Statements: statements}, sdkOptions...)

	switch {
	case err == nil && (out == nil || len(out.Responses) != len(statements)):
		err = fmt.Errorf("%w: the number of answers is not that of the %d statements", retry.ErrNoContent, len(statements))

		if s.wrongAnswers.Add(1) == maxWrongAnswers {
			s.goSingle(ctx, err)

			err = errSingle
		}
	case err == nil:
		s.wrongAnswers.Store(0)
	case !retry.IsTransient(err):
		if isUnsupported(err) {
			s.goSingle(ctx, err)
		}

		err = errSingle
	}

	return s.responses(ctx, out, err, len(statements))
}

// statements returns the statements of one request, in the order of the writes. Each is built anew, so that it has the present time.
func statements(writes []*queued) []types.BatchStatementRequest {
	made := make([]types.BatchStatementRequest, len(writes))
	for i, q := range writes {
		made[i] = q.statement()
	}

	return made
}

// responses returns the n answers to the statements of one request. If the request has an error, that is the answer to each of them.
func (s *Store) responses(ctx context.Context, out *dynamodb.BatchExecuteStatementOutput, err error, n int) []response {
	answers := make([]response, n)

	for i := range answers {
		if answers[i].err = err; err == nil {
			answers[i] = s.response(ctx, out.Responses[i])
		}

		answers[i].shared = true
	}

	return answers
}

// statementErrors maps the error codes of a statement to those of a request of its own. A refused INSERT and a refused UPDATE have
// types instead. Any other code means a misconfigured table. The single request is then made, because its error is more specific.
var statementErrors = map[types.BatchStatementErrorCodeEnum]string{
	types.BatchStatementErrorCodeEnumProvisionedThroughputExceeded: "ProvisionedThroughputExceededException",
	types.BatchStatementErrorCodeEnumRequestLimitExceeded:          "RequestLimitExceeded",
	types.BatchStatementErrorCodeEnumThrottlingError:               "ThrottlingException",
	types.BatchStatementErrorCodeEnumTransactionConflict:           "TransactionConflictException",
	types.BatchStatementErrorCodeEnumInternalServerError:           "InternalServerError",
}

func (s *Store) response(ctx context.Context, r types.BatchStatementResponse) response {
	if r.Error == nil {
		return response{item: r.Item}
	}

	switch r.Error.Code { //nolint:exhaustive // the rest is below
	case types.BatchStatementErrorCodeEnumConditionalCheckFailed:
		return response{err: &types.ConditionalCheckFailedException{Message: r.Error.Message, Item: r.Error.Item}}
	case types.BatchStatementErrorCodeEnumDuplicateItem:
		return response{err: &types.DuplicateItemException{Message: r.Error.Message}}
	case types.BatchStatementErrorCodeEnumAccessDenied:
		s.goSingle(ctx, &smithy.GenericAPIError{Code: "AccessDeniedException", Message: aws.ToString(r.Error.Message)})
	}

	if code, ok := statementErrors[r.Error.Code]; ok {
		return response{err: &smithy.GenericAPIError{Code: code, Message: aws.ToString(r.Error.Message)}}
	}

	return response{err: errSingle}
}

// maxWrongAnswers is how many times in a row a shared request may be answered with another number of answers than statements: such a
// backend does not support them.
const maxWrongAnswers = 3
