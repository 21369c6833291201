package expression

import "github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/exception"

// Limits of DynamoDB for a condition.
const (
	maxOperators = 300
	maxListed    = 100 // operands of an IN
)

func parseCondition(s string) (*Node, uses, error) {
	p, err := newParser(s)
	if err != nil {
		return nil, uses{}, err
	}

	e, err := p.or()
	if err != nil {
		return nil, uses{}, err
	}

	if p.peek().kind != endToken {
		return nil, uses{}, p.unexpected()
	}

	if e.operand() {
		return nil, uses{}, syntaxError("")
	}

	if n := e.operators(); n > maxOperators {
		return nil, uses{}, exception.Validation("The expression contains too many operators; operator count: %d", n)
	}

	return e, p.uses, nil
}

func (p *parser) or() (*Node, error)  { return p.chain("OR", OrNode, p.and) }
func (p *parser) and() (*Node, error) { return p.chain("AND", AndNode, p.not) }

func (p *parser) chain(word string, k Kind, next func() (*Node, error)) (*Node, error) {
	left, err := next()
	if err != nil {
		return nil, err
	}

	for p.takeWord(word) {
		right, err := next()
		if err != nil {
			return nil, err
		}

		if left.operand() || right.operand() {
			return nil, syntaxError(word)
		}

		left = &Node{Kind: k, Args: []*Node{left, right}}
	}

	return left, nil
}

func (p *parser) not() (*Node, error) {
	if !p.takeWord("NOT") {
		return p.comparison()
	}

	e, err := p.not()
	if err != nil {
		return nil, err
	}

	if e.operand() {
		return nil, syntaxError("NOT")
	}

	return &Node{Kind: NotNode, Args: []*Node{e}}, nil
}

func (p *parser) comparison() (*Node, error) {
	left, err := p.primary()
	if err != nil || !left.operand() {
		return left, err
	}

	switch t := p.peek(); {
	case t.kind == symbolToken && oneOf(t.text, "= <> < <= > >="):
		p.next()
		right, err := p.operandOnly()

		return &Node{Kind: CompareNode, Op: t.text, Args: []*Node{left, right}}, err
	case p.takeWord("BETWEEN"):
		return p.between(left)
	case p.takeWord("IN"):
		return p.in(left)
	}

	return left, nil
}

func (p *parser) between(e *Node) (*Node, error) {
	low, err := p.operandOnly()
	if err != nil {
		return nil, err
	}

	if !p.takeWord("AND") {
		return nil, p.unexpected()
	}

	high, err := p.operandOnly()

	return &Node{Kind: BetweenNode, Op: "BETWEEN", Args: []*Node{e, low, high}}, err
}

func (p *parser) in(e *Node) (*Node, error) {
	list, err := p.arguments(p.operandOnly)
	if err == nil && len(list) > maxListed {
		err = exception.Validation("The IN operator is provided with too many operands; number of operands: %d", len(list))
	}

	return &Node{Kind: InNode, Op: "IN", Args: append([]*Node{e}, list...)}, err
}

func (p *parser) operandOnly() (*Node, error) {
	e, err := p.primary()
	if err == nil && !e.operand() {
		return nil, exception.Validation("The function is not allowed to be used this way in an expression")
	}

	return e, err
}

// primary parses an operand, a function, or an expression in parentheses.
func (p *parser) primary() (*Node, error) { return p.operand(p.or, p.function) }

// operand parses an operand, a function, or what stands in parentheses.
func (p *parser) operand(inside, function func() (*Node, error)) (*Node, error) {
	if from := len(p.tokens); p.take("(") {
		e, err := inside()
		if err != nil {
			return nil, err
		}

		return e, p.closeGroup(from)
	}

	if p.peek().kind == wordToken && p.tokens[1].text == "(" {
		return function()
	}

	return p.leaf()
}

// conditionFunctions are the functions of conditions, each with the number of its operands.
var conditionFunctions = map[string]int{
	"attribute_exists": 1, "attribute_not_exists": 1, "attribute_type": 2, "begins_with": 2, "contains": 2, "size": 1,
}

func (p *parser) function() (*Node, error) {
	name := p.next().text

	args, err := p.arguments(p.operandOnly)
	if err != nil {
		return nil, err
	}

	count, ok := conditionFunctions[name]
	if !ok {
		return nil, exception.Validation("Invalid function name; function: %s", name)
	}

	if len(args) != count {
		return nil, wrongCount(name)
	}

	if name == "size" {
		return &Node{Kind: SizeNode, Op: name, Args: args}, nil
	}

	return &Node{Kind: FunctionNode, Op: name, Args: args}, nil
}
