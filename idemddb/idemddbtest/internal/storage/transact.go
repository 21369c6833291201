package storage

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/attribute"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/exception"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/expression"
)

const (
	maxTransactItems = 100
	maxTransactSize  = 4 << 20
)

// TransactWrites returns the writes of a transaction.
func TransactWrites(in *dynamodb.TransactWriteItemsInput) ([]*Write, error) {
	if n := len(in.TransactItems); n == 0 || n > maxTransactItems {
		return nil, exception.Validation("Value at 'transactItems' failed to satisfy constraint: Member must have length between 1 and 100")
	}

	writes := make([]*Write, len(in.TransactItems))
	for i, part := range in.TransactItems {
		w, n := writeOf(part)
		if n != 1 {
			return nil, exception.Validation("TransactItems can only contain one of Check, Put, Update or Delete")
		}

		if (w.Kind == CheckWrite && w.Condition == nil) || (w.Kind == UpdateWrite && w.Update == nil) || w.TableName == nil {
			return nil, exception.Validation("Value null at 'transactItems.%d.member' failed to satisfy constraint: Member must not be null", i+1)
		}

		writes[i] = w
	}

	return writes, nil
}

// writeOf returns the write of a part, and how many kinds of write the part holds: it should be one.
func writeOf(part types.TransactWriteItem) (w *Write, n int) {
	if p := part.Update; p != nil {
		n++
		w = &Write{Kind: UpdateWrite, TableName: p.TableName, Key: p.Key, Condition: p.ConditionExpression, Update: p.UpdateExpression,
			Names: p.ExpressionAttributeNames, Values: p.ExpressionAttributeValues, GiveItem: p.ReturnValuesOnConditionCheckFailure}
	}

	if p := part.Put; p != nil {
		n++
		w = &Write{Kind: PutWrite, TableName: p.TableName, Key: p.Item, Condition: p.ConditionExpression,
			Names: p.ExpressionAttributeNames, Values: p.ExpressionAttributeValues, GiveItem: p.ReturnValuesOnConditionCheckFailure}
	}

	if p := part.Delete; p != nil {
		n++
		w = &Write{Kind: DeleteWrite, TableName: p.TableName, Key: p.Key, Condition: p.ConditionExpression,
			Names: p.ExpressionAttributeNames, Values: p.ExpressionAttributeValues, GiveItem: p.ReturnValuesOnConditionCheckFailure}
	}

	if p := part.ConditionCheck; p != nil {
		n++
		w = &Write{Kind: CheckWrite, TableName: p.TableName, Key: p.Key, Condition: p.ConditionExpression,
			Names: p.ExpressionAttributeNames, Values: p.ExpressionAttributeValues, GiveItem: p.ReturnValuesOnConditionCheckFailure}
	}

	return w, n
}

// PrepareAll prepares the writes of a transaction, and refuses writes of one item and too much data.
func (ts Tables) PrepareAll(writes []*Write, c expression.Cache) error {
	type itemID struct{ table, id string }

	seen := map[itemID]bool{}
	size := 0

	for _, w := range writes {
		if err := w.Prepare(ts, c); err != nil {
			return err
		}

		id := itemID{w.Table.Name, w.ID}
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
func (w *Write) size() int {
	n := attribute.ItemSize(w.Adopted) + len(aws.ToString(w.Condition)) + len(aws.ToString(w.Update))
	for _, name := range w.Names {
		n += len(name)
	}

	for _, v := range w.bound.Values {
		n += attribute.ValueSize(v)
	}

	return n
}
