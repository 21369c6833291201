package attribute

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// This package copies items by itself, as it does everything else: an engine that shared this with the code that it tests could
// not show its errors.

// CopyItem copies an item, so that the copy shares nothing with the caller's item. Nil stays nil.
func CopyItem(from Item) Item {
	if from == nil {
		return nil
	}

	to := make(Item, len(from))
	for name, v := range from {
		to[name] = CopyValue(v)
	}

	return to
}

// CopyValue copies a value. It returns a value of a type that the SDK does not have as it is.
func CopyValue(v types.AttributeValue) types.AttributeValue {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return new(*v)
	case *types.AttributeValueMemberN:
		return new(*v)
	case *types.AttributeValueMemberBOOL:
		return new(*v)
	case *types.AttributeValueMemberNULL:
		return new(*v)
	case *types.AttributeValueMemberB:
		return &types.AttributeValueMemberB{Value: copyBytes(v.Value)}
	case *types.AttributeValueMemberSS:
		return &types.AttributeValueMemberSS{Value: slices.Clone(v.Value)}
	case *types.AttributeValueMemberNS:
		return &types.AttributeValueMemberNS{Value: slices.Clone(v.Value)}
	case *types.AttributeValueMemberBS:
		return &types.AttributeValueMemberBS{Value: copyEach(v.Value, copyBytes)}
	case *types.AttributeValueMemberL:
		return &types.AttributeValueMemberL{Value: copyEach(v.Value, CopyValue)}
	case *types.AttributeValueMemberM:
		return &types.AttributeValueMemberM{Value: CopyItem(v.Value)}
	default:
		return v
	}
}

// copyBytes copies bytes. It never returns nil, because an empty binary value is not a missing one.
func copyBytes(b []byte) []byte { return append(make([]byte, 0, len(b)), b...) }

// copyEach copies a list and the values in it. Nil stays nil.
func copyEach[T any](from []T, copied func(T) T) []T {
	to := slices.Clone(from)
	for i, v := range to {
		to[i] = copied(v)
	}

	return to
}
