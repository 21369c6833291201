package idemddbtest

import (
	"strconv"
	"strings"

	"github.com/idemddb/go-idemddb/internal/fakedynamo/exception"
)

// leaf parses a :value or a path.
func (p *parser) leaf() (*expr, error) {
	if t := p.peek(); t.kind == valueToken {
		p.next()
		p.uses[t.text] = struct{}{}

		return &expr{kind: valueExpr, op: t.text}, nil
	}

	path, err := p.path()

	return &expr{kind: pathExpr, path: path}, err
}

func (p *parser) path() (path, error) {
	first, err := p.name()
	if err != nil {
		return nil, err
	}

	out := path{first}

	for {
		var s step

		switch {
		case p.take("."):
			s, err = p.name()
		case p.take("["):
			s, err = p.index()
		default:
			return out, nil
		}

		if err != nil {
			return nil, err
		}

		out = append(out, s)
	}
}

func (p *parser) name() (step, error) {
	t := p.peek()
	switch {
	case t.kind == aliasToken:
		p.uses[t.text] = struct{}{}
	case t.kind != wordToken:
		return step{}, p.unexpected()
	case reserved(t.text):
		return step{}, exception.Validation("Attribute name is a reserved keyword; reserved keyword: %s", t.text)
	}

	return step{name: p.next().text}, nil
}

func (p *parser) index() (step, error) {
	if p.peek().kind != numberToken {
		return step{}, p.unexpected()
	}

	i, err := strconv.ParseInt(p.next().text, 10, 32)
	if err != nil {
		return step{}, exception.Validation("List index is not within the allowable range")
	}

	if !p.take("]") {
		return step{}, p.unexpected()
	}

	return step{index: int(i)}, nil
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
