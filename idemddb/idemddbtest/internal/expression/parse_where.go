package expression

import (
	"strings"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/exception"
)

func (p *statementParser) or() (*Node, error)  { return p.chain("OR", OrNode, p.and) }
func (p *statementParser) and() (*Node, error) { return p.chain("AND", AndNode, p.not) }

func (p *statementParser) not() (*Node, error) {
	if !p.takeWord("NOT") {
		return p.comparison()
	}

	e, err := p.not()
	if err == nil && e.operand() {
		err = p.unexpected()
	}

	return &Node{Kind: NotNode, Args: []*Node{e}}, err
}

func (p *statementParser) comparison() (*Node, error) {
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

		return &Node{Kind: CompareNode, Op: t.text, Args: []*Node{left, right}}, err
	case t.kind == wordToken && oneOf(strings.ToUpper(t.text), "BETWEEN IN LIKE"):
		return nil, unsupported(t.text)
	}

	return left, nil
}

func (p *statementParser) is(left *Node) (*Node, error) {
	function := "attribute_not_exists"
	if p.takeWord("NOT") {
		function = "attribute_exists"
	}

	switch {
	case left.Kind != PathNode:
		return nil, exception.Validation("The left hand side argument to IS must be a Variable Reference, Literal, or Path")
	case !p.takeWord("MISSING"):
		return nil, unsupported("IS " + p.peek().text)
	}

	return &Node{Kind: FunctionNode, Op: function, Args: []*Node{left}}, nil
}

// function parses a call of a function. The service takes the names of functions in any case.
func (p *statementParser) function() (*Node, error) {
	name := strings.ToLower(p.next().text)
	if !oneOf(name, "attribute_exists attribute_not_exists begins_with") {
		return nil, unsupported("the function " + name)
	}

	args, err := p.arguments(p.operand)
	if err == nil && len(args) != conditionFunctions[name] {
		err = wrongCount(name)
	}

	return &Node{Kind: FunctionNode, Op: name, Args: args}, err
}

// equalities appends to list the attributes that must equal a value if the condition holds.
func equalities(e *Node, list []Named) []Named {
	switch {
	case e.Kind == AndNode:
		return equalities(e.Args[1], equalities(e.Args[0], list))
	case e.Kind == CompareNode && e.Op == "=":
		left, right := e.Args[0], e.Args[1]
		if left.Kind == ValueNode {
			left, right = right, left
		}

		if left.Kind == PathNode && right.Kind == ValueNode {
			return append(list, Named{left.Path[0].Name, right.Op})
		}
	}

	return list
}

// NotExists returns the condition that the item has no attribute of this name.
func NotExists(name string) *Node {
	return &Node{Kind: FunctionNode, Op: "attribute_not_exists", Args: []*Node{{Kind: PathNode, Path: Path{{Name: name}}}}}
}
