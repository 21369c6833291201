package expression

import (
	"strings"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/exception"
)

func parseStatement(source string) *Statement {
	st := &Statement{}

	p := &statementParser{source: source, st: st}
	if p.tokens, st.Err = lexStatement(source); st.Err != nil {
		return st
	}

	st.Verb = strings.ToUpper(p.next().text)
	switch st.Verb {
	case InsertStatement:
		st.Err = p.insert()
	case UpdateStatement:
		st.Err = p.updateStatement()
	case SelectStatement:
		st.Err = p.selectStatement()
	case "DELETE", "EXISTS":
		st.Err = unsupported(st.Verb)
	default:
		st.Err = exception.Validation("Invalid operation. Only select, insert, update and delete operations are valid")
	}

	return st
}

func (p *statementParser) insert() (err error) {
	if !p.takeWord("INTO") {
		return p.unexpected()
	}

	if p.st.Table, err = p.tableName(); err != nil {
		return err
	}

	if !p.takeWord("VALUE") {
		return p.unexpected()
	}

	start := p.peek().at
	if err := p.tuple(); err != nil {
		return err
	}

	p.st.Action = p.source[start:]

	return p.end()
}

func (p *statementParser) tuple() error {
	if !p.take("{") {
		return p.unexpected()
	}

	seen := map[string]bool{}
	for !p.take("}") {
		if len(seen) > 0 && !p.take(",") {
			return p.unexpected()
		}

		name := p.next()
		switch {
		case name.kind != stringToken || !p.take(":"):
			return p.unexpected()
		case name.text == "":
			return exception.Validation("Path component cannot be an empty string")
		case seen[name.text]:
			return exception.Validation("Duplicate keys in tuple. Key: %s", name.text)
		}

		seen[name.text] = true

		v, ok := p.value()
		if !ok {
			return p.unexpected()
		}

		p.st.Attributes = append(p.st.Attributes, Named{name.text, v.Op})
	}

	return nil
}

func (p *statementParser) updateStatement() (err error) {
	if p.st.Table, err = p.tableName(); err != nil {
		return err
	}

	start := p.peek().at
	if err := p.clauses(); err != nil {
		return err
	}

	p.st.Action = strings.TrimSpace(p.source[start:p.peek().at])
	if p.peek().kind == endToken { // it is well formed, and refused later
		return nil
	}

	if !p.takeWord("WHERE") {
		return p.unexpected()
	}

	start = p.peek().at
	if p.st.Condition, err = p.or(); err != nil {
		return err
	}

	p.st.Where = strings.TrimSpace(p.source[start:p.peek().at])
	if p.st.Condition.operand() {
		return p.unexpected()
	}

	p.st.Equalities = equalities(p.st.Condition, nil)
	if p.takeWord("RETURNING") {
		if !p.takeWord("ALL") || !p.takeWord("OLD") || !p.take("*") {
			return unsupported("a RETURNING other than ALL OLD *")
		}

		p.st.Returning = true
	}

	return p.end()
}

func (p *statementParser) selectStatement() (err error) {
	if !p.take("*") {
		return unsupported("a SELECT of other than *")
	}

	if !p.takeWord("FROM") {
		return p.unexpected()
	}

	if p.st.Table, err = p.tableName(); err != nil {
		return err
	}

	if !p.takeWord("WHERE") {
		return unsupported("a SELECT without WHERE")
	}

	start := p.peek().at
	if p.st.Condition, err = p.or(); err != nil {
		return err
	}

	p.st.Where = strings.TrimSpace(p.source[start:p.peek().at])

	p.st.Equalities = equalities(p.st.Condition, nil)
	if len(p.st.Equalities) < p.st.Condition.terms() {
		return ErrMoreThanKey
	}

	return p.end()
}

func (p *statementParser) clauses() error {
	u := &Update{}
	p.st.Update = u

	for {
		var err error

		switch {
		case p.takeWord("SET"):
			err = p.commaSeparated(func() error {
				u.sets, err = p.appendSet(u.sets)

				return err
			})
		case p.takeWord("REMOVE"):
			var removed Path

			removed, err = p.path()
			u.removes = append(u.removes, removed)
		case len(u.sets)+len(u.removes) == 0:
			return p.unexpected()
		default:
			return nil
		}

		if err != nil {
			return err
		}
	}
}

func (p *statementParser) appendSet(list []assignment) ([]assignment, error) {
	path, err := p.path()
	if err != nil {
		return nil, err
	}

	if !p.take("=") {
		return nil, p.unexpected()
	}

	v, err := p.sum()

	return append(list, assignment{path, v}), err
}

func (p *statementParser) sum() (*Node, error) {
	left, err := p.operand()
	for err == nil {
		sign := p.peek().text
		if !p.take("+") && !p.take("-") {
			return left, nil
		}

		var right *Node

		right, err = p.operand()
		left = &Node{Kind: SumNode, Op: sign, Args: []*Node{left, right}}
	}

	return nil, err
}

func (p *statementParser) tableName() (string, error) {
	name, err := p.name()
	if err == nil && (p.peek().text == "." && p.peek().kind == symbolToken) {
		err = unsupported("an index")
	}

	return name, err
}

// StatementCache keeps parsed statements. It is bounded as [Cache] is.
type StatementCache map[string]*Statement

// Parse returns a parsed statement. One that is invalid has an error.
func (c StatementCache) Parse(s string) *Statement {
	if st, ok := c[s]; ok {
		return st
	}

	st := parseStatement(s)

	if len(c) >= cacheSize {
		clear(c)
	}

	c[s] = st

	return st
}
