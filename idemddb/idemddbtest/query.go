package idemddbtest

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/internal/fakedynamo/storage"
)

// Query returns the items of a table or of a global secondary index that have one partition key, in the order of their sort keys.
// It supports KeyConditionExpression, FilterExpression, Limit, ExclusiveStartKey, ScanIndexForward, ConsistentRead, and Select
// without SPECIFIC_ATTRIBUTES. It does not support ProjectionExpression. Entries with the same key of an index are in the order
// of the table's key, for which the service promises no order.
func (db *DB) Query(ctx context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return call[dynamodb.QueryOutput](ctx, db, in)
}

func (db *DB) query(in *dynamodb.QueryInput, r *Request) (*dynamodb.QueryOutput, error) {
	s, err := db.tables.Source(in.TableName, in.IndexName, in.ConsistentRead)
	if err != nil {
		return nil, err
	}

	p, err := s.QueryPage(in, db.parsed)
	if err != nil {
		return nil, err
	}

	found, err := db.readPage(p, r)
	if err != nil {
		return nil, err
	}

	return &dynamodb.QueryOutput{
		Items: found.Items, Count: found.Count, ScannedCount: found.Scanned, LastEvaluatedKey: found.Last,
		ConsumedCapacity: found.Cost.Report(in.ReturnConsumedCapacity, s.Table.Name),
	}, nil
}

// readPage reads a page, and takes its units.
func (db *DB) readPage(p *storage.Page, r *Request) (storage.Reading, error) {
	found := p.Read()
	if err := db.throughput.ChargePage(p.Source, &found); err != nil {
		return found, err
	}

	r.ReadUnits = found.Cost.Total()

	return found, nil
}
