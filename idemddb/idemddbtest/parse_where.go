package idemddbtest

import (
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/fakedynamo/attribute"
	"github.com/idemddb/go-idemddb/internal/fakedynamo/exception"
)

func (p *statementParser) or() (*expr, error)  { return p.chain("OR", orExpr, p.and) }
func (p *statementParser) and() (*expr, error) { return p.chain("AND", andExpr, p.not) }

func (p *statementParser) not() (*expr, error) {
	if !p.takeWord("NOT") {
		return p.comparison()
	}

	e, err := p.not()
	if err == nil && e.operand() {
		err = p.unexpected()
	}

	return &expr{kind: notExpr, args: []*expr{e}}, err
}

func (p *statementParser) comparison() (*expr, error) {
	if p.take("(") {
		e, err := p.or()
		if err == nil && !p.take(")") {
			err = p.unexpected()
		}

		return e, err
	}

	if p.peek().kind == wordToken && p.tokens[1].text == "(" {
		return p.function()
	}

	left, err := p.operand()
	if err != nil {
		return nil, err
	}

	t := p.peek()
	switch {
	case p.takeWord("IS"):
		return p.is(left)
	case t.kind == symbolToken && oneOf(t.text, "= <> < <= > >="):
		p.next()
		right, err := p.operand()

		return &expr{kind: compareExpr, op: t.text, args: []*expr{left, right}}, err
	case t.kind == wordToken && oneOf(strings.ToUpper(t.text), "BETWEEN IN LIKE"):
		return nil, unsupported(t.text)
	}

	return left, nil
}

func (p *statementParser) is(left *expr) (*expr, error) {
	function := "attribute_not_exists"
	if p.takeWord("NOT") {
		function = "attribute_exists"
	}

	switch {
	case left.kind != pathExpr:
		return nil, exception.Validation("The left hand side argument to IS must be a Variable Reference, Literal, or Path")
	case !p.takeWord("MISSING"):
		return nil, unsupported("IS " + p.peek().text)
	}

	return &expr{kind: functionExpr, op: function, args: []*expr{left}}, nil
}

// function parses a call of a function. The service takes the names of functions in any case.
func (p *statementParser) function() (*expr, error) {
	name := strings.ToLower(p.next().text)
	if !oneOf(name, "attribute_exists attribute_not_exists begins_with") {
		return nil, unsupported("the function " + name)
	}

	args, err := p.arguments(p.operand)
	if err == nil && len(args) != conditionFunctions[name] {
		err = wrongCount(name)
	}

	return &expr{kind: functionExpr, op: name, args: args}, err
}

// operand parses a value or a path.
func (p *statementParser) operand() (*expr, error) {
	if v, ok := p.value(); ok {
		return v, nil
	}

	if p.peek().kind == wordToken && p.tokens[1].text == "(" {
		return nil, unsupported("the function " + p.peek().text)
	}

	if t := p.peek(); t.kind == symbolToken && t.text == "(" {
		return nil, unsupported("an operand in parentheses")
	}

	path, err := p.path()

	return &expr{kind: pathExpr, path: path}, err
}

// value parses a parameter or a literal, and gives it a placeholder of its own.
func (p *statementParser) value() (*expr, bool) {
	st := p.st
	placeholder := ":" + strconv.Itoa(len(st.parameters)+len(st.literals))

	switch t := p.peek(); t.kind {
	case valueToken:
		st.parameters = append(st.parameters, placeholder)
	case stringToken, numberToken:
		var v types.AttributeValue = &types.AttributeValueMemberS{Value: t.text}
		if t.kind == numberToken {
			n, err := attribute.CanonicalNumber(t.text)
			if err != nil {
				return nil, false
			}

			v = &types.AttributeValueMemberN{Value: n}
		}

		if st.literals == nil {
			st.literals = attribute.Item{}
		}

		st.literals[placeholder] = v
	default:
		return nil, false
	}

	p.next()

	return &expr{kind: valueExpr, op: placeholder}, true
}

func (p *statementParser) path() (path, error) {
	name, err := p.name()
	if err != nil {
		return nil, err
	}

	if name == "" {
		return nil, exception.Validation("Path component cannot be an empty string")
	}

	if t := p.peek().text; p.peek().kind == symbolToken && (t == "." || t == "[") {
		return nil, unsupported("a path into a document")
	}

	if name[0] == '#' { // the service answers so, too
		return nil, exception.Validation("An expression attribute name used in the document path is not defined; attribute name: %s", name)
	}

	return path{{name: name}}, nil
}

// equalities appends to list the attributes that must equal a value if the condition holds.
func equalities(e *expr, list []named) []named {
	switch {
	case e.kind == andExpr:
		return equalities(e.args[1], equalities(e.args[0], list))
	case e.kind == compareExpr && e.op == "=":
		left, right := e.args[0], e.args[1]
		if left.kind == valueExpr {
			left, right = right, left
		}

		if left.kind == pathExpr && right.kind == valueExpr {
			return append(list, named{left.path[0].name, right.op})
		}
	}

	return list
}

// terms returns how many conditions are joined by AND.
func (e *expr) terms() int {
	if e.kind == andExpr {
		return e.args[0].terms() + e.args[1].terms()
	}

	return 1
}

func missing(name string) *expr {
	return &expr{kind: functionExpr, op: "attribute_not_exists", args: []*expr{{kind: pathExpr, path: path{{name: name}}}}}
}
