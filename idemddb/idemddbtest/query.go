package idemddbtest

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/storage"
)

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
