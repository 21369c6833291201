package idemddbtest_test

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"
)

func (g *generator) path() string {
	switch g.pick("path", "top", "top", "top", "deep", "alias", "key", "odd") {
	case "deep":
		return g.pick("deep", "m.a", "m.n", "m.l[0]", "l[0]", "l[0]", "l[1]", "l[1]", "l[2]", "l[7]", "l[9]", "m.zz", "l[0].a", "a.b", "m.l[1].a")
	case "alias":
		alias := g.pick("alias", "#status", "#dot", "#a")
		g.names[alias] = map[string]string{"#status": "status", "#dot": "x.y", "#a": "a"}[alias]

		return alias + g.pick("below", "", "", ".a", "[0]")
	case "key":
		return g.pick("key attribute", "pk", "sk")
	case "odd":
		if g.chance(10, "reserved") {
			return g.pick("reserved", "status", "Ttl", "owner", "m.value", "a.size", "_a", "a-b", "l[-1]", "l[01]", "m.0")
		}
	}

	return g.pick("top", "a", "b", "n", "s", "l", "m", "zz")
}

func (g *generator) operand() string {
	switch g.pick("operand", "path", "value", "value", "size") {
	case "path":
		return g.path()
	case "size":
		if g.chance(50, "size") {
			return "size(" + g.path() + ")"
		}
	}

	return g.placeholder(g.value(0))
}

func (g *generator) condition(depth int) string {
	kinds := []string{"compare", "compare", "compare", "exists", "exists", "function", "between", "in", "and", "or", "not", "parens"}
	if depth > 2 {
		kinds = kinds[:8]
	}

	switch g.pick("condition", kinds...) {
	case "exists":
		return g.pick("function", "attribute_exists", "attribute_not_exists") + "(" + g.path() + ")"
	case "function":
		return g.function()
	case "between":
		return g.operand() + " BETWEEN " + g.operand() + " AND " + g.operand()
	case "in":
		list := make([]string, rapid.IntRange(1, 3).Draw(g.T, "listed"))
		for i := range list {
			list[i] = g.operand()
		}

		return g.operand() + g.pick("IN", " IN ", " in ") + "(" + strings.Join(list, ", ") + ")"
	case "and":
		return g.condition(depth+1) + g.pick("AND", " AND ", " and ", " And\n") + g.condition(depth+1)
	case "or":
		return g.condition(depth+1) + g.pick("OR", " OR ", " or ", "\tOr ") + g.condition(depth+1)
	case "not":
		return g.pick("NOT", "NOT ", "not ", "nOt\n") + g.condition(depth+1)
	case "parens":
		return "(" + g.condition(depth+1) + ")"
	}

	var left string
	if g.chance(30, "any left") {
		left = g.operand()
	} else {
		left = g.path()
	}

	if g.chance(3, "operand in parentheses") {
		left = "(" + left + ")"
	}

	return left + g.pick("operator", " = ", " = ", " <> ", "<", "<=", ">", ">=", "<>", "=") + g.operand()
}

func (g *generator) function() string {
	switch g.pick("function", "attribute_type", "begins_with", "contains", "odd") {
	case "attribute_type":
		t := types.AttributeValue(&types.AttributeValueMemberS{Value: g.pick("type name", "S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M", "X")})
		if g.chance(5, "not a type") {
			t = g.value(0)
		}

		return "attribute_type(" + g.path() + ", " + g.placeholder(t) + ")"
	case "begins_with":
		return "begins_with(" + g.operand() + ", " + g.operand() + ")"
	case "odd":
		return g.pick("odd function", "begins_with(a)", "size(a)", "Contains(a, b)", "nosuch(a)", "contains(a, b, n)", "attribute_exists(size(a))", "contains(size(a), n)", "begins_with(contains(a, b), a)")
	}

	return "contains(" + g.operand() + ", " + g.operand() + ")"
}

func (g *generator) update() string {
	var clauses []string

	for _, clause := range rapid.Permutation([]string{"SET", "REMOVE", "ADD", "DELETE"}).Draw(g.T, "clauses") {
		if g.chance(45, clause) {
			var actions []string
			for range rapid.IntRange(1, 2).Draw(g.T, "actions") {
				actions = append(actions, g.action(clause))
			}

			clauses = append(clauses, g.pick("case", clause, clause, strings.ToLower(clause))+" "+strings.Join(actions, ", "))
		}
	}

	if len(clauses) == 0 || g.chance(1, "again") {
		clauses = append(clauses, "SET "+g.action("SET"))
	}

	return strings.Join(clauses, " ")
}

func (g *generator) action(clause string) string {
	p := g.path()

	switch clause {
	case "REMOVE":
		return p
	case "ADD":
		if g.chance(70, "number") {
			return p + " " + g.placeholder(g.number())
		}

		return p + " " + g.placeholder(g.typical("s"))
	case "DELETE":
		return p + " " + g.placeholder(g.typical("s"))
	}

	return p + g.pick("=", " = ", "=") + g.right()
}

func (g *generator) right() string {
	switch g.pick("right", "term", "term", "sum", "parens") {
	case "sum":
		return g.numeric() + g.pick("sign", " + ", " - ", "+", "-") + g.numeric()
	case "parens":
		return "(" + g.term(0) + ")"
	}

	return g.term(0)
}

func (g *generator) numeric() string {
	switch g.pick("numeric", "value", "path", "n", "default", "any") {
	case "value":
		return g.placeholder(g.number())
	case "n":
		return "n"
	case "default":
		return "if_not_exists(" + g.path() + ", " + g.placeholder(g.number()) + ")"
	case "any":
		return g.term(0)
	}

	return g.path()
}

func (g *generator) term(depth int) string {
	kinds := []string{"value", "value", "path", "if_not_exists", "list_append"}
	if depth > 1 {
		kinds = kinds[:3]
	}

	switch g.pick("term", kinds...) {
	case "value":
		return g.placeholder(g.value(0))
	case "if_not_exists":
		return "if_not_exists(" + g.path() + ", " + g.term(depth+1) + ")"
	case "list_append":
		return "list_append(" + g.list(depth) + ", " + g.list(depth) + ")"
	}

	return g.path()
}

func (g *generator) list(depth int) string {
	switch g.pick("list", "l", "value", "term") {
	case "l":
		return "l"
	case "value":
		return g.placeholder(g.typical("l"))
	}

	return g.term(depth + 1)
}
