package dbitem

import (
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// CopyWrites returns items that share nothing with the caller's. Each asks for the old item if its condition is false.
func CopyWrites(items []types.TransactWriteItem) []types.TransactWriteItem {
	copies := make([]types.TransactWriteItem, len(items))

	for i, it := range items {
		copies[i] = types.TransactWriteItem{
			Put: copied(it.Put), Update: copied(it.Update), Delete: copied(it.Delete), ConditionCheck: copied(it.ConditionCheck),
		}
		if u := copies[i].Update; u != nil {
			u.UpdateExpression = copied(u.UpdateExpression)
		}

		for _, w := range writesOf(copies[i]) {
			*w.table, *w.condition = copied(*w.table), copied(*w.condition)
			*w.key, *w.names, *w.values = Clone(*w.key), maps.Clone(*w.names), Clone(*w.values)
			*w.onRefusal = types.ReturnValuesOnConditionCheckFailureAllOld
		}
	}

	return copies
}

func copied[T any](from *T) *T {
	if from == nil {
		return nil
	}

	return new(*from)
}
