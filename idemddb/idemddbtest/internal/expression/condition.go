package expression

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/attribute"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/exception"
)

// Check refuses a condition that is wrong for every item: one with operands of a type that their operator never takes.
func (b *Binding) Check(e *Node) error {
	for _, a := range e.Args {
		if err := b.Check(a); err != nil {
			return err
		}
	}

	switch e.Kind {
	case SizeNode:
		return b.checkTypes(e, "S B SS NS BS L M", e.Args...)
	case CompareNode:
		if strings.ContainsAny(e.Op, "<>") && e.Op != "<>" {
			if err := b.checkTypes(e, "S N B", e.Args...); err != nil {
				return err
			}
		}

		return b.checkDistinct(e)
	case InNode:
		return b.checkDistinct(e)
	case BetweenNode:
		return b.checkBetween(e)
	case FunctionNode:
		return b.checkFunction(e)
	}

	return nil
}

func (b *Binding) checkFunction(e *Node) error {
	switch e.Op {
	case "attribute_exists", "attribute_not_exists":
		if e.Args[0].Kind != PathNode {
			return exception.Validation("Operator or function requires a document path; operator or function: %s", e.Op)
		}

		return nil
	case "attribute_type":
		if e.Args[1].Kind != ValueNode {
			return wrongType(e, "")
		}

		t, ok := b.Values[e.Args[1].Op].(*types.AttributeValueMemberS)
		if !ok {
			return wrongType(e, attribute.TypeOf(b.Values[e.Args[1].Op]))
		}

		if !oneOf(t.Value, "S N B BOOL NULL SS NS BS L M") {
			return exception.Validation("Invalid attribute type name found; type: %s", t.Value)
		}

		return nil
	case "begins_with":
		if err := b.checkTypes(e, "S B", e.Args...); err != nil {
			return err
		}
	}

	return b.checkDistinct(e)
}

func (b *Binding) checkBetween(e *Node) error {
	if err := b.checkTypes(e, "S N B", e.Args...); err != nil {
		return err
	}

	if e.Args[1].Kind != ValueNode || e.Args[2].Kind != ValueNode {
		return b.checkDistinct(e)
	}

	order, ok := attribute.Compare(b.Values[e.Args[1].Op], b.Values[e.Args[2].Op])
	if !ok {
		return exception.Validation("The BETWEEN operator requires same data type for lower and upper bounds")
	}

	if order > 0 {
		return exception.Validation("The BETWEEN operator requires upper bound to be greater than or equal to lower bound")
	}

	return nil
}

// checkDistinct refuses the comparison of a path with itself.
func (b *Binding) checkDistinct(e *Node) error {
	first := e.Args[0]
	for _, other := range e.Args[1:] {
		if first.Kind == PathNode && other.Kind == PathNode && first.Path.Resolved(b.Names).compare(other.Path.Resolved(b.Names)) == 0 {
			return exception.Validation("The first operand must be distinct from the remaining operands for this operator or function; operator: %s", e.Op)
		}
	}

	return nil
}

// checkTypes checks the operands whose types do not depend on the item.
func (b *Binding) checkTypes(e *Node, allowed string, operands ...*Node) error {
	for _, o := range operands {
		var t string

		switch o.Kind {
		case ValueNode:
			t = attribute.TypeOf(b.Values[o.Op])
		case SizeNode:
			t = "N"
		default:
			continue
		}

		if !oneOf(t, allowed) {
			return wrongType(e, t)
		}
	}

	return nil
}

func wrongType(e *Node, t string) error {
	return exception.Validation("Incorrect operand type for operator or function; operator or function: %s, operand type: %s", e.Op, t)
}

// Holds evaluates a checked condition for an item; nil is a missing item.
func (b *Binding) Holds(e *Node, it attribute.Item) bool {
	switch e.Kind {
	case AndNode:
		return b.Holds(e.Args[0], it) && b.Holds(e.Args[1], it)
	case OrNode:
		return b.Holds(e.Args[0], it) || b.Holds(e.Args[1], it)
	case NotNode:
		return !b.Holds(e.Args[0], it)
	case CompareNode:
		return compares(e.Op, b.value(e.Args[0], it), b.value(e.Args[1], it))
	case BetweenNode:
		v := b.value(e.Args[0], it)

		return compares(">=", v, b.value(e.Args[1], it)) && compares("<=", v, b.value(e.Args[2], it))
	case InNode:
		v := b.value(e.Args[0], it)
		for _, a := range e.Args[1:] {
			if attribute.Equal(v, b.value(a, it)) {
				return true
			}
		}

		return false
	}

	return b.function(e, it)
}

func (b *Binding) function(e *Node, it attribute.Item) bool {
	v := b.value(e.Args[0], it)
	switch e.Op {
	case "attribute_exists":
		return v != nil
	case "attribute_not_exists":
		return v == nil
	case "attribute_type":
		return v != nil && attribute.TypeOf(v) == b.Values[e.Args[1].Op].(*types.AttributeValueMemberS).Value
	case "begins_with":
		return attribute.BeginsWith(v, b.value(e.Args[1], it))
	case "contains":
		return attribute.Contains(v, b.value(e.Args[1], it))
	}

	return false
}

// compares evaluates a comparison. It is false if an operand is missing or if their types differ. Only <> is then true, as the
// opposite of =. So a claim may say own <> :mine of a record without an owner token.
func compares(op string, a, b types.AttributeValue) bool {
	switch op {
	case "=":
		return attribute.Equal(a, b)
	case "<>":
		return !attribute.Equal(a, b)
	}

	order, ok := attribute.Compare(a, b)
	switch {
	case !ok:
		return false
	case op == "<":
		return order < 0
	case op == "<=":
		return order <= 0
	case op == ">":
		return order > 0
	}

	return order >= 0
}

// Matcher returns a function that evaluates the expression, nil for a missing expression.
func (b *Binding) Matcher(e *Node) func(attribute.Item) bool {
	if e == nil {
		return nil
	}

	return func(it attribute.Item) bool { return b.Holds(e, it) }
}
