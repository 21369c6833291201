package jsonkey

import "fmt"

// pick returns the part of a value to which the path leads, or an error that says why the path leads to none. A name reads
// an object, an index reads an array, and nothing else is read. A string on the way is read as JSON first, by the rules of
// [Read]: in an SNS envelope, for example, the member Message is such a string.
func (p path) pick(content any) (any, error) {
	for i, s := range p.steps {
		container, err := open(content)
		if err != nil {
			return nil, fmt.Errorf("reads %s, a string, as JSON, but it %w", p.place(i), err)
		}

		if reads := s.reads(); kind(container) != reads {
			return nil, fmt.Errorf("picks nothing: %s is %s, where the path needs %s", p.place(i), kind(container), reads)
		}

		var found bool
		if content, found = s.of(container); !found {
			return nil, fmt.Errorf("picks nothing: %s is absent", p.place(i+1))
		}
	}

	return content, checkPart(content)
}

// place names the value before step i in an error.
func (p path) place(i int) string {
	if i == 0 {
		return "the whole value"
	}

	return fmt.Sprintf("%#q", p.text[:p.steps[i-1].end])
}

// open reads a string as JSON, and again if that is a string. It ends because each string has fewer bytes than the one before.
func open(content any) (any, error) {
	for {
		text, ok := content.(string)
		if !ok {
			return content, nil
		}

		var err error
		if content, err = read(text); err != nil {
			return nil, err
		}
	}
}

// reads returns the kind of value that the step reads.
func (s step) reads() string {
	if s.isIndex {
		return kind([]any{})
	}

	return kind(map[string]any{})
}

// of returns the member or the element that the step names.
func (s step) of(container any) (content any, found bool) {
	switch container := container.(type) {
	case map[string]any:
		content, found = container[s.name]
	case []any:
		if found = s.index < len(container); found {
			content = container[s.index]
		}
	}

	return content, found
}

// kind names a value's type in an error.
func kind(content any) string {
	switch content.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case number:
		return "a number"
	case string:
		return "a string"
	case []any:
		return "an array"
	default:
		return "an object"
	}
}
