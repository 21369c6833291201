package groupcommit

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/idemddb/go-idemddb/internal/retry"
)

// SingleAPI is what a write needs for a request of its own; *dynamodb.Client has it.
type SingleAPI interface {
	UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
}

// API is what a client needs for shared requests; *dynamodb.Client has it.
type API interface {
	SingleAPI

	BatchExecuteStatement(
		ctx context.Context, in *dynamodb.BatchExecuteStatementInput, opts ...func(*dynamodb.Options),
	) (*dynamodb.BatchExecuteStatementOutput, error)
}

// Client sends the shared requests of all queues of one table.
type Client struct {
	API     API
	Options []func(*dynamodb.Options)

	Retried   func(ctx context.Context, key string, err error) // called before each further try; key is "" for several
	Ungrouped func(ctx context.Context, err error)             // called when requests are not shared from now on, and why

	offUntil     atomic.Pointer[time.Time] // when shared requests are tried again; nil for now
	wrongAnswers atomic.Int64              // requests in a row that were answered with a wrong number of answers
}

const (
	// offPause is how long writes are sent by requests of their own after BatchExecuteStatement was denied: the role may be given the
	// right meanwhile.
	offPause = 5 * time.Minute

	// maxWrongAnswers is how many times in a row a request may be answered with another number of answers than statements: such a
	// backend does not support shared requests.
	maxWrongAnswers = 3
)

// Shares reports whether writes share requests now: BatchExecuteStatement was not denied recently.
func (c *Client) Shares() bool {
	until := c.offUntil.Load()

	return until == nil || time.Now().After(*until)
}

// statements returns the statements of one request, in the order of the writes. Each is built anew, so that it has the present time.
func statements(writes []*write) []types.BatchStatementRequest {
	made := make([]types.BatchStatementRequest, len(writes))
	for i, w := range writes {
		made[i] = w.Statement()
	}

	return made
}

// execute makes one request of up to Size statements and returns an answer to each.
func (c *Client) execute(ctx context.Context, statements []types.BatchStatementRequest) []Answer {
	out, err := c.API.BatchExecuteStatement(ctx, &dynamodb.BatchExecuteStatementInput{Statements: statements}, c.Options...)

	switch {
	case err == nil && (out == nil || len(out.Responses) != len(statements)):
		err = fmt.Errorf("%w: the number of answers is not that of the %d statements", retry.ErrNoContent, len(statements))

		if c.wrongAnswers.Add(1) == maxWrongAnswers {
			c.turnOff(ctx, err)

			err = errAlone
		}
	case err == nil:
		c.wrongAnswers.Store(0)
	case !retry.IsTransient(err):
		if isUnsupported(err) {
			c.turnOff(ctx, err)
		}

		err = errAlone
	}

	return c.answers(ctx, out, err, len(statements))
}

// isUnsupported reports whether BatchExecuteStatement is denied to the caller, or unknown to the backend.
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

// turnOff turns shared requests off for a while.
func (c *Client) turnOff(ctx context.Context, err error) {
	now := time.Now()
	until := now.Add(offPause)

	old := c.offUntil.Load()
	if old != nil && now.Before(*old) || !c.offUntil.CompareAndSwap(old, &until) {
		return // another request has turned them off
	}

	c.wrongAnswers.Store(0)
	c.Ungrouped(ctx, err)
}

// answers returns the n answers to the statements of one request. If the request has an error, that is the answer to each of them.
func (c *Client) answers(ctx context.Context, out *dynamodb.BatchExecuteStatementOutput, err error, n int) []Answer {
	answers := make([]Answer, n)

	for i := range answers {
		if answers[i].Err = err; err == nil {
			answers[i] = c.answer(ctx, out.Responses[i])
		}

		answers[i].Shared = true
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

func (c *Client) answer(ctx context.Context, r types.BatchStatementResponse) Answer {
	if r.Error == nil {
		return Answer{Item: r.Item}
	}

	switch r.Error.Code { //nolint:exhaustive // the other codes follow below
	case types.BatchStatementErrorCodeEnumConditionalCheckFailed:
		return Answer{Err: &types.ConditionalCheckFailedException{Message: r.Error.Message, Item: r.Error.Item}}
	case types.BatchStatementErrorCodeEnumDuplicateItem:
		return Answer{Err: &types.DuplicateItemException{Message: r.Error.Message}}
	case types.BatchStatementErrorCodeEnumAccessDenied:
		c.turnOff(ctx, &smithy.GenericAPIError{Code: "AccessDeniedException", Message: aws.ToString(r.Error.Message)})
	}

	if code, ok := statementErrors[r.Error.Code]; ok {
		return Answer{Err: &smithy.GenericAPIError{Code: code, Message: aws.ToString(r.Error.Message)}}
	}

	return Answer{Err: errAlone}
}
