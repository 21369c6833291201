package idemddbtest

import (
	"maps"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/fakedynamo/attribute"
	"github.com/idemddb/go-idemddb/internal/fakedynamo/exception"
)

// statement is a parsed statement. An UPDATE has the condition and the update of an UpdateItem, an INSERT the attributes of a
// PutItem, a SELECT only a key. It holds its literals and no values of a request.
type statement struct {
	verb       string // INSERT, UPDATE, SELECT, or another word
	kind       writeKind
	table      string
	where      string // the text of the condition
	action     string // the text of SET and REMOVE, or of VALUE
	condition  *expr
	update     *update
	attributes []named // of an INSERT
	equalities []named // that the condition demands
	returning  bool
	parameters []string       // placeholders, in order
	literals   attribute.Item // by placeholder
	err        error
}

// named is an attribute and the placeholder of its value.
type named struct{ name, value string }

// statementCache keeps parsed statements. It is bounded as [cache] is.
type statementCache map[string]*statement

func (c statementCache) parse(s string) *statement {
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

// bind returns the values of the statement's placeholders. The parameters are adopted. As for the service, one too many is no
// error.
func (st *statement) bind(parameters []types.AttributeValue) (*binding, error) {
	if len(parameters) < len(st.parameters) {
		return nil, exception.Validation("Number of parameters in request and statement don't match.")
	}

	values := make(attribute.Item, len(st.parameters)+len(st.literals))
	maps.Copy(values, st.literals)

	for i, placeholder := range st.parameters {
		values[placeholder] = parameters[i]
	}

	return &binding{values: values}, nil
}

// values returns a function that finds the value of a placeholder.
func (st *statement) values(parameters []types.AttributeValue) func(placeholder string) types.AttributeValue {
	return func(placeholder string) types.AttributeValue {
		for i, p := range st.parameters {
			if p == placeholder {
				return parameters[i]
			}
		}

		return st.literals[placeholder]
	}
}

func errNoKeyEquality() error {
	return exception.Validation("Where clause does not contain a mandatory equality on all key attributes")
}

func unsupported(what string) error {
	return exception.Validation("idemddbtest does not support %s in a statement", what)
}

// statementParser parses PartiQL into the nodes of expressions.
type statementParser struct {
	parser

	source string
	st     *statement
}

func parseStatement(source string) *statement {
	st := &statement{}

	p := &statementParser{source: source, st: st}
	if p.tokens, st.err = lexStatement(source); st.err != nil {
		return st
	}

	st.verb = strings.ToUpper(p.next().text)
	switch st.verb {
	case "INSERT":
		st.err = p.insert()
	case "UPDATE":
		st.err = p.updateStatement()
	case "SELECT":
		st.err = p.selectStatement()
	case "DELETE", "EXISTS":
		st.err = unsupported(st.verb)
	default:
		st.err = exception.Validation("Invalid operation. Only select, insert, update and delete operations are valid")
	}

	return st
}

func (p *statementParser) insert() (err error) {
	p.st.kind = putWrite
	if !p.takeWord("INTO") {
		return p.unexpected()
	}

	if p.st.table, err = p.tableName(); err != nil {
		return err
	}

	if !p.takeWord("VALUE") {
		return p.unexpected()
	}

	start := p.peek().at
	if err := p.tuple(); err != nil {
		return err
	}

	p.st.action = p.source[start:]

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

		p.st.attributes = append(p.st.attributes, named{name.text, v.op})
	}

	return nil
}

func (p *statementParser) updateStatement() (err error) {
	if p.st.table, err = p.tableName(); err != nil {
		return err
	}

	start := p.peek().at
	if err := p.clauses(); err != nil {
		return err
	}

	p.st.action = strings.TrimSpace(p.source[start:p.peek().at])
	if p.peek().kind == endToken { // it is well formed, and refused later
		return nil
	}

	if !p.takeWord("WHERE") {
		return p.unexpected()
	}

	start = p.peek().at
	if p.st.condition, err = p.or(); err != nil {
		return err
	}

	p.st.where = strings.TrimSpace(p.source[start:p.peek().at])
	if p.st.condition.operand() {
		return p.unexpected()
	}

	p.st.equalities = equalities(p.st.condition, nil)
	if p.takeWord("RETURNING") {
		if !p.takeWord("ALL") || !p.takeWord("OLD") || !p.take("*") {
			return unsupported("a RETURNING other than ALL OLD *")
		}

		p.st.returning = true
	}

	return p.end()
}

func (p *statementParser) selectStatement() (err error) {
	p.st.kind = readKind
	if !p.take("*") {
		return unsupported("a SELECT of other than *")
	}

	if !p.takeWord("FROM") {
		return p.unexpected()
	}

	if p.st.table, err = p.tableName(); err != nil {
		return err
	}

	if !p.takeWord("WHERE") {
		return unsupported("a SELECT without WHERE")
	}

	start := p.peek().at
	if p.st.condition, err = p.or(); err != nil {
		return err
	}

	p.st.where = strings.TrimSpace(p.source[start:p.peek().at])

	p.st.equalities = equalities(p.st.condition, nil)
	if len(p.st.equalities) < p.st.condition.terms() {
		return errMoreThanKey
	}

	return p.end()
}

var errMoreThanKey = unsupported("a SELECT with a condition beside its key")

func (p *statementParser) clauses() error {
	u := &update{}
	p.st.update = u

	for {
		var err error

		switch {
		case p.takeWord("SET"):
			err = p.commaSeparated(func() error {
				u.sets, err = p.appendSet(u.sets)

				return err
			})
		case p.takeWord("REMOVE"):
			var removed path

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

func (p *statementParser) sum() (*expr, error) {
	left, err := p.operand()
	for err == nil {
		sign := p.peek().text
		if !p.take("+") && !p.take("-") {
			return left, nil
		}

		var right *expr

		right, err = p.operand()
		left = &expr{kind: sumExpr, op: sign, args: []*expr{left, right}}
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
