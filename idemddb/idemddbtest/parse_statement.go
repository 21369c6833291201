package idemddbtest

import (
	"maps"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// A statement is parsed PartiQL: an UPDATE is the condition and the update of an UpdateItem, an INSERT the attributes of a PutItem. As an
// expr it holds no values of a request; its literals are its own.
type statement struct {
	verb       string // INSERT, UPDATE, or the word that is there instead
	kind       writeKind
	table      string
	where      string // text of the condition, and of what is done: SET and REMOVE, or VALUE
	action     string
	condition  *expr
	update     *update
	attributes []named // of an INSERT
	equalities []named // that the condition demands
	returning  bool
	parameters []string // placeholders, in order
	literals   item     // by placeholder
	err        error
}

// named is an attribute and the placeholder of its value.
type named struct{ name, value string }

// A statementCache keeps parsed statements, bounded as [cache] is.
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

// bind gives the parameters, adopted, to the statement. One too many is no error to the service.
func (st *statement) bind(parameters []types.AttributeValue) (*binding, error) {
	if len(parameters) < len(st.parameters) {
		return nil, invalid("Number of parameters in request and statement don't match.")
	}
	values := make(item, len(st.parameters)+len(st.literals))
	maps.Copy(values, st.literals)
	for i, placeholder := range st.parameters {
		values[placeholder] = parameters[i]
	}
	return &binding{values: values}, nil
}

// values finds the value of a placeholder.
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
	return invalid("Where clause does not contain a mandatory equality on all key attributes")
}

func unsupported(what string) error {
	return invalid("idemddbtest does not support %s in a statement", what)
}

// A statementParser is a parser of PartiQL's grammar, which makes the same nodes.
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
	case "SELECT", "DELETE", "EXISTS":
		st.err = unsupported(st.verb)
	default:
		st.err = invalid("Invalid operation. Only select, insert, update and delete operations are valid")
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
			return invalid("Path component cannot be an empty string")
		case seen[name.text]:
			return invalid("Duplicate keys in tuple. Key: %s", name.text)
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
	if p.peek().kind == endToken { // well formed, and refused later
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

func (p *statementParser) or() (*expr, error)  { return p.chain("OR", orExpr, p.and) }
func (p *statementParser) and() (*expr, error) { return p.chain("AND", andExpr, p.not) }

func (p *statementParser) not() (*expr, error) {
	if !p.takeWord("NOT") {
		return p.comparison()
	}
	e, err := p.not()
	if err == nil && e.operand() {
		err = p.unexpected()
	}
	return &expr{kind: notExpr, args: []*expr{e}}, err
}

func (p *statementParser) comparison() (*expr, error) {
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
		return &expr{kind: compareExpr, op: t.text, args: []*expr{left, right}}, err
	case t.kind == wordToken && oneOf(strings.ToUpper(t.text), "BETWEEN IN LIKE"):
		return nil, unsupported(t.text)
	}
	return left, nil
}

func (p *statementParser) is(left *expr) (*expr, error) {
	function := "attribute_not_exists"
	if p.takeWord("NOT") {
		function = "attribute_exists"
	}
	switch {
	case left.kind != pathExpr:
		return nil, invalid("The left hand side argument to IS must be a Variable Reference, Literal, or Path")
	case !p.takeWord("MISSING"):
		return nil, unsupported("IS " + p.peek().text)
	}
	return &expr{kind: functionExpr, op: function, args: []*expr{left}}, nil
}

// function parses a call of a function. The service takes the names of functions in any case.
func (p *statementParser) function() (*expr, error) {
	name := strings.ToLower(p.next().text)
	if !oneOf(name, "attribute_exists attribute_not_exists begins_with") {
		return nil, unsupported("the function " + name)
	}
	args, err := p.arguments(p.operand)
	if err == nil && len(args) != conditionFunctions[name] {
		err = wrongCount(name)
	}
	return &expr{kind: functionExpr, op: name, args: args}, err
}

// operand is a value or a path.
func (p *statementParser) operand() (*expr, error) {
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
	return &expr{kind: pathExpr, path: path}, err
}

// value is a parameter or a literal; each gets a placeholder of its own.
func (p *statementParser) value() (*expr, bool) {
	st := p.st
	placeholder := ":" + strconv.Itoa(len(st.parameters)+len(st.literals))
	switch t := p.peek(); t.kind {
	case valueToken:
		st.parameters = append(st.parameters, placeholder)
	case stringToken, numberToken:
		var v types.AttributeValue = &types.AttributeValueMemberS{Value: t.text}
		if t.kind == numberToken {
			n, err := canonical(t.text)
			if err != nil {
				return nil, false
			}
			v = &types.AttributeValueMemberN{Value: n}
		}
		if st.literals == nil {
			st.literals = item{}
		}
		st.literals[placeholder] = v
	default:
		return nil, false
	}
	p.next()
	return &expr{kind: valueExpr, op: placeholder}, true
}

func (p *statementParser) path() (path, error) {
	name, err := p.name()
	if err != nil {
		return nil, err
	}
	if name == "" {
		return nil, invalid("Path component cannot be an empty string")
	}
	if t := p.peek().text; p.peek().kind == symbolToken && (t == "." || t == "[") {
		return nil, unsupported("a path into a document")
	}
	if name[0] == '#' { // as the service has it
		return nil, invalid("An expression attribute name used in the document path is not defined; attribute name: %s", name)
	}
	return path{{name: name}}, nil
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
		return "", invalid("idemddbtest wants reserved words quoted where they are names: %q", t.text)
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
	return invalid("Statement wasn't well formed, can't be processed, at %q: %s", p.peek().text, p.source)
}

// equalities are the attributes that have to equal a value for the condition to hold.
func equalities(e *expr, list []named) []named {
	switch {
	case e.kind == andExpr:
		return equalities(e.args[1], equalities(e.args[0], list))
	case e.kind == compareExpr && e.op == "=":
		left, right := e.args[0], e.args[1]
		if left.kind == valueExpr {
			left, right = right, left
		}
		if left.kind == pathExpr && right.kind == valueExpr {
			return append(list, named{left.path[0].name, right.op})
		}
	}
	return list
}

func missing(name string) *expr {
	return &expr{kind: functionExpr, op: "attribute_not_exists", args: []*expr{{kind: pathExpr, path: path{{name: name}}}}}
}
