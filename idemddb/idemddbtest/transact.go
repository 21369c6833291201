package idemddbtest

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/fakedynamo/attribute"
	"github.com/idemddb/go-idemddb/internal/fakedynamo/exception"
)

// TransactWriteItems does all of its writes or none. If it does none, the TransactionCanceledException has a reason for each
// item, in the order of the items. A ClientRequestToken counts for ten minutes after its transaction was done: in that time a
// repetition is a success that writes nothing. Unlike the SDK's client, a DB does not generate a token.
func (db *DB) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	return call[dynamodb.TransactWriteItemsOutput](ctx, db, in)
}

// transactWrite is the name of the operation.
const transactWrite = "TransactWriteItems"

const (
	maxTransactItems = 100
	maxTransactSize  = 4 << 20
)

func (db *DB) transactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, r *Request) (*dynamodb.TransactWriteItemsOutput, error) {
	tx, err := db.attempt(in, r)
	if err != nil {
		return nil, err
	}

	if db.transactionTime != nil && tx.isInFlight() {
		tx.takeTime(ctx)
	} else {
		tx.finish()
	}

	if tx.canceled != nil {
		return nil, tx.canceled
	}

	return tx.output(in.ReturnConsumedCapacity), nil
}

// begin puts a transaction in flight if all of its writes are possible. It sets the parts of r.
func (db *DB) begin(in *dynamodb.TransactWriteItemsInput, r *Request) (*Transaction, error) {
	tx, err := db.attempt(in, r)
	if err != nil {
		return nil, err
	}

	if tx.canceled != nil {
		tx.end()

		return nil, tx.canceled
	}

	return tx, nil
}

// attempt puts a transaction in flight, also one that is canceled: that one holds the items whose own write is possible. It sets
// the parts of r.
func (db *DB) attempt(in *dynamodb.TransactWriteItemsInput, r *Request) (*Transaction, error) {
	writes, err := transactWrites(in)
	if err != nil {
		return nil, err
	}

	sent, err := withToken(in)
	if err != nil {
		return nil, err
	}

	repeated, err := db.repeats(sent)
	if err != nil {
		return nil, err
	}

	if err := db.prepareAll(writes); err != nil {
		return nil, err
	}

	tx := &Transaction{db: db, sent: sent, writes: writes, repeated: repeated}
	if repeated {
		return tx, nil
	}

	var reasons []types.CancellationReason
	if tx.outcomes, reasons = db.evaluateAll(writes, r); reasons != nil {
		tx.canceled = exception.Canceled(reasons)
		tx.writes = possible(writes, reasons)
	}

	tx.committed = make([]bool, len(tx.writes))
	db.inFlight = append(db.inFlight, tx)

	return tx, nil
}

func transactWrites(in *dynamodb.TransactWriteItemsInput) ([]*write, error) {
	if n := len(in.TransactItems); n == 0 || n > maxTransactItems {
		return nil, exception.Validation("Value at 'transactItems' failed to satisfy constraint: Member must have length between 1 and 100")
	}

	writes := make([]*write, len(in.TransactItems))
	for i, part := range in.TransactItems {
		w, n := writeOf(part)
		if n != 1 {
			return nil, exception.Validation("TransactItems can only contain one of Check, Put, Update or Delete")
		}

		if (w.kind == checkWrite && w.condition == nil) || w.tableName == nil {
			return nil, exception.Validation("Value null at 'transactItems.%d.member' failed to satisfy constraint: Member must not be null", i+1)
		}

		writes[i] = w
	}

	return writes, nil
}

// writeOf returns the write of a part, and how many kinds of write the part holds: it should be one.
func writeOf(part types.TransactWriteItem) (w *write, n int) {
	if p := part.Update; p != nil {
		n++
		w = &write{kind: updateWrite, tableName: p.TableName, key: p.Key, condition: p.ConditionExpression, update: p.UpdateExpression,
			names: p.ExpressionAttributeNames, values: p.ExpressionAttributeValues, giveItem: p.ReturnValuesOnConditionCheckFailure}
	}

	if p := part.Put; p != nil {
		n++
		w = &write{kind: putWrite, tableName: p.TableName, key: p.Item, condition: p.ConditionExpression,
			names: p.ExpressionAttributeNames, values: p.ExpressionAttributeValues, giveItem: p.ReturnValuesOnConditionCheckFailure}
	}

	if p := part.Delete; p != nil {
		n++
		w = &write{kind: deleteWrite, tableName: p.TableName, key: p.Key, condition: p.ConditionExpression,
			names: p.ExpressionAttributeNames, values: p.ExpressionAttributeValues, giveItem: p.ReturnValuesOnConditionCheckFailure}
	}

	if p := part.ConditionCheck; p != nil {
		n++
		w = &write{kind: checkWrite, tableName: p.TableName, key: p.Key, condition: p.ConditionExpression,
			names: p.ExpressionAttributeNames, values: p.ExpressionAttributeValues, giveItem: p.ReturnValuesOnConditionCheckFailure}
	}

	return w, n
}

func (db *DB) prepareAll(writes []*write) error {
	type itemID struct{ table, id string }

	seen := map[itemID]bool{}
	size := 0

	for _, w := range writes {
		if err := db.prepare(w); err != nil {
			return err
		}

		id := itemID{w.table.name, w.id}
		if seen[id] {
			return exception.Validation("Transaction request cannot include multiple operations on one item")
		}

		seen[id] = true

		if size += w.size(); size > maxTransactSize {
			return exception.Validation("Transaction payload size cannot exceed 4MB. Payload Size: %d", size)
		}
	}

	return nil
}

// size returns how much of the limit of a transaction the write takes. As in DynamoDB Local this is what was sent, so that an
// update of a large item takes only what it sets.
func (w *write) size() int {
	n := attribute.ItemSize(w.adopted) + len(aws.ToString(w.condition)) + len(aws.ToString(w.update))
	for _, name := range w.names {
		n += len(name)
	}

	for _, v := range w.bound.Values {
		n += attribute.ValueSize(v)
	}

	return n
}
