package idemddbtest

import (
	"bytes"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// typeOf returns the name that the type of a value has on the wire, "" for a missing value.
func typeOf(v types.AttributeValue) string {
	switch v.(type) {
	case *types.AttributeValueMemberS:
		return "S"
	case *types.AttributeValueMemberN:
		return "N"
	case *types.AttributeValueMemberB:
		return "B"
	case *types.AttributeValueMemberBOOL:
		return "BOOL"
	case *types.AttributeValueMemberNULL:
		return "NULL"
	case *types.AttributeValueMemberSS:
		return "SS"
	case *types.AttributeValueMemberNS:
		return "NS"
	case *types.AttributeValueMemberBS:
		return "BS"
	case *types.AttributeValueMemberL:
		return "L"
	case *types.AttributeValueMemberM:
		return "M"
	}

	return ""
}

// equal compares adopted values. A missing value is not equal to any value, not even to another missing one.
func equal(a, b types.AttributeValue) bool {
	switch a := a.(type) {
	case *types.AttributeValueMemberS:
		b, ok := b.(*types.AttributeValueMemberS)

		return ok && a.Value == b.Value
	case *types.AttributeValueMemberN:
		b, ok := b.(*types.AttributeValueMemberN)

		return ok && a.Value == b.Value
	case *types.AttributeValueMemberB:
		b, ok := b.(*types.AttributeValueMemberB)

		return ok && bytes.Equal(a.Value, b.Value)
	case *types.AttributeValueMemberBOOL:
		b, ok := b.(*types.AttributeValueMemberBOOL)

		return ok && a.Value == b.Value
	case *types.AttributeValueMemberNULL:
		_, ok := b.(*types.AttributeValueMemberNULL)

		return ok
	}

	return equalMany(a, b)
}

func equalMany(a, b types.AttributeValue) bool {
	switch a := a.(type) {
	case *types.AttributeValueMemberSS:
		b, ok := b.(*types.AttributeValueMemberSS)

		return ok && slices.Equal(a.Value, b.Value)
	case *types.AttributeValueMemberNS:
		b, ok := b.(*types.AttributeValueMemberNS)

		return ok && slices.Equal(a.Value, b.Value)
	case *types.AttributeValueMemberBS:
		b, ok := b.(*types.AttributeValueMemberBS)

		return ok && slices.EqualFunc(a.Value, b.Value, bytes.Equal)
	case *types.AttributeValueMemberL:
		b, ok := b.(*types.AttributeValueMemberL)

		return ok && slices.EqualFunc(a.Value, b.Value, equal)
	case *types.AttributeValueMemberM:
		b, ok := b.(*types.AttributeValueMemberM)
		if !ok || len(a.Value) != len(b.Value) {
			return false
		}

		for name, v := range a.Value {
			if !equal(v, b.Value[name]) {
				return false
			}
		}

		return true
	}

	return false
}

// compare orders two strings or two binaries by their bytes and two numbers by their value. It returns false for other values.
func compare(a, b types.AttributeValue) (order int, ok bool) {
	switch a := a.(type) {
	case *types.AttributeValueMemberS:
		if b, ok := b.(*types.AttributeValueMemberS); ok {
			return strings.Compare(a.Value, b.Value), true
		}
	case *types.AttributeValueMemberN:
		if b, ok := b.(*types.AttributeValueMemberN); ok {
			return compareNumbers(a.Value, b.Value), true
		}
	case *types.AttributeValueMemberB:
		if b, ok := b.(*types.AttributeValueMemberB); ok {
			return bytes.Compare(a.Value, b.Value), true
		}
	}

	return 0, false
}

// contains evaluates the function of that name: whether v has a part (of a string or binary) or a member (of a set or list) like
// this.
func contains(all, part types.AttributeValue) bool {
	switch all := all.(type) {
	case *types.AttributeValueMemberS:
		part, ok := part.(*types.AttributeValueMemberS)

		return ok && strings.Contains(all.Value, part.Value)
	case *types.AttributeValueMemberB:
		part, ok := part.(*types.AttributeValueMemberB)

		return ok && bytes.Contains(all.Value, part.Value)
	case *types.AttributeValueMemberSS:
		part, ok := part.(*types.AttributeValueMemberS)

		return ok && slices.Contains(all.Value, part.Value)
	case *types.AttributeValueMemberNS:
		part, ok := part.(*types.AttributeValueMemberN)

		return ok && slices.Contains(all.Value, part.Value)
	case *types.AttributeValueMemberBS:
		part, ok := part.(*types.AttributeValueMemberB)

		return ok && slices.ContainsFunc(all.Value, func(b []byte) bool { return bytes.Equal(b, part.Value) })
	case *types.AttributeValueMemberL:
		return slices.ContainsFunc(all.Value, func(v types.AttributeValue) bool { return equal(v, part) })
	}

	return false
}

func beginsWith(all, part types.AttributeValue) bool {
	switch all := all.(type) {
	case *types.AttributeValueMemberS:
		part, ok := part.(*types.AttributeValueMemberS)

		return ok && strings.HasPrefix(all.Value, part.Value)
	case *types.AttributeValueMemberB:
		part, ok := part.(*types.AttributeValueMemberB)

		return ok && bytes.HasPrefix(all.Value, part.Value)
	}

	return false
}
