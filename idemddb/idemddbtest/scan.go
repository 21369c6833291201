package idemddbtest

import "github.com/aws/aws-sdk-go-v2/service/dynamodb"

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
