// Package clone copies items of DynamoDB, so that a copy shares nothing with the caller's item.
package clone

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Item copies an item. Nil stays nil.
func Item(from map[string]types.AttributeValue) map[string]types.AttributeValue {
	if from == nil {
		return nil
	}

	to := make(map[string]types.AttributeValue, len(from))
	for name, v := range from {
		to[name] = Value(v)
	}

	return to
}

// Value copies a value. It returns a value of a type that the SDK does not have as it is.
func Value(v types.AttributeValue) types.AttributeValue {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return &types.AttributeValueMemberS{Value: v.Value}
	case *types.AttributeValueMemberN:
		return &types.AttributeValueMemberN{Value: v.Value}
	case *types.AttributeValueMemberB:
		return &types.AttributeValueMemberB{Value: Bytes(v.Value)}
	case *types.AttributeValueMemberBOOL:
		return &types.AttributeValueMemberBOOL{Value: v.Value}
	case *types.AttributeValueMemberNULL:
		return &types.AttributeValueMemberNULL{Value: v.Value}
	case *types.AttributeValueMemberSS:
		return &types.AttributeValueMemberSS{Value: slices.Clone(v.Value)}
	case *types.AttributeValueMemberNS:
		return &types.AttributeValueMemberNS{Value: slices.Clone(v.Value)}
	case *types.AttributeValueMemberBS:
		return &types.AttributeValueMemberBS{Value: Each(v.Value, Bytes)}
	case *types.AttributeValueMemberL:
		return &types.AttributeValueMemberL{Value: Each(v.Value, Value)}
	case *types.AttributeValueMemberM:
		return &types.AttributeValueMemberM{Value: Item(v.Value)}
	default:
		return v
	}
}

// Bytes copies bytes. It never returns nil, because an empty binary value is not a missing one.
func Bytes(b []byte) []byte { return append(make([]byte, 0, len(b)), b...) }

// Each copies a list and the values in it. Nil stays nil.
func Each[T any](from []T, copied func(T) T) []T {
	to := slices.Clone(from)
	for i, v := range to {
		to[i] = copied(v)
	}

	return to
}
