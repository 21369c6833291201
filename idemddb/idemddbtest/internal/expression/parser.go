package expression

import (
	"strings"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/exception"
)

// parser parses expressions and collects the names and values that they use.
type parser struct {
	tokens []token
	uses   uses
	group  struct{ from, to int } // the last group that was closed, as the numbers of tokens left before and after it
}

// uses are the placeholders of an expression, and the attributes in which it reads, as in a of a.b.
type uses struct {
	placeholders map[string]struct{}
	documents    []Step
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

	return &parser{tokens: tokens, uses: uses{placeholders: map[string]struct{}{}}}, err
}

// arguments parses a list in parentheses.
func (p *parser) arguments(one func() (*Node, error)) ([]*Node, error) {
	if !p.take("(") {
		return nil, p.unexpected()
	}

	var args []*Node

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

func (p *parser) commaSeparated(one func() error) error {
	for {
		if err := one(); err != nil {
			return err
		}

		if !p.take(",") {
			return nil
		}
	}
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

func (p *parser) peek() token { return p.tokens[0] }

func (p *parser) next() token {
	t := p.tokens[0]
	if t.kind != endToken {
		p.tokens = p.tokens[1:]
	}

	return t
}

func (p *parser) take(symbol string) bool {
	if t := p.peek(); t.kind != symbolToken || t.text != symbol {
		return false
	}

	p.next()

	return true
}

// takeWord takes a keyword, which may be written in any case.
func (p *parser) takeWord(word string) bool {
	if t := p.peek(); t.kind != wordToken || !strings.EqualFold(t.text, word) {
		return false
	}

	p.next()

	return true
}

func (p *parser) unexpected() error { return syntaxError(p.peek().text) }

func wrongCount(function string) error {
	return exception.Validation("Incorrect number of operands for operator or function; operator or function: %s", function)
}

// oneOf reports whether s is one of the words.
func oneOf(s, words string) bool {
	for w := range strings.FieldsSeq(words) {
		if w == s {
			return true
		}
	}

	return false
}
