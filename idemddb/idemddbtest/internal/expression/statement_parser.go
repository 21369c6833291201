package expression

import (
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/attribute"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/exception"
)

// statementParser parses PartiQL into the nodes of expressions.
type statementParser struct {
	parser

	source string
	st     *Statement
}

// operand parses a value or a path.
func (p *statementParser) operand() (*Node, error) {
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

	return &Node{Kind: PathNode, Path: path}, err
}

// value parses a parameter or a literal, and gives it a placeholder of its own.
func (p *statementParser) value() (*Node, bool) {
	st := p.st
	placeholder := ":" + strconv.Itoa(len(st.Parameters)+len(st.literals))

	switch t := p.peek(); t.kind {
	case valueToken:
		st.Parameters = append(st.Parameters, placeholder)
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

	return &Node{Kind: ValueNode, Op: placeholder}, true
}

func (p *statementParser) path() (Path, error) {
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

	return Path{{Name: name}}, nil
}

func (p *statementParser) name() (string, error) {
	switch t := p.peek(); {
	case t.kind == nameToken, t.kind == wordToken && !reserved(t.text) && !strings.EqualFold(t.text, "MISSING"):
		return p.next().text, nil
	case t.kind == wordToken:
		return "", exception.Validation("idemddbtest wants reserved words quoted where they are names: %q", t.text)
	}

	return "", p.unexpected()
}

func (p *statementParser) end() error {
	if p.peek().kind != endToken {
		return p.unexpected()
	}

	return nil
}

func (p *statementParser) unexpected() error {
	return exception.Validation("Statement wasn't well formed, can't be processed, at %q: %s", p.peek().text, p.source)
}
