package idemddbtest

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/fakedynamo/attribute"
	"github.com/idemddb/go-idemddb/internal/fakedynamo/exception"
)

// check refuses a condition that is wrong for every item: one with operands of a type that their operator never takes.
func (b *binding) check(e *expr) error {
	for _, a := range e.args {
		if err := b.check(a); err != nil {
			return err
		}
	}

	switch e.kind {
	case sizeExpr:
		return b.checkTypes(e, "S B SS NS BS L M", e.args...)
	case compareExpr:
		if strings.ContainsAny(e.op, "<>") && e.op != "<>" {
			if err := b.checkTypes(e, "S N B", e.args...); err != nil {
				return err
			}
		}

		return b.checkDistinct(e)
	case inExpr:
		return b.checkDistinct(e)
	case betweenExpr:
		return b.checkBetween(e)
	case functionExpr:
		return b.checkFunction(e)
	}

	return nil
}

func (b *binding) checkFunction(e *expr) error {
	switch e.op {
	case "attribute_exists", "attribute_not_exists":
		if e.args[0].kind != pathExpr {
			return exception.Validation("Operator or function requires a document path; operator or function: %s", e.op)
		}

		return nil
	case "attribute_type":
		if e.args[1].kind != valueExpr {
			return wrongType(e, "")
		}

		t, ok := b.values[e.args[1].op].(*types.AttributeValueMemberS)
		if !ok {
			return wrongType(e, attribute.TypeOf(b.values[e.args[1].op]))
		}

		if !oneOf(t.Value, "S N B BOOL NULL SS NS BS L M") {
			return exception.Validation("Invalid attribute type name found; type: %s", t.Value)
		}

		return nil
	case "begins_with":
		if err := b.checkTypes(e, "S B", e.args...); err != nil {
			return err
		}
	}

	return b.checkDistinct(e)
}

func (b *binding) checkBetween(e *expr) error {
	if err := b.checkTypes(e, "S N B", e.args...); err != nil {
		return err
	}

	if e.args[1].kind != valueExpr || e.args[2].kind != valueExpr {
		return b.checkDistinct(e)
	}

	order, ok := attribute.Compare(b.values[e.args[1].op], b.values[e.args[2].op])
	if !ok {
		return exception.Validation("The BETWEEN operator requires same data type for lower and upper bounds")
	}

	if order > 0 {
		return exception.Validation("The BETWEEN operator requires upper bound to be greater than or equal to lower bound")
	}

	return nil
}

// checkDistinct refuses the comparison of a path with itself.
func (b *binding) checkDistinct(e *expr) error {
	first := e.args[0]
	for _, other := range e.args[1:] {
		if first.kind == pathExpr && other.kind == pathExpr && first.path.resolved(b.names).compare(other.path.resolved(b.names)) == 0 {
			return exception.Validation("The first operand must be distinct from the remaining operands for this operator or function; operator: %s", e.op)
		}
	}

	return nil
}

// checkTypes checks the operands whose types do not depend on the item.
func (b *binding) checkTypes(e *expr, allowed string, operands ...*expr) error {
	for _, o := range operands {
		var t string

		switch o.kind {
		case valueExpr:
			t = attribute.TypeOf(b.values[o.op])
		case sizeExpr:
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

func oneOf(s, words string) bool {
	for w := range strings.FieldsSeq(words) {
		if w == s {
			return true
		}
	}

	return false
}

func wrongType(e *expr, t string) error {
	return exception.Validation("Incorrect operand type for operator or function; operator or function: %s, operand type: %s", e.op, t)
}

// holds evaluates a checked condition for an item; nil is a missing item.
func (b *binding) holds(e *expr, it attribute.Item) bool {
	switch e.kind {
	case andExpr:
		return b.holds(e.args[0], it) && b.holds(e.args[1], it)
	case orExpr:
		return b.holds(e.args[0], it) || b.holds(e.args[1], it)
	case notExpr:
		return !b.holds(e.args[0], it)
	case compareExpr:
		return compares(e.op, b.value(e.args[0], it), b.value(e.args[1], it))
	case betweenExpr:
		v := b.value(e.args[0], it)

		return compares(">=", v, b.value(e.args[1], it)) && compares("<=", v, b.value(e.args[2], it))
	case inExpr:
		v := b.value(e.args[0], it)
		for _, a := range e.args[1:] {
			if attribute.Equal(v, b.value(a, it)) {
				return true
			}
		}

		return false
	}

	return b.function(e, it)
}

func (b *binding) function(e *expr, it attribute.Item) bool {
	v := b.value(e.args[0], it)
	switch e.op {
	case "attribute_exists":
		return v != nil
	case "attribute_not_exists":
		return v == nil
	case "attribute_type":
		return v != nil && attribute.TypeOf(v) == b.values[e.args[1].op].(*types.AttributeValueMemberS).Value
	case "begins_with":
		return attribute.BeginsWith(v, b.value(e.args[1], it))
	case "contains":
		return attribute.Contains(v, b.value(e.args[1], it))
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
