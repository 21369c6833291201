package strictjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// pick returns the part of a JSON text to which the path leads, or an error that says why the path leads to none. A name reads
// an object, an index reads an array, and nothing else is read. A string on the way is read as JSON first, by the rules of
// [Read]: in an SNS envelope, for example, the member Message is such a string.
func (p path) pick(text string) (any, error) {
	for i, s := range p.steps {
		container, err := open(text)
		if err != nil {
			return nil, fmt.Errorf("reads %s, a string, as JSON, but it %w", p.place(i), err)
		}

		if reads := s.reads(); kind(container) != reads {
			return nil, fmt.Errorf("picks nothing: %s is %s, where the path needs %s", p.place(i), kind(container), reads)
		}

		var found bool
		if text, found = s.of(container); !found {
			return nil, fmt.Errorf("picks nothing: %s is absent", p.place(i+1))
		}
	}

	content, err := decode(text)
	if err != nil {
		return nil, err
	}

	return content, checkPart(text, content)
}

// decode returns the content of a JSON text: nil, bool, json.Number, string, []any or map[string]any.
func decode(text string) (content any, err error) {
	switch c := text[0]; { // nearly every key and fingerprint: a decoder would take a buffer for each
	case c == '"':
		return unquoted(text), nil
	case c == '-' || '0' <= c && c <= '9':
		return json.Number(text), nil
	}

	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()

	if err := decoder.Decode(&content); err != nil {
		return nil, errors.New("cannot be read as JSON")
	}

	return content, nil
}

// place names the value before step i in an error.
func (p path) place(i int) string {
	if i == 0 {
		return "the whole value"
	}

	return fmt.Sprintf("%#q", p.text[:p.steps[i-1].end])
}

// open reads a string as JSON, and again if that is a string. It ends because each string has fewer bytes than the one before.
func open(text string) (string, error) {
	for text[0] == '"' {
		inner, err := Read(unquoted(text))
		if err != nil {
			return "", err
		}

		text = inner.text
	}

	return text, nil
}

// reads returns the kind of value that the step reads.
func (s step) reads() string {
	if s.isIndex {
		return kind("[")
	}

	return kind("{")
}

// of returns the member or the element that the step names.
func (s step) of(container string) (text string, found bool) {
	if s.isIndex {
		return element(container, s.index)
	}

	return member(container, s.name)
}

// kind names the type of a JSON text in an error.
func kind(text string) string {
	switch text[0] {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '[':
		return "an array"
	case '{':
		return "an object"
	default:
		return "a number"
	}
}
