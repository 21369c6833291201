package lambdawrap

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jmespath/go-jmespath"
)

// expression is a JMESPath expression that yields one answer for one body, or an error: never an answer that is nearly
// right.
//
// go-jmespath does not promise that. It compares and computes numbers as float64, walks objects in the random order of
// Go's maps, and sorts in place, even a literal inside the compiled expression that all goroutines share. What does so
// is refused by inspect. What is left only reads the compiled expression and the body, so search may be called
// concurrently.
type expression struct {
	text     string
	compiled *jmespath.JMESPath
	uses     usage
}

// usage is what inspect found in an expression.
type usage struct {
	body  bool // something that reads the body; without it the expression is a constant
	order bool // <, <=, > or >=
}

// maxExpression bounds the parser's recursion, which a panic handler could not stop: a stack overflow ends the process.
const maxExpression = 4096

func compileExpression(text string) (expression, error) {
	switch {
	case strings.TrimSpace(text) == "":
		return expression{}, errors.New("is empty")
	case len(text) > maxExpression:
		return expression{}, fmt.Errorf("is longer than %d bytes", maxExpression)
	case !utf8.ValidString(text):
		return expression{}, errors.New("is not valid UTF-8")
	}

	compiled, err := compileJMESPath(text)
	if err != nil {
		return expression{}, err
	}

	uses, err := inspect(text)

	return expression{text, compiled, uses}, err
}

func compileJMESPath(text string) (_ *jmespath.JMESPath, err error) {
	defer func() {
		if recover() != nil { // its parser looks past the end of some incomplete expressions
			err = errors.New("is no complete JMESPath expression")
		}
	}()

	compiled, err := jmespath.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("is no JMESPath expression: %w", err)
	}

	return compiled, nil
}

// search evaluates the expression on a value of decodeJSON; inexact is decodeJSON's.
func (e expression) search(value any, inexact bool) (result any, err error) {
	if inexact && e.uses.order {
		// JMESPath's answer would be null, without an error.
		return nil, errors.New("compares numbers by size, and the body has a number with more digits than a comparison keeps; " +
			"send that number as a string, or choose a key without <, <=, > and >=")
	}

	const mistyped = "cannot be evaluated on this body: a function met a value that it does not take, " +
		"or a number with more digits than it keeps; check the body's types"

	defer func() {
		if recover() != nil { // contains() compares objects with ==, merge() does not check what it is given
			result, err = nil, errors.New(mistyped)
		}
	}()

	if result, err = e.compiled.Search(value); err != nil {
		return nil, errors.New(mistyped) // go-jmespath's own text quotes the payload
	}

	return result, nil
}

// functions lists the JMESPath functions that a key may use, and why it may not use the others. Those that take numbers
// fail on one that float64 does not hold exactly, instead of rounding it.
var functions = map[string]string{ //nolint:gochecknoglobals // a constant
	"abs": "", "ceil": "", "contains": "", "ends_with": "", "floor": "", "join": "", "length": "", "map": "", "max": "",
	"max_by": "", "merge": "", "min": "", "min_by": "", "not_null": "", "reverse": "", "sort": "", "starts_with": "",
	"to_array": "", "to_string": "", "type": "",

	"avg":       "it rounds, so that different bodies would share a key",
	"sum":       "it rounds, so that different bodies would share a key",
	"to_number": "it rounds, so that different bodies would share a key; use the string",
	"keys":      "the members of an object have no order, so that the same body would have many keys",
	"values":    "the members of an object have no order, so that the same body would have many keys; name the members",
	"sort_by":   "it reorders the body that the rest of the expression reads; use sort(items[].id)",
}

// inspect reads the tokens of an expression that go-jmespath accepts, whose tree is not exported, and refuses what is
// not exact.
func inspect(text string) (usage, error) {
	in := inspector{rest: scanner{text}, nest: []nesting{{}}}
	for next := in.rest.next(); next.kind != 0; next = in.rest.next() {
		if next.kind == kindName {
			next.isCall = in.rest.peek() == '('
		}

		if err := in.check(next); err != nil {
			return usage{}, err
		}

		in.enter(next)
		in.beforeLast, in.last = in.last, next
	}

	return in.uses, nil
}

type inspector struct {
	uses             usage
	rest             scanner
	beforeLast, last token
	nest             []nesting
}

// nesting says what calls a pair of brackets holds: any, and in the operand that is being read.
type nesting struct{ calls, operandCalls bool }

func (in *inspector) check(next token) error {
	in.uses.body = in.uses.body || in.readsBody(next)
	in.uses.order = in.uses.order || next.kind == '<' || next.kind == '>'

	switch {
	case next.isCall:
		return checkFunction(next.text)
	case next.kind == kindField && hasLoneSurrogate(next.text):
		return errors.New("has a member name with half a surrogate pair, which stands for no character")
	case next.kind == kindLiteral:
		return checkLiteral(next.text)
	case next.kind == '*' && !in.walksArray():
		return errors.New("uses * on an object: its members have no order, so that the same body would have many keys; " +
			"name the members")
	case next.kind == '(' && !in.last.isCall && in.last.endsOperand():
		// go-jmespath calls whatever stands before a parenthesis: 'keys'(@) is keys(@).
		return errors.New("has a parenthesis after something that is not the name of a function")
	case next.projects() && in.nest[len(in.nest)-1].operandCalls:
		// go-jmespath turns an error on their left into null, which would be a part of the key.
		return errors.New("applies [] or [? to what a function returns, whose failure would be taken for null; " +
			"put a | between them")
	default:
		return nil
	}
}

// readsBody tells whether the answer depends on the body because of next.
func (in *inspector) readsBody(next token) bool {
	switch next.kind {
	case kindName: // before a colon it names a member of the result
		return !next.isCall && in.rest.peek() != ':'
	case '[': // [0] and [1:] read an array; [a, 'b'] builds one, and whether that reads the body is up to its elements
		return strings.IndexByte("0123456789-:", in.rest.peek()) >= 0
	default:
		return next.kind == kindField || next.kind == '@' || next.kind == '*' || next.projects()
	}
}

// walksArray tells whether the * that was just read is [*]. Any other walks an object, also that in a.[*], which makes
// a list of one element.
func (in *inspector) walksArray() bool {
	return in.last.kind == '[' && in.beforeLast.kind != '.' && in.rest.peek() == ']'
}

// enter keeps account of where in the expression's brackets next is.
func (in *inspector) enter(next token) {
	top := &in.nest[len(in.nest)-1]

	switch next.kind {
	case kindName:
		if next.isCall {
			*top = nesting{true, true}
		}
	case '(', '[', '{', kindFilter:
		in.nest = append(in.nest, nesting{})
	case ')', ']', '}':
		inner := *top

		in.nest = in.nest[:max(1, len(in.nest)-1)]
		if inner.calls {
			in.nest[len(in.nest)-1] = nesting{true, true}
		}
	case ',', ':', '|', '&', '!', '=', '<', '>':
		top.operandCalls = false
	}
}

func checkFunction(name string) error {
	reason, known := functions[name]
	switch {
	case !known:
		return fmt.Errorf("calls %s(), which is no JMESPath function", name)
	case reason != "":
		return fmt.Errorf("calls %s(), which a key cannot use: %s", name, reason)
	}

	return nil
}

// checkLiteral keeps what go-jmespath would round or repair out of an expression: it reads `9007199254740993` as …992.
func checkLiteral(text string) error {
	_, inexact, err := decodeJSON(text)
	switch {
	case err != nil:
		return fmt.Errorf("has a literal that %w", err)
	case inexact:
		return errors.New("has a literal number with more digits than JMESPath keeps")
	}

	return nil
}
