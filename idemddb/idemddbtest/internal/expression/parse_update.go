package expression

import (
	"strings"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/exception"
)

// Update is a parsed update expression.
type Update struct {
	sets    []assignment
	removes []Path
	adds    []assignment
	deletes []assignment
}

type assignment struct {
	path  Path
	value *Node
}

func parseUpdate(s string) (*Update, uses, error) {
	p, err := newParser(s)
	if err != nil {
		return nil, uses{}, err
	}

	u := &Update{}

	seen := map[string]bool{}
	for p.peek().kind != endToken || len(seen) == 0 {
		clause := strings.ToUpper(p.peek().text)

		section := p.section(clause, u)
		if section == nil {
			return nil, uses{}, p.unexpected()
		}

		if seen[clause] {
			return nil, uses{}, exception.Validation("The %q section can only be used once in an update expression", clause)
		}

		seen[clause] = true

		p.next()

		if err := p.commaSeparated(section); err != nil {
			return nil, uses{}, err
		}
	}

	return u, p.uses, nil
}

func (p *parser) section(clause string, u *Update) func() error {
	switch clause {
	case "SET":
		return func() (err error) {
			u.sets, err = p.appendAssignment(u.sets, p.setAction)

			return err
		}
	case "REMOVE":
		return func() error {
			path, err := p.path()
			u.removes = append(u.removes, path)

			return err
		}
	case "ADD":
		return func() (err error) {
			u.adds, err = p.appendAssignment(u.adds, p.valueOnly)

			return err
		}
	case "DELETE":
		return func() (err error) {
			u.deletes, err = p.appendAssignment(u.deletes, p.valueOnly)

			return err
		}
	}

	return nil
}

func (p *parser) appendAssignment(list []assignment, value func() (*Node, error)) ([]assignment, error) {
	path, err := p.path()
	if err != nil {
		return list, err
	}

	v, err := value()

	return append(list, assignment{path, v}), err
}

func (p *parser) valueOnly() (*Node, error) {
	if p.peek().kind != valueToken {
		return nil, p.unexpected()
	}

	return p.leaf()
}

func (p *parser) setAction() (*Node, error) {
	if !p.take("=") {
		return nil, p.unexpected()
	}

	return p.sum()
}

// sum parses one term or the sum of two. The service's grammar has no longer sums.
func (p *parser) sum() (*Node, error) {
	left, err := p.term()
	if err != nil {
		return nil, err
	}

	t := p.peek()
	if !p.take("+") && !p.take("-") {
		return left, nil
	}

	right, err := p.term()
	if err == nil {
		err = inner(left, right)
	}

	return &Node{Kind: SumNode, Op: t.text, Args: []*Node{left, right}}, err
}

func (p *parser) term() (*Node, error) { return p.operand(p.sum, p.setFunction) }

func (p *parser) setFunction() (*Node, error) {
	name := p.next().text

	args, err := p.arguments(p.term)
	switch {
	case err != nil:
		return nil, err
	case name != "if_not_exists" && name != "list_append":
		return nil, exception.Validation("Invalid function name; function: %s", name)
	case len(args) != 2:
		return nil, wrongCount(name)
	case name == "if_not_exists" && args[0].Kind != PathNode:
		return nil, exception.Validation("Operator or function requires a document path; operator or function: %s", name)
	}

	return &Node{Kind: SetFunctionNode, Op: name, Args: args}, inner(args...)
}

// inner refuses a list_append inside of another operand.
func inner(operands ...*Node) error {
	for _, o := range operands {
		if o.Kind == SetFunctionNode && o.Op == "list_append" {
			return exception.Validation("The function is not allowed to be used this way in an expression; function: list_append")
		}
	}

	return nil
}
