package strictjson

import (
	"errors"
	"fmt"
	"strings"
)

// mark begins every key that is not a string as it was picked.
const mark = "#"

// TextKey returns the key of one string: the string itself, with a '#' at its beginning doubled. The doubling keeps a string
// such as "#123" apart from the number 123, whose key is #123: canonical JSON never begins with '#'.
func TextKey(s string) string {
	if strings.HasPrefix(s, mark) {
		return mark + s
	}

	return s
}

// Key returns the key of the parts that the paths pick from a value. Every part must be there: a part that is absent, null, "",
// [] or {}, or that holds nothing else, is an error. Without this rule, all messages that lack a part would share one key, and
// only the first of them would run.
//
// Its errors begin with the path and never quote the value.
func (p Paths) Key(from Value) (string, error) {
	parts := make([]any, len(p))

	for i, path := range p {
		part, err := path.pick(from.text)
		if err != nil {
			return "", fmt.Errorf("path %#q %w", path.text, err)
		}

		parts[i] = part
	}

	if len(parts) > 1 {
		return markedKey(parts), nil
	}

	if text, ok := parts[0].(string); ok {
		return TextKey(text), nil
	}

	return markedKey(parts[0]), nil
}

func markedKey(value any) string { return string(appendCanonical([]byte(mark), value)) }

// checkPart returns an error if a part holds nothing that could tell its message from another one.
func checkPart(text string, part any) error {
	switch {
	case !holdsNothing(part):
		return nil
	case part == nil:
		return errors.New("picks null")
	case part == "":
		return errors.New("picks an empty string")
	default:
		return fmt.Errorf("picks %s that holds nothing", kind(text))
	}
}

// holdsNothing reports whether a value is null or empty, or is a list or an object of nothing but such values. 0 and false hold
// something.
func holdsNothing(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case string:
		return value == ""
	case []any:
		for _, element := range value {
			if !holdsNothing(element) {
				return false
			}
		}

		return true
	case map[string]any:
		for _, member := range value {
			if !holdsNothing(member) {
				return false
			}
		}

		return true
	default:
		return false
	}
}
