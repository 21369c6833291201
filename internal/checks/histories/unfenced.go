package histories

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// unfenced is the algorithm of the existing utilities: a put that must be new or behind the end of a lease, an update without a
// condition when the work is done, and a delete without a condition when it failed. A request without an answer is sent three
// times, as an SDK does. It must fail.
type unfenced struct {
	engine engine
	now    func() time.Time
	lease  time.Duration
}

func thrice[T any](request func() (T, error)) (out T, err error) {
	for range 3 {
		if out, err = request(); err == nil || errors.As(err, new(*types.ConditionalCheckFailedException)) {
			return out, err
		}
	}

	return out, err
}

func milliseconds(t time.Time) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(t.UnixMilli(), 10)}
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func (u *unfenced) claim(ctx context.Context, key string) (Output, holder) {
	_, err := thrice(func() (*dynamodb.PutItemOutput, error) {
		return u.engine.PutItem(ctx, &dynamodb.PutItemInput{
			TableName:           new(table),
			Item:                map[string]types.AttributeValue{"pk": text(key), "st": text("INPROGRESS"), "lease": milliseconds(u.now().Add(u.lease))},
			ConditionExpression: new("attribute_not_exists(pk) OR (st = :inprogress AND lease < :now)"),
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":inprogress": text("INPROGRESS"), ":now": milliseconds(u.now()),
			},
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		})
	})

	refused, ok := errors.AsType[*types.ConditionalCheckFailedException](err)

	switch {
	case err == nil:
		return Output{Answer: Won}, unfencedClaim{u, key}
	case !ok:
		return Output{Answer: Unknown}, nil
	}

	if result, ok := refused.Item["res"].(*types.AttributeValueMemberS); ok {
		return Output{Answer: Done, Result: result.Value}, nil
	}

	return Output{Answer: Held}, nil
}

type unfencedClaim struct {
	*unfenced

	key string
}

func (c unfencedClaim) complete(ctx context.Context, result string) Answer {
	_, err := thrice(func() (*dynamodb.UpdateItemOutput, error) {
		return c.engine.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: new(table), Key: map[string]types.AttributeValue{"pk": text(c.key)}, UpdateExpression: new("SET st = :completed, res = :res"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":completed": text("COMPLETED"), ":res": text(result)},
		})
	})

	return unfencedAnswer(err)
}

func (c unfencedClaim) release(ctx context.Context) Answer {
	_, err := thrice(func() (*dynamodb.DeleteItemOutput, error) {
		return c.engine.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: new(table), Key: map[string]types.AttributeValue{"pk": text(c.key)}})
	})

	return unfencedAnswer(err)
}

func unfencedAnswer(err error) Answer {
	if err != nil {
		return Unknown
	}

	return Done
}

// effects says that each key has what its record says: what the algorithm does to its own records is enough.
func (u *unfenced) effects(ctx context.Context, key string) (int, error) {
	out, err := u.engine.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: new(table), Key: map[string]types.AttributeValue{"pk": text(key)}, ConsistentRead: new(true),
	})
	if err != nil || out.Item["res"] == nil {
		return 0, err
	}

	return 1, nil
}
