package idemddbtest

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/attribute"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/exception"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/storage"
)

func (db *DB) updateItem(in *dynamodb.UpdateItemInput, r *Request) (*dynamodb.UpdateItemOutput, error) {
	if in.AttributeUpdates != nil || in.Expected != nil {
		return nil, errLegacy()
	}

	w := &storage.Write{
		Kind: storage.UpdateWrite, TableName: in.TableName, Key: in.Key, Condition: in.ConditionExpression, Update: in.UpdateExpression,
		Names: in.ExpressionAttributeNames, Values: in.ExpressionAttributeValues, GiveItem: in.ReturnValuesOnConditionCheckFailure,
		Returns: in.ReturnValues,
	}

	returned, consumed, err := db.write(w, r, in.ReturnConsumedCapacity)
	if err != nil {
		return nil, err
	}

	return &dynamodb.UpdateItemOutput{Attributes: returned, ConsumedCapacity: consumed}, nil
}

func (db *DB) putItem(in *dynamodb.PutItemInput, r *Request) (*dynamodb.PutItemOutput, error) {
	if in.Expected != nil {
		return nil, errLegacy()
	}

	w := &storage.Write{
		Kind: storage.PutWrite, TableName: in.TableName, Key: in.Item, Condition: in.ConditionExpression,
		Names: in.ExpressionAttributeNames, Values: in.ExpressionAttributeValues, GiveItem: in.ReturnValuesOnConditionCheckFailure,
		Returns: in.ReturnValues,
	}

	returned, consumed, err := db.write(w, r, in.ReturnConsumedCapacity)
	if err != nil {
		return nil, err
	}

	return &dynamodb.PutItemOutput{Attributes: returned, ConsumedCapacity: consumed}, nil
}

func (db *DB) deleteItem(in *dynamodb.DeleteItemInput, r *Request) (*dynamodb.DeleteItemOutput, error) {
	if in.Expected != nil {
		return nil, errLegacy()
	}

	w := &storage.Write{
		Kind: storage.DeleteWrite, TableName: in.TableName, Key: in.Key, Condition: in.ConditionExpression,
		Names: in.ExpressionAttributeNames, Values: in.ExpressionAttributeValues, GiveItem: in.ReturnValuesOnConditionCheckFailure,
		Returns: in.ReturnValues,
	}

	returned, consumed, err := db.write(w, r, in.ReturnConsumedCapacity)
	if err != nil {
		return nil, err
	}

	return &dynamodb.DeleteItemOutput{Attributes: returned, ConsumedCapacity: consumed}, nil
}

// write does a single write, and returns what the answer carries.
func (db *DB) write(w *storage.Write, r *Request, want types.ReturnConsumedCapacity) (attribute.Item, *types.ConsumedCapacity, error) {
	if err := w.Prepare(db.tables, db.parsed); err != nil {
		return nil, nil, err
	}

	if db.holds(w.Table, w.ID) {
		return nil, nil, exception.Conflict()
	}

	o, err := db.do(w, r)
	if err != nil {
		return nil, nil, err
	}

	return o.Attributes(w.Returns, w.Paths), o.Cost.Report(want, w.Table.Name), nil
}

// do evaluates and stores a prepared write.
func (db *DB) do(w *storage.Write, r *Request) (storage.Outcome, error) {
	o, err := w.Evaluate()
	if err == nil {
		if err = db.throughput.ChargeWrite(w, o, o.Cost); err != nil {
			return storage.Outcome{}, err
		}
	}

	r.WriteUnits, r.Refused = int(o.Cost.Total()), o.Refused
	switch {
	case err != nil:
		return storage.Outcome{}, err
	case o.Refused && w.GiveItem == types.ReturnValuesOnConditionCheckFailureAllOld:
		return storage.Outcome{}, exception.ConditionFailed(attribute.CopyItem(o.Before))
	case o.Refused:
		return storage.Outcome{}, exception.ConditionFailed(nil)
	}

	db.store(w.Table, w.ID, o.After, false)

	return o, nil
}

func errLegacy() error {
	return exception.Validation("idemddbtest: AttributeUpdates and Expected, the parameters from before expressions, are not supported")
}
