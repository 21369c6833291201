package attribute

import (
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// ItemSize returns the size of names and values by the rules in DynamoDB's documentation. DynamoDB charges and limits it.
func ItemSize(it Item) int {
	n := 0
	for name, v := range it {
		n += len(name) + ValueSize(v)
	}

	return n
}

// ValueSize returns the size of a value without its name, 0 for a missing value.
func ValueSize(v types.AttributeValue) int {
	n := 0

	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		n = len(v.Value)
	case *types.AttributeValueMemberN:
		n = numberSize(v.Value)
	case *types.AttributeValueMemberB:
		n = len(v.Value)
	case *types.AttributeValueMemberBOOL, *types.AttributeValueMemberNULL:
		n = 1
	case *types.AttributeValueMemberSS:
		for _, s := range v.Value {
			n += len(s)
		}
	case *types.AttributeValueMemberNS:
		for _, s := range v.Value {
			n += numberSize(s)
		}
	case *types.AttributeValueMemberBS:
		for _, b := range v.Value {
			n += len(b)
		}
	case *types.AttributeValueMemberL:
		n = 3 + len(v.Value)
		for _, e := range v.Value {
			n += ValueSize(e)
		}
	case *types.AttributeValueMemberM:
		n = 3 + len(v.Value) + ItemSize(v.Value)
	}

	return n
}

// numberSize returns the size of a canonical number: a byte, another one for each pair of significant digits, counted from the
// decimal point, and one for a minus sign.
func numberSize(s string) int {
	neg := strings.HasPrefix(s, "-")
	if neg {
		s = s[1:]
	}

	whole, fraction, _ := strings.Cut(s, ".")
	if len(whole)%2 == 1 {
		whole = "0" + whole
	}

	digits := whole + fraction
	if len(digits)%2 == 1 {
		digits += "0"
	}

	for strings.HasPrefix(digits, "00") {
		digits = digits[2:]
	}

	for strings.HasSuffix(digits, "00") {
		digits = digits[:len(digits)-2]
	}

	n := len(digits)/2 + 1
	if neg {
		n++
	}

	return n
}

// Length evaluates the function size. It returns false for types that have no size.
func Length(v types.AttributeValue) (size int, ok bool) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return utf8.RuneCountInString(v.Value), true
	case *types.AttributeValueMemberB:
		return len(v.Value), true
	case *types.AttributeValueMemberSS:
		return len(v.Value), true
	case *types.AttributeValueMemberNS:
		return len(v.Value), true
	case *types.AttributeValueMemberBS:
		return len(v.Value), true
	case *types.AttributeValueMemberL:
		return len(v.Value), true
	case *types.AttributeValueMemberM:
		return len(v.Value), true
	}

	return 0, false
}
