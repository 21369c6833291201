package wire

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/protocol"
)

// Updater is what [Update] needs of a client; *dynamodb.Client has it.
type Updater interface {
	UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
}

// Putter is what [Put] needs of a client; *dynamodb.Client has it.
type Putter interface {
	PutItem(ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
}

// Update makes one request. It must ask for attributes, because an answer without any proves nothing.
func Update(ctx context.Context, api Updater, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options)) protocol.Answer {
	out, err := api.UpdateItem(ctx, in, opts...)
	if err == nil && out != nil {
		return answer(out.Attributes, nil)
	}

	return answer(nil, err)
}

// Put makes one request. It must ask for attributes, as for [Update].
func Put(ctx context.Context, api Putter, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options)) protocol.Answer {
	out, err := api.PutItem(ctx, in, opts...)
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
