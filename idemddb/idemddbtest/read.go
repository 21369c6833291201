package idemddbtest

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/attribute"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/exception"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/storage"
)

func (db *DB) getItem(in *dynamodb.GetItemInput, r *Request) (*dynamodb.GetItemOutput, error) {
	t, err := db.tables.Find(in.TableName)
	if err != nil {
		return nil, err
	}

	if in.ProjectionExpression != nil || in.AttributesToGet != nil {
		return nil, exception.Validation("idemddbtest: GetItem: projections are not supported")
	}

	key, err := t.Key.Adopt(in.Key)
	if err != nil {
		return nil, err
	}

	if err := t.Key.CheckTypes(key); err != nil {
		return nil, err
	}

	it := t.Items[t.Key.ID(key)]
	cost := storage.ReadCost(it, in.ConsistentRead)

	if err := db.throughput.ChargeRead(t.Place(key), cost.Total()); err != nil {
		return nil, err
	}

	r.ReadUnits = cost.Total()

	return &dynamodb.GetItemOutput{Item: attribute.CopyItem(it), ConsumedCapacity: cost.Report(in.ReturnConsumedCapacity, t.Name)}, nil
}
