package wire_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/wire"
)

// executor gives this answer to a shared request.
type executor func() (*dynamodb.BatchExecuteStatementOutput, error)

func (e executor) BatchExecuteStatement(
	context.Context, *dynamodb.BatchExecuteStatementInput, ...func(*dynamodb.Options),
) (*dynamodb.BatchExecuteStatementOutput, error) {
	return e()
}

// statementErrors returns an answer in which each statement has one of these errors; "" for none.
func statementErrors(codes ...types.BatchStatementErrorCodeEnum) executor {
	return func() (*dynamodb.BatchExecuteStatementOutput, error) {
		out := &dynamodb.BatchExecuteStatementOutput{Responses: make([]types.BatchStatementResponse, len(codes))}

		for i, code := range codes {
			if code != "" {
				out.Responses[i].Error = &types.BatchStatementError{Code: code}
			}
		}

		return out, nil
	}
}

// Who may not share requests is asked for single ones for five minutes, so nothing else may look like that.
func TestWhatDeniesSharedRequests(t *testing.T) {
	t.Parallel()

	const denied = types.BatchStatementErrorCodeEnumAccessDenied

	fails := func(err error) executor {
		return func() (*dynamodb.BatchExecuteStatementOutput, error) { return nil, err }
	}

	for name, c := range map[string]struct {
		api            executor
		denied, failed bool
	}{
		"no error":                            {statementErrors("", ""), false, false},
		"the first statement":                 {statementErrors(denied, ""), true, false},
		"the last statement":                  {statementErrors("", denied), true, false},
		"a statement that was throttled":      {statementErrors("", types.BatchStatementErrorCodeEnumThrottlingError), false, false},
		"the request":                         {fails(withStatus(400, coded("AccessDeniedException"))), true, true},
		"a backend that does not know it":     {fails(coded("UnknownOperationException")), true, true},
		"a server that failed, with its code": {fails(withStatus(503, coded("AccessDeniedException"))), false, true},
		"another refusal":                     {fails(withStatus(400, coded("ResourceNotFoundException"))), false, true},
		"another number of answers":           {statementErrors(""), false, true},
		"neither an answer nor an error":      {fails(nil), false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			got := wire.Statements(t.Context(), c.api, make([]types.BatchStatementRequest, 2))
			if (got.Denied != nil) != c.denied || (got.Err != nil) != c.failed {
				t.Errorf("denied: %v, error: %v; want %t, %t", got.Denied, got.Err, c.denied, c.failed)
			}

			if name == "another number of answers" && !errors.Is(got.Err, wire.ErrCount) {
				t.Errorf("got %v", got.Err)
			}
		})
	}
}
