package expression

import (
	"bytes"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/attribute"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/exception"
)

// evaluate returns the value of the right side of a SET.
func (b *Binding) evaluate(e *Node, it attribute.Item) (types.AttributeValue, error) {
	switch {
	case e.Kind == SumNode:
		return b.sum(e, it)
	case e.Op == "if_not_exists" && e.Kind == SetFunctionNode:
		// Both operands are evaluated, because a second one that is missing fails even if it is not needed.
		other, err := b.evaluate(e.Args[1], it)
		if v := b.value(e.Args[0], it); v != nil && err == nil {
			return v, nil
		}

		return other, err
	case e.Kind == SetFunctionNode:
		return b.listAppend(e, it)
	}

	if v := b.value(e, it); v != nil {
		return v, nil
	}

	return nil, exception.Validation("The provided expression refers to an attribute that does not exist in the item")
}

// both evaluates two operands, which must be of one type.
func both[T types.AttributeValue](b *Binding, e *Node, it attribute.Item) (x, y T, err error) {
	left, err := b.evaluate(e.Args[0], it)
	if err != nil {
		return x, y, err
	}

	right, err := b.evaluate(e.Args[1], it)
	if err != nil {
		return x, y, err
	}

	x, isX := left.(T)

	y, isY := right.(T)
	if !isX || !isY {
		return x, y, errOperandType()
	}

	return x, y, nil
}

func (b *Binding) sum(e *Node, it attribute.Item) (types.AttributeValue, error) {
	m, n, err := both[*types.AttributeValueMemberN](b, e, it)
	if err != nil {
		return nil, err
	}

	other := n.Value
	if e.Op == "-" {
		other = attribute.NegateNumber(other)
	}

	s, err := attribute.AddNumbers(m.Value, other)

	return &types.AttributeValueMemberN{Value: s}, err
}

func (b *Binding) listAppend(e *Node, it attribute.Item) (types.AttributeValue, error) {
	l, m, err := both[*types.AttributeValueMemberL](b, e, it)
	if err != nil {
		return nil, err
	}

	return &types.AttributeValueMemberL{Value: slices.Concat(l.Value, m.Value)}, nil
}

// add does the action ADD: it adds numbers and unites sets. A missing attribute counts as zero or as an empty set.
func add(old, v types.AttributeValue) (types.AttributeValue, error) {
	if old == nil {
		return v, nil
	}

	if attribute.TypeOf(old) != attribute.TypeOf(v) {
		return nil, errOperandType()
	}

	switch old := old.(type) {
	case *types.AttributeValueMemberN:
		s, err := attribute.AddNumbers(old.Value, v.(*types.AttributeValueMemberN).Value)

		return &types.AttributeValueMemberN{Value: s}, err
	case *types.AttributeValueMemberSS:
		return &types.AttributeValueMemberSS{Value: union(old.Value, v.(*types.AttributeValueMemberSS).Value, strings.Compare)}, nil
	case *types.AttributeValueMemberNS:
		return &types.AttributeValueMemberNS{Value: union(old.Value, v.(*types.AttributeValueMemberNS).Value, attribute.CompareNumbers)}, nil
	case *types.AttributeValueMemberBS:
		return &types.AttributeValueMemberBS{Value: union(old.Value, v.(*types.AttributeValueMemberBS).Value, bytes.Compare)}, nil
	}

	return nil, errOperandType()
}

func union[T any](a, b []T, compare func(T, T) int) []T {
	all := slices.Concat(a, b)
	slices.SortFunc(all, compare)

	return slices.CompactFunc(all, func(x, y T) bool { return compare(x, y) == 0 })
}

// subtract does the action DELETE. It returns nil if nothing is left, because a set is never empty.
func subtract(old, v types.AttributeValue) (types.AttributeValue, error) {
	if old == nil {
		return nil, nil
	}

	if attribute.TypeOf(old) != attribute.TypeOf(v) {
		return nil, errOperandType()
	}

	switch old := old.(type) {
	case *types.AttributeValueMemberSS:
		if left := minus(old.Value, v.(*types.AttributeValueMemberSS).Value, strings.Compare); len(left) > 0 {
			return &types.AttributeValueMemberSS{Value: left}, nil
		}
	case *types.AttributeValueMemberNS:
		if left := minus(old.Value, v.(*types.AttributeValueMemberNS).Value, attribute.CompareNumbers); len(left) > 0 {
			return &types.AttributeValueMemberNS{Value: left}, nil
		}
	case *types.AttributeValueMemberBS:
		if left := minus(old.Value, v.(*types.AttributeValueMemberBS).Value, bytes.Compare); len(left) > 0 {
			return &types.AttributeValueMemberBS{Value: left}, nil
		}
	}

	return nil, nil
}

func minus[T any](a, b []T, compare func(T, T) int) []T {
	return slices.DeleteFunc(slices.Clone(a), func(x T) bool {
		return slices.ContainsFunc(b, func(y T) bool { return compare(x, y) == 0 })
	})
}

func errOperandType() error {
	return exception.Validation("An operand in the update expression has an incorrect data type")
}
