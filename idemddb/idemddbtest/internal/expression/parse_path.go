package expression

import (
	"strconv"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/exception"
)

const maxSteps = 32 // of a path

// leaf parses a :value or a path.
func (p *parser) leaf() (*Node, error) {
	if t := p.peek(); t.kind == valueToken {
		p.next()
		p.uses.placeholders[t.text] = struct{}{}

		return &Node{Kind: ValueNode, Op: t.text}, nil
	}

	path, err := p.path()
	if len(path) > 1 {
		p.uses.documents = append(p.uses.documents, path[0])
	}

	return &Node{Kind: PathNode, Path: path}, err
}

func (p *parser) path() (Path, error) {
	first, err := p.name()
	if err != nil {
		return nil, err
	}

	out := Path{first}

	for {
		var s Step

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

		if len(out) == maxSteps {
			return nil, exception.Validation("The document path has too many nesting levels; nesting levels: %d", len(out)+1)
		}

		out = append(out, s)
	}
}

func (p *parser) name() (Step, error) {
	t := p.peek()
	switch {
	case t.kind == aliasToken:
		p.uses.placeholders[t.text] = struct{}{}
	case t.kind != wordToken:
		return Step{}, p.unexpected()
	case reserved(t.text):
		return Step{}, exception.Validation("Attribute name is a reserved keyword; reserved keyword: %s", t.text)
	}

	return Step{Name: p.next().text}, nil
}

func (p *parser) index() (Step, error) {
	if p.peek().kind != numberToken {
		return Step{}, p.unexpected()
	}

	i, err := strconv.ParseInt(p.next().text, 10, 32)
	if err != nil {
		return Step{}, exception.Validation("List index is not within the allowable range")
	}

	if !p.take("]") {
		return Step{}, p.unexpected()
	}

	return Step{Index: int(i)}, nil
}
