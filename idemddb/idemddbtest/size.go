package idemddbtest

import (
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	maxItemSize = 400 << 10
	writeUnit   = 1 << 10
	readUnit    = 4 << 10
)

// writeUnits is what it costs to write an item, or to be refused by it: a write unit for each KB of its names and values, begun, and at
// least one, so that no item costs one, too. Of the item before the write and the one after it the larger counts; a transaction costs
// double.
func writeUnits(it item) int { return units(itemSize(it), writeUnit) }

// itemSize is the size that DynamoDB charges and limits: names and values, by the rules of its documentation.
func itemSize(it item) int {
	n := 0
	for name, v := range it {
		n += len(name) + valueSize(v)
	}
	return n
}

func valueSize(v types.AttributeValue) int {
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
			n += valueSize(e)
		}
	case *types.AttributeValueMemberM:
		n = 3 + len(v.Value) + itemSize(v.Value)
	}
	return n
}

// numberSize takes a canonical number: a byte, one more for each pair of significant digits, counted from the decimal point, and one for
// a minus sign.
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

// sizeOf is the function size of expressions; ok is false for types that have no size.
func sizeOf(v types.AttributeValue) (size int, ok bool) {
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

// units is what a write of this size costs, at least one.
func units(size, unit int) int { return max(1, (size+unit-1)/unit) }
