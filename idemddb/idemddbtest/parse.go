package idemddbtest

import "github.com/idemddb/go-idemddb/internal/fakedynamo/exception"

// expr is a node of a parsed expression. It holds no names and values of a request, so that an expression is parsed once for all
// requests.
type expr struct {
	kind kind
	op   string // the comparison, the function's name, or the :value
	path path
	args []*expr
}

type kind byte

const (
	pathExpr kind = iota
	valueExpr
	sizeExpr
	andExpr
	orExpr
	notExpr
	compareExpr
	betweenExpr
	inExpr
	functionExpr    // of a condition
	setFunctionExpr // of a SET: if_not_exists, list_append
	sumExpr         // + or -
)

// operand reports whether the node is a value and not a condition.
func (e *expr) operand() bool { return e.kind <= sizeExpr }

// parser parses expressions and collects the names and values that they use.
type parser struct {
	tokens []token
	uses   map[string]struct{}
	group  struct{ from, to int } // the last group that was closed, as the numbers of tokens left before and after it
}

const maxExpression = 4096

func newParser(s string) (*parser, error) {
	if s == "" {
		return nil, exception.Validation("The expression can not be empty")
	}

	if len(s) > maxExpression {
		return nil, exception.Validation("Expression size has exceeded the maximum allowed size")
	}

	tokens, err := lex(s)

	return &parser{tokens: tokens, uses: map[string]struct{}{}}, err
}

func parseCondition(s string) (*expr, map[string]struct{}, error) {
	p, err := newParser(s)
	if err != nil {
		return nil, nil, err
	}

	e, err := p.or()
	if err != nil {
		return nil, nil, err
	}

	if p.peek().kind != endToken {
		return nil, nil, p.unexpected()
	}

	if e.operand() {
		return nil, nil, syntaxError("")
	}

	return e, p.uses, nil
}

func (p *parser) or() (*expr, error)  { return p.chain("OR", orExpr, p.and) }
func (p *parser) and() (*expr, error) { return p.chain("AND", andExpr, p.not) }

func (p *parser) chain(word string, k kind, next func() (*expr, error)) (*expr, error) {
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

		left = &expr{kind: k, args: []*expr{left, right}}
	}

	return left, nil
}

func (p *parser) not() (*expr, error) {
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

	return &expr{kind: notExpr, args: []*expr{e}}, nil
}

func (p *parser) comparison() (*expr, error) {
	left, err := p.primary()
	if err != nil || !left.operand() {
		return left, err
	}

	switch t := p.peek(); {
	case t.kind == symbolToken && oneOf(t.text, "= <> < <= > >="):
		p.next()
		right, err := p.operandOnly()

		return &expr{kind: compareExpr, op: t.text, args: []*expr{left, right}}, err
	case p.takeWord("BETWEEN"):
		return p.between(left)
	case p.takeWord("IN"):
		return p.in(left)
	}

	return left, nil
}

func (p *parser) between(e *expr) (*expr, error) {
	low, err := p.operandOnly()
	if err != nil {
		return nil, err
	}

	if !p.takeWord("AND") {
		return nil, p.unexpected()
	}

	high, err := p.operandOnly()

	return &expr{kind: betweenExpr, op: "BETWEEN", args: []*expr{e, low, high}}, err
}

func (p *parser) in(e *expr) (*expr, error) {
	list, err := p.arguments(p.operandOnly)

	return &expr{kind: inExpr, op: "IN", args: append([]*expr{e}, list...)}, err
}

func (p *parser) operandOnly() (*expr, error) {
	e, err := p.primary()
	if err == nil && !e.operand() {
		return nil, exception.Validation("The function is not allowed to be used this way in an expression")
	}

	return e, err
}

// primary parses an operand, a function, or an expression in parentheses.
func (p *parser) primary() (*expr, error) {
	if from := len(p.tokens); p.take("(") {
		e, err := p.or()
		if err != nil {
			return nil, err
		}

		return e, p.closeGroup(from)
	}

	if p.peek().kind == wordToken && p.tokens[1].text == "(" {
		return p.function()
	}

	return p.leaf()
}

// closeGroup takes the closing parenthesis. It refuses a group that holds nothing but another group: ((a = b)).
func (p *parser) closeGroup(from int) error {
	redundant := p.group.from == from-1 && p.group.to == len(p.tokens)
	if !p.take(")") {
		return p.unexpected()
	}

	p.group.from, p.group.to = from, len(p.tokens)

	if redundant {
		return exception.Validation("The expression has redundant parentheses")
	}

	return nil
}

// conditionFunctions are the functions of conditions, each with the number of its operands.
var conditionFunctions = map[string]int{
	"attribute_exists": 1, "attribute_not_exists": 1, "attribute_type": 2, "begins_with": 2, "contains": 2, "size": 1,
}

func wrongCount(function string) error {
	return exception.Validation("Incorrect number of operands for operator or function; operator or function: %s", function)
}

func (p *parser) function() (*expr, error) {
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
		return &expr{kind: sizeExpr, op: name, args: args}, nil
	}

	return &expr{kind: functionExpr, op: name, args: args}, nil
}

// arguments parses a list in parentheses.
func (p *parser) arguments(one func() (*expr, error)) ([]*expr, error) {
	if !p.take("(") {
		return nil, p.unexpected()
	}

	var args []*expr

	for {
		e, err := one()
		if err != nil {
			return nil, err
		}

		args = append(args, e)
		if p.take(")") {
			return args, nil
		}

		if !p.take(",") {
			return nil, p.unexpected()
		}
	}
}
