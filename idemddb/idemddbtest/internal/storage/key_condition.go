package storage

import (
	"slices"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/attribute"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/exception"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/expression"
)

// checkKeyCondition refuses a condition that is not an equality on the partition key, with at most one comparison of the sort
// key.
func (s Source) checkKeyCondition(b *expression.Binding, e *expression.Node) error {
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

func conjuncts(e *expression.Node) []*expression.Node {
	if e.Kind != expression.AndNode {
		return []*expression.Node{e}
	}

	return append(conjuncts(e.Args[0]), conjuncts(e.Args[1])...)
}

// keyOperand returns the key attribute of a comparison, and checks the values with which it is compared.
func (s Source) keyOperand(b *expression.Binding, e *expression.Node) (k keyAttribute, err error) {
	switch {
	case e.Kind == expression.CompareNode && e.Op != "<>", e.Kind == expression.BetweenNode, e.Kind == expression.FunctionNode && e.Op == "begins_with":
	default:
		return k, exception.Validation("Invalid operator used in KeyConditionExpression: %s", e.Op)
	}

	operand, values, err := keyOperands(e)
	if err != nil {
		return k, err
	}

	name := operand.Path.Resolved(b.Names)[0].Name

	i := slices.IndexFunc(s.key(), func(k keyAttribute) bool { return k.name == name })

	switch {
	case i < 0:
		return k, exception.Validation("Query condition missed key schema element")
	case i == 0 && (e.Kind != expression.CompareNode || e.Op != "="):
		return k, exception.Validation("Query key condition not supported")
	}

	k = s.key()[i]

	for _, value := range values {
		switch v := b.Values[value.Op]; {
		case attribute.TypeOf(v) != k.typ:
			return k, exception.Validation("One or more parameter values were invalid: Condition parameter type does not match schema type")
		case keyText(v) == "" && e.Kind != expression.FunctionNode:
			return k, exception.Validation(
				"One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: %s", k.name,
			)
		case len(keyText(v)) > k.max:
			return k, exception.Validation("One or more parameter values were invalid: Size of key %s has exceeded the limit of %d bytes", k.name, k.max)
		}
	}

	return k, nil
}

// keyOperands returns the path and the values of a comparison. With an operator such as < the path may be on the right.
func keyOperands(e *expression.Node) (operand *expression.Node, values []*expression.Node, err error) {
	for i, a := range e.Args {
		switch {
		case a.Kind == expression.ValueNode:
			values = append(values, a)
		case a.Kind != expression.PathNode, len(a.Path) != 1, operand != nil, i > 0 && e.Kind != expression.CompareNode:
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
