package dbitem

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Clone copies an item, so that the copy shares nothing with the caller's item. Nil stays nil.
func Clone(from map[string]types.AttributeValue) map[string]types.AttributeValue {
	if from == nil {
		return nil
	}

	to := make(map[string]types.AttributeValue, len(from))
	for name, v := range from {
		to[name] = CloneValue(v)
	}

	return to
}

// CloneValue copies a value. It returns a value of a type that the SDK does not have as it is.
func CloneValue(v types.AttributeValue) types.AttributeValue {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return &types.AttributeValueMemberS{Value: v.Value}
	case *types.AttributeValueMemberN:
		return &types.AttributeValueMemberN{Value: v.Value}
	case *types.AttributeValueMemberB:
		return &types.AttributeValueMemberB{Value: CloneBytes(v.Value)}
	case *types.AttributeValueMemberBOOL:
		return &types.AttributeValueMemberBOOL{Value: v.Value}
	case *types.AttributeValueMemberNULL:
		return &types.AttributeValueMemberNULL{Value: v.Value}
	case *types.AttributeValueMemberSS:
		return &types.AttributeValueMemberSS{Value: slices.Clone(v.Value)}
	case *types.AttributeValueMemberNS:
		return &types.AttributeValueMemberNS{Value: slices.Clone(v.Value)}
	case *types.AttributeValueMemberBS:
		return &types.AttributeValueMemberBS{Value: CloneEach(v.Value, CloneBytes)}
	case *types.AttributeValueMemberL:
		return &types.AttributeValueMemberL{Value: CloneEach(v.Value, CloneValue)}
	case *types.AttributeValueMemberM:
		return &types.AttributeValueMemberM{Value: Clone(v.Value)}
	default:
		return v
	}
}

// CloneBytes copies bytes. It never returns nil, because an empty binary value is not a missing one.
func CloneBytes(b []byte) []byte { return append(make([]byte, 0, len(b)), b...) }

// CloneEach copies a list and the values in it. Nil stays nil.
func CloneEach[T any](from []T, copied func(T) T) []T {
	to := slices.Clone(from)
	for i, v := range to {
		to[i] = copied(v)
	}

	return to
}

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
