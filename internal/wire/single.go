package wire

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/protocol"
)

// Client is what [Send] needs of a client; *dynamodb.Client has it.
type Client interface {
	UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	PutItem(ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
}

// Request is a write as a request of its own: one of the two. It must ask for attributes, because an answer without any proves nothing.
type Request struct {
	Update *dynamodb.UpdateItemInput
	Put    *dynamodb.PutItemInput
}

// Send makes one request.
func Send(ctx context.Context, api Client, r Request, opts ...func(*dynamodb.Options)) protocol.Answer {
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

// answer returns the answer to a request of one write.
func answer(item protocol.Item, err error) protocol.Answer {
	if err == nil && len(item) > 0 {
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
