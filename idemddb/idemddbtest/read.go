package idemddbtest

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// GetItem reads an item. Reads are always consistent here. ProjectionExpression is not supported.
func (db *DB) GetItem(ctx context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return call[dynamodb.GetItemOutput](ctx, db, in)
}

// Scan returns all items of a table at once, ordered by key. Filters, projections, limits and segments are not supported.
func (db *DB) Scan(ctx context.Context, in *dynamodb.ScanInput, _ ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	return call[dynamodb.ScanOutput](ctx, db, in)
}

func (db *DB) getItem(in *dynamodb.GetItemInput) (*dynamodb.GetItemOutput, error) {
	t, err := db.table(in.TableName)
	if err != nil {
		return nil, err
	}
	if in.ProjectionExpression != nil || in.AttributesToGet != nil {
		return nil, invalid("idemddbtest: GetItem: projections are not supported")
	}
	key, err := t.keyOf(in.Key)
	if err != nil {
		return nil, err
	}
	if err := t.checkTypes(key); err != nil {
		return nil, err
	}
	it := t.items[t.id(key)]
	cost := consumption{table: readUnits(itemSize(it), in.ConsistentRead)}
	return &dynamodb.GetItemOutput{Item: copyItem(it), ConsumedCapacity: cost.report(in.ReturnConsumedCapacity, t)}, nil
}

// readUnits is what it costs to read this much at once. A read that may be stale costs half.
func readUnits(size int, consistent *bool) float64 {
	n := float64(units(size, readUnit))
	if consistent != nil && *consistent {
		return n
	}
	return n / 2
}

func (db *DB) scan(in *dynamodb.ScanInput) (*dynamodb.ScanOutput, error) {
	t, err := db.table(in.TableName)
	if err != nil {
		return nil, err
	}
	if in.FilterExpression != nil || in.ProjectionExpression != nil || in.IndexName != nil || in.Limit != nil || in.Segment != nil ||
		in.AttributesToGet != nil || in.ScanFilter != nil || in.ExclusiveStartKey != nil || in.Select != "" && in.Select != types.SelectAllAttributes {
		return nil, invalid("idemddbtest: Scan: only whole tables are supported")
	}
	all := t.all()
	count := int32(len(all)) //nolint:gosec // two thousand million items do not fit in memory
	return &dynamodb.ScanOutput{Items: all, Count: count, ScannedCount: count}, nil
}
