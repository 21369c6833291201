package attribute

import (
	"bytes"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// TypeOf returns the name that the type of a value has on the wire, "" for a missing value.
func TypeOf(v types.AttributeValue) string {
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

// Equal compares adopted values. A missing value is not equal to any value, not even to another missing one.
func Equal(a, b types.AttributeValue) bool {
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

		return ok && slices.EqualFunc(a.Value, b.Value, Equal)
	case *types.AttributeValueMemberM:
		b, ok := b.(*types.AttributeValueMemberM)
		if !ok || len(a.Value) != len(b.Value) {
			return false
		}

		for name, v := range a.Value {
			if !Equal(v, b.Value[name]) {
				return false
			}
		}

		return true
	}

	return false
}

// Compare orders two strings or two binaries by their bytes and two numbers by their value. It returns false for other values.
func Compare(a, b types.AttributeValue) (order int, ok bool) {
	switch a := a.(type) {
	case *types.AttributeValueMemberS:
		if b, ok := b.(*types.AttributeValueMemberS); ok {
			return strings.Compare(a.Value, b.Value), true
		}
	case *types.AttributeValueMemberN:
		if b, ok := b.(*types.AttributeValueMemberN); ok {
			return CompareNumbers(a.Value, b.Value), true
		}
	case *types.AttributeValueMemberB:
		if b, ok := b.(*types.AttributeValueMemberB); ok {
			return bytes.Compare(a.Value, b.Value), true
		}
	}

	return 0, false
}

// Contains evaluates the function of that name: whether v has a part (of a string or binary) or a member (of a set or list) like
// this.
func Contains(all, part types.AttributeValue) bool {
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
		return slices.ContainsFunc(all.Value, func(v types.AttributeValue) bool { return Equal(v, part) })
	}

	return false
}

// BeginsWith evaluates the function begins_with: whether a string or a binary begins with another one.
func BeginsWith(all, part types.AttributeValue) bool {
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
