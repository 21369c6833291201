package strictjson

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Paths pick the parts of a JSON value that make its key. They are safe for concurrent use.
type Paths []path

// path leads from a value to one of its parts, step by step.
type path struct {
	text  string
	steps []step
}

// step is the name of an object's member, or the index of an array's element.
type step struct {
	name    string
	index   int
	isIndex bool
	end     int // the index in the path's text at which the step ends
}

// ParsePaths reads paths such as these:
//
//	customer.id           the member id of the member customer
//	orders[0].id          the member id of the first element of the array orders
//	detail."odd.name"     a name that is not made of ASCII letters, digits and _, or begins with a digit, is a JSON string
//	[0]                   the first element, where the value itself is an array
//
// Nothing else is a path. A path does not compute, choose or search, so that it has one answer or none. The errors say what to
// write instead.
func ParsePaths(texts ...string) (Paths, error) {
	if len(texts) == 0 {
		return nil, errors.New("needs at least one path, such as paymentId")
	}

	paths := make(Paths, len(texts))

	for i, text := range texts {
		var err error
		if paths[i], err = parsePath(text); err != nil {
			return nil, fmt.Errorf("path %#q %w", text, err)
		}
	}

	return paths, nil
}

func parsePath(text string) (path, error) {
	if err := checkStyle(text); err != nil {
		return path{}, err
	}

	parsed := path{text: text}

	for rest := text; len(parsed.steps) == 0 || rest != ""; {
		s, left, err := parseStep(rest, len(parsed.steps) == 0)
		if err != nil {
			return path{}, err
		}

		rest, s.end = left, len(text)-len(left)
		parsed.steps = append(parsed.steps, s)
	}

	return parsed, nil
}

// parseStep reads the step with which text begins, and returns what is left.
func parseStep(text string, first bool) (s step, rest string, err error) {
	if strings.HasPrefix(text, "[") {
		return parseIndex(text)
	}

	name, dotted := strings.CutPrefix(text, ".")

	switch {
	case dotted == first: // A path begins without a dot, and each further name follows one.
		return step{}, "", errMisplaced(text, first)
	case strings.HasPrefix(name, `"`):
		return parseQuotedName(name)
	default:
		return parseName(name)
	}
}

func parseIndex(text string) (s step, rest string, err error) {
	inside, rest, closed := strings.Cut(text[1:], "]")
	if !closed {
		return step{}, "", errors.New("has a [ without its ]")
	}

	index, err := strconv.Atoi(inside)
	if err != nil || index < 0 || strconv.Itoa(index) != inside {
		return step{}, "", errIndex(inside)
	}

	return step{index: index, isIndex: true}, rest, nil
}

func parseQuotedName(text string) (s step, rest string, err error) {
	end := 1
	for end < len(text) && text[end] != '"' {
		if text[end] == '\\' {
			end++
		}

		end++
	}

	if end >= len(text) {
		return step{}, "", errors.New("has a double quote without its second one")
	}

	name, err := Read(text[:end+1])
	if err != nil {
		return step{}, "", fmt.Errorf("has a name in double quotes that, as a JSON string, %w", err)
	}

	return step{name: unquoted(name.text)}, text[end+1:], nil
}

func parseName(text string) (s step, rest string, err error) {
	name := text
	if end := strings.IndexAny(text, ".["); end >= 0 {
		name = text[:end]
	}

	if !isWord(name) {
		return step{}, "", errName(name, text)
	}

	return step{name: name}, text[len(name):], nil
}

// isWord reports whether a name needs no quotes.
func isWord(name string) bool {
	for i := range len(name) {
		c := name[i]
		isLetter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'

		if !isLetter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}

	return name != ""
}

// checkStyle returns an error for a text that is no path as a whole.
func checkStyle(text string) error {
	switch {
	case text == "":
		return errors.New("is empty; write the name of a member, such as paymentId")
	case !utf8.ValidString(text):
		return errNotUTF8(text)
	case strings.TrimSpace(text) != text:
		return errors.New("has white space around it; leave that out")
	case text == "$" || text == "@":
		return errors.New("stands for the whole value, which is no key; write the names of the parts that make the key")
	case strings.HasPrefix(text, "$.") || strings.HasPrefix(text, "$["):
		return errors.New("is written in JSONPath; leave out the $ and the dot behind it, as in orderId for $.orderId")
	case strings.HasPrefix(text, "@.") || strings.HasPrefix(text, "@["):
		return errors.New("is written in JMESPath; leave out the @ and the dot behind it, as in orderId for @.orderId")
	default:
		return nil
	}
}

// foreign lists what people write who know a path language that can compute.
var foreign = []struct{ signs, says string }{
	{"(", "calls a function, but a path cannot compute; pick the part itself, or make the key in code"},
	{"*", "has a *, but a path picks one part; name it, or make the key in code"},
	{"|&=<>!", "has an operator, but a path picks one part and has no fallback; a value without that part has no key"},
	{"'`", "has a constant; a name stands without quotes, or in double quotes"},
	{",", "has a comma; give each path as an argument of its own"},
	{"{", "builds an object; give each path as an argument of its own"},
}

// errName returns why name, with which rest begins, is no name.
func errName(name, rest string) error {
	for _, c := range rest {
		for _, f := range foreign {
			if strings.ContainsRune(f.signs, c) {
				return errors.New(f.says)
			}
		}
	}

	switch {
	case name == "":
		return errors.New(`has no name where one must stand, at its end or beside a dot; a name that is empty is written ""`)
	case strings.Trim(name, "0123456789") == "":
		return fmt.Errorf(`has %s for a name; write [%[1]s] for an element of an array, or "%[1]s" for a member of that name`, name)
	default:
		return fmt.Errorf("has a name that is no word of ASCII letters, digits and _; write it in double quotes: %s", appendString(nil, name))
	}
}

func errIndex(inside string) error {
	if strings.HasPrefix(inside, `"`) || strings.HasPrefix(inside, "'") {
		return errors.New(`has a name in brackets; write it behind a dot, in double quotes, as in detail."order-id"`)
	}

	return fmt.Errorf("has [%s], but brackets hold one index, counted from 0, such as [0]: a path picks one part", inside)
}

func errMisplaced(text string, first bool) error {
	if first {
		return errors.New("begins with a dot; leave that out")
	}

	return fmt.Errorf("has no dot before the name at its end, %#q", text)
}
