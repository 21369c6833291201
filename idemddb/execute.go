package idemddb

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// batcher is what a client needs for groups; *dynamodb.Client has it.
type batcher interface {
	BatchExecuteStatement(
		ctx context.Context, in *dynamodb.BatchExecuteStatementInput, opts ...func(*dynamodb.Options),
	) (*dynamodb.BatchExecuteStatementOutput, error)
}

// Grouped tells whether writes go in groups: the client has BatchExecuteStatement, it was not denied so far, and neither
// Options.Single nor IDEMDDB_DISABLED is set. It may turn false at any time, and never true again.
func (s *Store) Grouped() bool { return s.batch != nil && !s.ungrouped.Load() }

// response is the answer to one statement.
type response struct {
	item item  // as it was before, nil for an INSERT
	err  error // what the write would have met alone, or errAlone
}

// errAlone is the answer to a write that must go in a request of its own: there it is done, or gets the answer that explains.
var errAlone = errors.New("must go alone")

// statementErrors are the codes of a statement and what the SDK says for the same in a request of its own. A refused INSERT
// and a refused UPDATE have types. All other codes, which our statements do not meet on a table as it should be, say
// less than the same write does alone.
var statementErrors = map[types.BatchStatementErrorCodeEnum]string{
	types.BatchStatementErrorCodeEnumProvisionedThroughputExceeded: "ProvisionedThroughputExceededException",
	types.BatchStatementErrorCodeEnumRequestLimitExceeded:          "RequestLimitExceeded",
	types.BatchStatementErrorCodeEnumThrottlingError:               "ThrottlingException",
	types.BatchStatementErrorCodeEnumTransactionConflict:           "TransactionConflictException",
	types.BatchStatementErrorCodeEnumInternalServerError:           "InternalServerError",
}

// execute makes one request of up to groupSize statements and returns an answer for each.
func (s *Store) execute(ctx context.Context, statements []types.BatchStatementRequest) []response {
	answers := make([]response, len(statements))

	out, err := s.batch.BatchExecuteStatement(ctx, &dynamodb.BatchExecuteStatementInput{Statements: statements}, once...)

	switch {
	case err == nil && len(out.Responses) != len(statements):
		err = fmt.Errorf("%d answers to %d statements", len(out.Responses), len(statements)) // the outcome is unknown
	case err != nil && !comesAgain(err):
		if isUnsupported(err) {
			s.ungroup(ctx, err)
		}

		err = errAlone
	}

	for i := range answers {
		if answers[i].err = err; err == nil {
			answers[i] = s.response(ctx, out.Responses[i])
		}
	}

	return answers
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
		s.ungroup(ctx, &smithy.GenericAPIError{Code: "AccessDeniedException", Message: aws.ToString(r.Error.Message)})
	}

	if code, ok := statementErrors[r.Error.Code]; ok {
		return response{err: &smithy.GenericAPIError{Code: code, Message: aws.ToString(r.Error.Message)}}
	}

	return response{err: errAlone}
}

// isUnsupported tells the answers to a call that no other call would change: it is not allowed, or not there. (An expired token or
// a table that is just being made are others; the single way tells.)
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

// ungroup turns groups off for as long as the Store lives.
func (s *Store) ungroup(ctx context.Context, err error) {
	if !s.ungrouped.Swap(true) {
		s.observe(ctx, Event{Kind: Ungrouped, Err: fmt.Errorf("idemddb: groups: table %q: %w", s.table, err)})
	}
}
