package expression

import (
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/attribute"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/exception"
)

// Binding holds the names and values of a request for its expressions. The values are adopted.
type Binding struct {
	Names     map[string]string
	Values    attribute.Item
	Documents []string // the attributes in which the expressions read, as in a of a.b
}

// Bind checks that the expressions use all names and values of the request, and no others.
func Bind(names map[string]string, values attribute.Item, expressions ...Parsed) (*Binding, error) {
	if err := checkKeys(names, values, len(expressions) > 0); err != nil {
		return nil, err
	}

	adopted, err := attribute.Adopt(values)
	if err != nil {
		return nil, err
	}

	b, used := &Binding{Names: names, Values: adopted}, 0

	for i, e := range expressions {
		if e.err != nil {
			return nil, e.err
		}

		for name := range e.uses.placeholders {
			if !defined(name, names, adopted) {
				return nil, exception.Validation("An expression attribute name or value used in expression is not defined: %s", name)
			}

			if i == 0 || !contained(name, expressions[:i]) {
				used++
			}
		}

		for _, s := range e.uses.documents {
			b.Documents = append(b.Documents, Path{s}.Resolved(names)[0].Name)
		}
	}

	if used != len(names)+len(values) {
		return nil, exception.Validation("Value provided in ExpressionAttributeNames or ExpressionAttributeValues unused in expressions")
	}

	return b, nil
}

// checkKeys checks the names of placeholders. A nil map is absent; a map that is present may not be empty.
func checkKeys(names map[string]string, values attribute.Item, expressions bool) error {
	switch {
	case !expressions && (names != nil || values != nil):
		return exception.Validation("ExpressionAttributeNames and ExpressionAttributeValues can only be specified when using expressions")
	case names != nil && len(names) == 0:
		return exception.Validation("ExpressionAttributeNames must not be empty")
	case values != nil && len(values) == 0:
		return exception.Validation("ExpressionAttributeValues must not be empty")
	}

	for alias, name := range names {
		if !placeholder(alias, '#') || name == "" {
			return exception.Validation("ExpressionAttributeNames contains invalid key or value: %q", alias)
		}
	}

	for name := range values {
		if !placeholder(name, ':') {
			return exception.Validation("ExpressionAttributeValues contains invalid key: %q", name)
		}
	}

	return nil
}

const maxPlaceholder = 255

func placeholder(s string, prefix byte) bool {
	return len(s) > 1 && len(s) <= maxPlaceholder && s[0] == prefix && wordLength(s) == len(s)
}

func defined(name string, names map[string]string, values attribute.Item) bool {
	var ok bool
	if name[0] == '#' {
		_, ok = names[name]
	} else {
		_, ok = values[name]
	}

	return ok
}

func contained(name string, expressions []Parsed) bool {
	return slices.ContainsFunc(expressions, func(e Parsed) bool {
		_, ok := e.uses.placeholders[name]

		return ok
	})
}

// value returns the value of an operand of a condition, nil if it is missing.
func (b *Binding) value(e *Node, it attribute.Item) types.AttributeValue {
	switch e.Kind {
	case PathNode:
		return e.Path.Resolved(b.Names).Lookup(it)
	case ValueNode:
		return b.Values[e.Op]
	case SizeNode:
		if n, ok := attribute.Length(b.value(e.Args[0], it)); ok {
			return integer(n)
		}
	}

	return nil
}

func integer(n int) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.Itoa(n)}
}
