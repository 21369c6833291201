package idemddbtest

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/fakedynamo/attribute"
	"github.com/idemddb/go-idemddb/internal/fakedynamo/exception"
	"github.com/idemddb/go-idemddb/internal/fakedynamo/expression"
)

// UpdateItem changes an item, or makes it if there is none.
func (db *DB) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return call[dynamodb.UpdateItemOutput](ctx, db, in)
}

// PutItem writes a whole item, in place of the one with its key.
func (db *DB) PutItem(ctx context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return call[dynamodb.PutItemOutput](ctx, db, in)
}

// DeleteItem deletes an item. If there is none, that is no error.
func (db *DB) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	return call[dynamodb.DeleteItemOutput](ctx, db, in)
}

// write is what one request, one part of a transaction or one statement, also one that reads, asks for. prepare fills the second
// half.
type write struct {
	kind      writeKind
	tableName *string
	key       attribute.Item // as it was sent; for a put the whole item
	condition *string
	update    *string
	names     map[string]string
	values    attribute.Item
	giveItem  types.ReturnValuesOnConditionCheckFailure
	returns   types.ReturnValue

	consistent *bool // of a read

	table   *table
	adopted attribute.Item // the key; for a put the whole item
	id      string
	bound   *expression.Binding
	parsed  struct{ condition, update expression.Parsed }
	paths   []expression.Path // that the update changes
}

type writeKind byte

const (
	updateWrite writeKind = iota
	putWrite
	deleteWrite
	checkWrite
	readKind // of a statement
)

func (db *DB) updateItem(in *dynamodb.UpdateItemInput, r *Request) (*dynamodb.UpdateItemOutput, error) {
	if in.AttributeUpdates != nil || in.Expected != nil {
		return nil, errLegacy()
	}

	w := &write{
		kind: updateWrite, tableName: in.TableName, key: in.Key, condition: in.ConditionExpression, update: in.UpdateExpression,
		names: in.ExpressionAttributeNames, values: in.ExpressionAttributeValues, giveItem: in.ReturnValuesOnConditionCheckFailure,
		returns: in.ReturnValues,
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

	w := &write{
		kind: putWrite, tableName: in.TableName, key: in.Item, condition: in.ConditionExpression,
		names: in.ExpressionAttributeNames, values: in.ExpressionAttributeValues, giveItem: in.ReturnValuesOnConditionCheckFailure,
		returns: in.ReturnValues,
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

	w := &write{
		kind: deleteWrite, tableName: in.TableName, key: in.Key, condition: in.ConditionExpression,
		names: in.ExpressionAttributeNames, values: in.ExpressionAttributeValues, giveItem: in.ReturnValuesOnConditionCheckFailure,
		returns: in.ReturnValues,
	}

	returned, consumed, err := db.write(w, r, in.ReturnConsumedCapacity)
	if err != nil {
		return nil, err
	}

	return &dynamodb.DeleteItemOutput{Attributes: returned, ConsumedCapacity: consumed}, nil
}

// write does a single write, and returns what the answer carries.
func (db *DB) write(w *write, r *Request, want types.ReturnConsumedCapacity) (attribute.Item, *types.ConsumedCapacity, error) {
	if err := db.prepare(w); err != nil {
		return nil, nil, err
	}

	if db.holds(w.table, w.id) {
		return nil, nil, exception.Conflict()
	}

	o, err := w.do(r)
	if err != nil {
		return nil, nil, err
	}

	return o.attributes(w.returns, w.paths), o.cost.report(want, w.table), nil
}

// do evaluates and stores a prepared write.
func (w *write) do(r *Request) (outcome, error) {
	o, err := w.evaluate()
	if err == nil {
		if err = w.charge(o, o.cost); err != nil {
			return outcome{}, err
		}
	}

	r.WriteUnits, r.Refused = int(o.cost.total()), o.refused
	switch {
	case err != nil:
		return outcome{}, err
	case o.refused && w.giveItem == types.ReturnValuesOnConditionCheckFailureAllOld:
		return outcome{}, exception.ConditionFailed(attribute.CopyItem(o.before))
	case o.refused:
		return outcome{}, exception.ConditionFailed(nil)
	}

	w.table.store(w.id, o.after, false)

	return o, nil
}

// prepare checks what does not depend on the item. As in the service, a missing table comes before any other error.
func (db *DB) prepare(w *write) (err error) {
	if w.table, err = db.table(w.tableName); err != nil {
		return err
	}

	if err := w.checkReturns(); err != nil {
		return err
	}

	if err := db.bindExpressions(w); err != nil {
		return err
	}

	if w.kind == putWrite {
		if w.adopted, err = attribute.Adopt(w.key); err == nil {
			err = w.table.checkKey(w.adopted)
		}
	} else {
		w.adopted, err = w.table.keyOf(w.key)
	}

	if err != nil {
		return err
	}

	return w.identify()
}

// identify checks the sizes of what was sent, and sets the id of the item.
func (w *write) identify() error {
	if w.kind == putWrite {
		for _, ix := range w.table.indexes {
			if err := ix.checkSizes(w.adopted); err != nil {
				return err
			}
		}
	}

	if attribute.ItemSize(w.adopted) > maxItemSize {
		return exception.Validation("Item size has exceeded the maximum allowed size")
	}

	w.id = w.table.id(w.adopted)

	return nil
}

// givenItems are the values of ReturnValuesOnConditionCheckFailure.
var givenItems = []types.ReturnValuesOnConditionCheckFailure{
	"", types.ReturnValuesOnConditionCheckFailureNone, types.ReturnValuesOnConditionCheckFailureAllOld,
}

func (w *write) checkReturns() error {
	allowed := []types.ReturnValue{"", types.ReturnValueNone, types.ReturnValueAllOld}
	if w.kind == updateWrite {
		allowed = append(allowed, types.ReturnValueAllNew, types.ReturnValueUpdatedOld, types.ReturnValueUpdatedNew)
	}

	switch {
	case !slices.Contains(allowed, w.returns):
		return exception.Validation("Return values set to invalid value")
	case !slices.Contains(givenItems, w.giveItem):
		return exception.Validation("Value %q at 'returnValuesOnConditionCheckFailure' failed to satisfy constraint", w.giveItem)
	}

	return nil
}

func (db *DB) bindExpressions(w *write) (err error) {
	var used [2]expression.Parsed

	n := 0

	if w.condition != nil {
		w.parsed.condition = db.parsed.ParseCondition(*w.condition)
		used[n] = w.parsed.condition
		n++
	}

	if w.update != nil {
		w.parsed.update = db.parsed.ParseUpdate(*w.update)
		used[n] = w.parsed.update
		n++
	}

	if w.bound, err = expression.Bind(w.names, w.values, used[:n]...); err != nil {
		return err
	}

	if w.condition != nil {
		if err := w.bound.Check(w.parsed.condition.Condition); err != nil {
			return err
		}
	}

	if w.update == nil {
		return nil
	}

	w.paths, err = w.bound.CheckUpdate(w.parsed.update.Update)

	return err
}
