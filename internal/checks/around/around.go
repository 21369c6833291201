// Package around has a client whose requests a test holds up, alters, answers or counts.
package around

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// Client is an engine that calls Do in place of each request of a Store, of an operator and of a sweep. Do runs on the goroutine
// of the sender, gets a pointer to the input of the request, and returns a pointer to the output, or nil for none.
type Client struct {
	*idemddbtest.DB

	Do Func
}

// Func is what a test does with a request. It may send the input, or another one of the same type, or nothing.
type Func = func(ctx context.Context, in any, send Send) (any, error)

// Send sends a request to the engine.
type Send = func(ctx context.Context, in any) (any, error)

// Before returns a Func that calls f ahead of each request with such an input. If f returns an error, nothing is sent.
func Before[In any](f func(in *In) error) Func {
	return func(ctx context.Context, in any, send Send) (any, error) {
		if typed, is := in.(*In); is {
			if err := f(typed); err != nil {
				return nil, err
			}
		}

		return send(ctx, in)
	}
}

// After returns a Func that calls f with each output of this type, before the sender of the request gets it.
func After[Out any](f func(out *Out)) Func {
	return func(ctx context.Context, in any, send Send) (any, error) {
		out, err := send(ctx, in)
		if typed, is := out.(*Out); is && err == nil {
			f(typed)
		}

		return out, err
	}
}

// PutItem calls Do with the request.
func (c *Client) PutItem(ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return do(ctx, c, in, c.DB.PutItem, opts)
}

// UpdateItem calls Do with the request.
func (c *Client) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return do(ctx, c, in, c.DB.UpdateItem, opts)
}

// GetItem calls Do with the request.
func (c *Client) GetItem(ctx context.Context, in *dynamodb.GetItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return do(ctx, c, in, c.DB.GetItem, opts)
}

// DeleteItem calls Do with the request.
func (c *Client) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	return do(ctx, c, in, c.DB.DeleteItem, opts)
}

// Query calls Do with the request.
func (c *Client) Query(ctx context.Context, in *dynamodb.QueryInput, opts ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return do(ctx, c, in, c.DB.Query, opts)
}

// Scan calls Do with the request.
func (c *Client) Scan(ctx context.Context, in *dynamodb.ScanInput, opts ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	return do(ctx, c, in, c.DB.Scan, opts)
}

// BatchExecuteStatement calls Do with the request.
func (c *Client) BatchExecuteStatement(
	ctx context.Context, in *dynamodb.BatchExecuteStatementInput, opts ...func(*dynamodb.Options),
) (*dynamodb.BatchExecuteStatementOutput, error) {
	return do(ctx, c, in, c.DB.BatchExecuteStatement, opts)
}

// TransactWriteItems calls Do with the request.
func (c *Client) TransactWriteItems(
	ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	return do(ctx, c, in, c.DB.TransactWriteItems, opts)
}

func do[In, Out any](
	ctx context.Context, c *Client, in *In, request func(context.Context, *In, ...func(*dynamodb.Options)) (*Out, error),
	opts []func(*dynamodb.Options),
) (*Out, error) {
	out, err := c.Do(ctx, in, func(ctx context.Context, in any) (any, error) {
		return request(ctx, in.(*In), opts...) //nolint:forcetypeassert // another type is a mistake of the test
	})
	answer, _ := out.(*Out)

	return answer, err
}
