package idemddbtest

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// copyInput copies the input of a write deeply, for use after the call has returned. It shares strings behind pointers with the input of
// the caller, because callers change pointers, not the strings behind them.
func copyInput(in any) any {
	switch in := in.(type) {
	case *dynamodb.UpdateItemInput:
		c := *in
		c.Key, c.ExpressionAttributeNames, c.ExpressionAttributeValues =
			copyItem(in.Key), maps.Clone(in.ExpressionAttributeNames), copyItem(in.ExpressionAttributeValues)

		return &c
	case *dynamodb.PutItemInput:
		c := *in
		c.Item, c.ExpressionAttributeNames, c.ExpressionAttributeValues =
			copyItem(in.Item), maps.Clone(in.ExpressionAttributeNames), copyItem(in.ExpressionAttributeValues)

		return &c
	case *dynamodb.DeleteItemInput:
		c := *in
		c.Key, c.ExpressionAttributeNames, c.ExpressionAttributeValues =
			copyItem(in.Key), maps.Clone(in.ExpressionAttributeNames), copyItem(in.ExpressionAttributeValues)

		return &c
	case *dynamodb.BatchExecuteStatementInput:
		c := *in

		c.Statements = slices.Clone(in.Statements)
		for i, s := range c.Statements {
			c.Statements[i].Parameters = slices.Clone(s.Parameters)
			for j, v := range s.Parameters {
				c.Statements[i].Parameters[j] = copyValue(v)
			}
		}

		return &c
	case *dynamodb.TransactWriteItemsInput:
		c := *in

		c.TransactItems = make([]types.TransactWriteItem, len(in.TransactItems))
		for i, part := range in.TransactItems {
			c.TransactItems[i] = copyPart(part)
		}

		return &c
	}

	return in
}

func copyPart(part types.TransactWriteItem) (out types.TransactWriteItem) {
	if p := part.Update; p != nil {
		c := *p
		c.Key, c.ExpressionAttributeNames, c.ExpressionAttributeValues =
			copyItem(p.Key), maps.Clone(p.ExpressionAttributeNames), copyItem(p.ExpressionAttributeValues)
		out.Update = &c
	}

	if p := part.Put; p != nil {
		c := *p
		c.Item, c.ExpressionAttributeNames, c.ExpressionAttributeValues =
			copyItem(p.Item), maps.Clone(p.ExpressionAttributeNames), copyItem(p.ExpressionAttributeValues)
		out.Put = &c
	}

	if p := part.Delete; p != nil {
		c := *p
		c.Key, c.ExpressionAttributeNames, c.ExpressionAttributeValues =
			copyItem(p.Key), maps.Clone(p.ExpressionAttributeNames), copyItem(p.ExpressionAttributeValues)
		out.Delete = &c
	}

	if p := part.ConditionCheck; p != nil {
		c := *p
		c.Key, c.ExpressionAttributeNames, c.ExpressionAttributeValues =
			copyItem(p.Key), maps.Clone(p.ExpressionAttributeNames), copyItem(p.ExpressionAttributeValues)
		out.ConditionCheck = &c
	}

	return out
}
