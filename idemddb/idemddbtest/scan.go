package idemddbtest

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Scan returns the items of a table or of a global secondary index in the order of their keys; the service promises no order. It
// supports FilterExpression, Limit, ExclusiveStartKey, Segment, TotalSegments, ConsistentRead, and Select without
// SPECIFIC_ATTRIBUTES. It does not support ProjectionExpression.
func (db *DB) Scan(ctx context.Context, in *dynamodb.ScanInput, _ ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	return call[dynamodb.ScanOutput](ctx, db, in)
}

func (db *DB) scan(in *dynamodb.ScanInput, r *Request) (*dynamodb.ScanOutput, error) {
	s, err := db.tables.Source(in.TableName, in.IndexName, in.ConsistentRead)
	if err != nil {
		return nil, err
	}

	p, err := s.ScanPage(in, db.parsed)
	if err != nil {
		return nil, err
	}

	found, err := db.readPage(p, r)
	if err != nil {
		return nil, err
	}

	return &dynamodb.ScanOutput{
		Items: found.Items, Count: found.Count, ScannedCount: found.Scanned, LastEvaluatedKey: found.Last,
		ConsumedCapacity: found.Cost.Report(in.ReturnConsumedCapacity, s.Table.Name),
	}, nil
}
