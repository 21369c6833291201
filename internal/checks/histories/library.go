package histories

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
)

const table = "records"

// library is the subject that must pass. A completion counts its effect in the same transaction.
type library struct {
	store  *idemddb.Store
	engine engine
}

func newLibrary(e engine, r *run, now func() time.Time) (*library, error) {
	store, err := idemddb.New(e, table, "histories", &idemddb.Options{
		Lease: r.lease, ClockSkew: r.skew, Now: now, ClaimPatience: 2 * r.lease,
	})
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}

	return &library{store, e}, nil
}

func (l *library) claim(ctx context.Context, key string) (Output, holder) {
	claim, record, err := l.store.Claim(ctx, key, nil)

	switch {
	case errors.Is(err, idemddb.ErrInProgress):
		return Output{Answer: Held}, nil
	case err != nil:
		return Output{Answer: Unknown}, nil
	case record != nil:
		return Output{Answer: Done, Result: string(record.Result)}, nil
	}

	return Output{Answer: Won, Fence: claim.Fence()}, libraryClaim{claim}
}

type libraryClaim struct{ claim *idemddb.Claim }

func (c libraryClaim) complete(ctx context.Context, result string) Answer {
	return answer(c.claim.CompleteWith(ctx, []byte(result), idemddb.Effects{Items: []types.TransactWriteItem{{Update: &types.Update{
		TableName: new(table), Key: effectKey(c.claim.Key()), UpdateExpression: new("ADD effects :one"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":one": &types.AttributeValueMemberN{Value: "1"}},
	}}}}))
}

func (c libraryClaim) release(ctx context.Context) Answer { return answer(c.claim.Release(ctx, nil)) }

// answer is what an error of a settlement means. Everything but success and a fence leaves the outcome unknown.
func answer(err error) Answer {
	switch {
	case err == nil:
		return Done
	case errors.Is(err, idemddb.ErrFenced):
		return Fenced
	}

	return Unknown
}

func (l *library) effects(ctx context.Context, key string) (int, error) {
	return effects(ctx, l.engine, key)
}

func effectKey(key string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "effect of " + key}}
}

func effects(ctx context.Context, e engine, key string) (int, error) {
	out, err := e.GetItem(ctx, &dynamodb.GetItemInput{TableName: new(table), Key: effectKey(key), ConsistentRead: new(true)})
	if err != nil {
		return 0, fmt.Errorf("read the effects: %w", err)
	}

	n, ok := out.Item["effects"].(*types.AttributeValueMemberN)
	if !ok {
		return 0, nil
	}

	count, err := strconv.Atoi(n.Value)
	if err != nil {
		return 0, fmt.Errorf("read the effects: %w", err)
	}

	return count, nil
}
