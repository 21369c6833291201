package attribute

import (
	"bytes"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/exception"
)

const (
	maxDepth = 32
	maxName  = 65535 // bytes
)

// Adopt copies attributes of a caller, checks them, and gives numbers and sets their normal form.
func Adopt(in Item) (Item, error) {
	out := make(Item, len(in)+4) // an update may add some attributes
	for name, v := range in {
		if err := checkName(name); err != nil {
			return nil, err
		}

		c, err := adoptNested(v, 1)
		if err != nil {
			return nil, err
		}

		out[name] = c
	}

	return out, nil
}

func checkName(name string) error {
	switch {
	case name == "":
		return exception.Validation("Empty attribute name")
	case len(name) > maxName:
		return exception.Validation("Attribute name is too large, must be less than 65536 bytes")
	}

	return nil
}

// AdoptValue does for one value what Adopt does for attributes.
func AdoptValue(v types.AttributeValue) (types.AttributeValue, error) { return adoptNested(v, 1) }

func adoptNested(v types.AttributeValue, depth int) (types.AttributeValue, error) {
	if depth > maxDepth {
		return nil, exception.Validation("Nesting Levels have exceeded supported limits")
	}

	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return &types.AttributeValueMemberS{Value: v.Value}, nil
	case *types.AttributeValueMemberN:
		n, err := CanonicalNumber(v.Value)

		return &types.AttributeValueMemberN{Value: n}, err
	case *types.AttributeValueMemberB:
		return &types.AttributeValueMemberB{Value: copyBytes(v.Value)}, nil
	case *types.AttributeValueMemberBOOL:
		return &types.AttributeValueMemberBOOL{Value: v.Value}, nil
	case *types.AttributeValueMemberNULL:
		if !v.Value {
			return nil, exception.Validation("One or more parameter values were invalid: Null attribute value types must have the value of true")
		}

		return &types.AttributeValueMemberNULL{Value: true}, nil
	case *types.AttributeValueMemberL:
		return adoptList(v, depth)
	case *types.AttributeValueMemberM:
		return adoptMap(v, depth)
	}

	return adoptSet(v)
}

func adoptList(v *types.AttributeValueMemberL, depth int) (types.AttributeValue, error) {
	out := make([]types.AttributeValue, len(v.Value))
	for i, e := range v.Value {
		var err error
		if out[i], err = adoptNested(e, depth+1); err != nil {
			return nil, err
		}
	}

	return &types.AttributeValueMemberL{Value: out}, nil
}

func adoptMap(v *types.AttributeValueMemberM, depth int) (types.AttributeValue, error) {
	out := make(Item, len(v.Value))
	for name, e := range v.Value {
		if err := checkName(name); err != nil {
			return nil, err
		}

		c, err := adoptNested(e, depth+1)
		if err != nil {
			return nil, err
		}

		out[name] = c
	}

	return &types.AttributeValueMemberM{Value: out}, nil
}

func adoptSet(v types.AttributeValue) (types.AttributeValue, error) {
	switch v := v.(type) {
	case *types.AttributeValueMemberSS:
		set, err := newSet(slices.Clone(v.Value), strings.Compare)

		return &types.AttributeValueMemberSS{Value: set}, err
	case *types.AttributeValueMemberNS:
		set := make([]string, len(v.Value))
		for i, s := range v.Value {
			var err error
			if set[i], err = CanonicalNumber(s); err != nil {
				return nil, err
			}
		}

		set, err := newSet(set, CompareNumbers)

		return &types.AttributeValueMemberNS{Value: set}, err
	case *types.AttributeValueMemberBS:
		set := make([][]byte, len(v.Value))
		for i, b := range v.Value {
			set[i] = copyBytes(b)
		}

		set, err := newSet(set, bytes.Compare)

		return &types.AttributeValueMemberBS{Value: set}, err
	}

	return nil, exception.Validation("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
}

// newSet sorts the set and checks it. A set has no order, so one order for all makes comparisons simple.
func newSet[T any](set []T, compare func(T, T) int) ([]T, error) {
	if len(set) == 0 {
		return nil, exception.Validation("One or more parameter values were invalid: A set may not be empty")
	}

	slices.SortFunc(set, compare)

	for i := range len(set) - 1 {
		if compare(set[i], set[i+1]) == 0 {
			return nil, exception.Validation("Input collection contains duplicates")
		}
	}

	return set, nil
}
