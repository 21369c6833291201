package idemddbtest

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/internal/fakedynamo/attribute"
	"github.com/idemddb/go-idemddb/internal/fakedynamo/exception"
)

// GetItem reads an item. Reads are always consistent here. ProjectionExpression is not supported.
func (db *DB) GetItem(ctx context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return call[dynamodb.GetItemOutput](ctx, db, in)
}

func (db *DB) getItem(in *dynamodb.GetItemInput, r *Request) (*dynamodb.GetItemOutput, error) {
	t, err := db.table(in.TableName)
	if err != nil {
		return nil, err
	}

	if in.ProjectionExpression != nil || in.AttributesToGet != nil {
		return nil, exception.Validation("idemddbtest: GetItem: projections are not supported")
	}

	key, err := t.keyOf(in.Key)
	if err != nil {
		return nil, err
	}

	if err := t.checkTypes(key); err != nil {
		return nil, err
	}

	it := t.items[t.id(key)]
	cost := consumption{table: readUnits(attribute.ItemSize(it), in.ConsistentRead)}

	if err := t.chargeRead("", key[t.key[0].name], cost.total()); err != nil {
		return nil, err
	}

	r.ReadUnits = cost.total()

	return &dynamodb.GetItemOutput{Item: attribute.CopyItem(it), ConsumedCapacity: cost.report(in.ReturnConsumedCapacity, t)}, nil
}
