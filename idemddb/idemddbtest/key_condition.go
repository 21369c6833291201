package idemddbtest

import (
	"slices"

	"github.com/idemddb/go-idemddb/internal/fakedynamo/attribute"
	"github.com/idemddb/go-idemddb/internal/fakedynamo/exception"
)

// checkKeyCondition refuses a condition that is not an equality on the partition key, with at most one comparison of the sort
// key.
func (s source) checkKeyCondition(b *binding, e *expr) error {
	seen := map[string]bool{}

	for _, c := range conjuncts(e) {
		k, err := s.keyOperand(b, c)

		switch {
		case err != nil:
			return err
		case seen[k.name]:
			return exception.Validation("KeyConditionExpressions must only contain one condition per key")
		}

		seen[k.name] = true
	}

	if !seen[s.key()[0].name] {
		return exception.Validation("Query condition missed key schema element: %s", s.key()[0].name)
	}

	return nil
}

func conjuncts(e *expr) []*expr {
	if e.kind != andExpr {
		return []*expr{e}
	}

	return append(conjuncts(e.args[0]), conjuncts(e.args[1])...)
}

// keyOperand returns the key attribute of a comparison, and checks the values with which it is compared.
func (s source) keyOperand(b *binding, e *expr) (k keyAttribute, err error) {
	switch {
	case e.kind == compareExpr && e.op != "<>", e.kind == betweenExpr, e.kind == functionExpr && e.op == "begins_with":
	default:
		return k, exception.Validation("Invalid operator used in KeyConditionExpression: %s", e.op)
	}

	operand, values, err := keyOperands(e)
	if err != nil {
		return k, err
	}

	name := operand.path.resolved(b.names)[0].name

	i := slices.IndexFunc(s.key(), func(k keyAttribute) bool { return k.name == name })

	switch {
	case i < 0:
		return k, exception.Validation("Query condition missed key schema element")
	case i == 0 && (e.kind != compareExpr || e.op != "="):
		return k, exception.Validation("Query key condition not supported")
	}

	k = s.key()[i]

	for _, value := range values {
		switch v := b.values[value.op]; {
		case attribute.TypeOf(v) != k.typ:
			return k, exception.Validation("One or more parameter values were invalid: Condition parameter type does not match schema type")
		case keyText(v) == "" && e.kind != functionExpr:
			return k, exception.Validation("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: %s", k.name)
		}
	}

	return k, nil
}

// keyOperands returns the path and the values of a comparison. With an operator such as < the path may be on the right.
func keyOperands(e *expr) (operand *expr, values []*expr, err error) {
	for i, a := range e.args {
		switch {
		case a.kind == valueExpr:
			values = append(values, a)
		case a.kind != pathExpr, len(a.path) != 1, operand != nil, i > 0 && e.kind != compareExpr:
			return nil, nil, exception.Validation("Invalid condition in KeyConditionExpression: one attribute of the key, and values")
		default:
			operand = a
		}
	}

	if operand == nil {
		return nil, nil, exception.Validation("Invalid condition in KeyConditionExpression: No key attribute specified")
	}

	return operand, values, nil
}
