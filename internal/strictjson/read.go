package strictjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Value is one JSON value that [Read] returned. It is safe for concurrent use.
type Value struct {
	text string // without white space around it
}

// Read reads text as exactly one JSON value. It refuses what encoding/json would silently repair or choose from, because a key
// could then be that of another value than the one that the handler works on:
//
//   - text that is not valid UTF-8, and half a surrogate pair: encoding/json reads each of these as U+FFFD, so that
//     different texts would have one key;
//   - an object with one name twice, or with two names that differ only in case: readers disagree about which member counts;
//   - a number whose exponent has more than 18 digits.
//
// It also refuses values that nest deeper than 10,000 levels. The texts of its errors are predicates, such as "is empty", give
// the byte, counted from 1, and never quote the text.
//
// Nothing of the text is decoded before a path picks it: a body of 256 KB has a key of a few bytes.
//
// The package encoding/json/jsontext reads as strictly, and may replace this file when it no longer needs GOEXPERIMENT=jsonv2. It
// cannot replace canonicalNumber, because its canonical numbers are rounded to float64.
func Read(text string) (Value, error) {
	if err := check(text); err != nil {
		return Value{}, err
	}

	return Value{strings.Trim(text, space)}, nil
}

// Text returns the content of a JSON string. The texts of its errors are those of [Read].
func Text(text string) (content string, err error) {
	switch {
	case !utf8.ValidString(text):
		return "", errNotUTF8(text)
	case !strings.HasPrefix(text, `"`) || json.Unmarshal([]byte(text), &content) != nil:
		return "", errors.New("is no string")
	}

	if _, i := escapes(text); i >= 0 {
		return "", errLoneSurrogate(text, i)
	}

	return content, nil
}

// check returns an error if text is not one JSON value in exact Unicode, with names that are told apart and numbers that can be
// compared.
func check(text string) error {
	switch {
	case text == "":
		return errors.New("is empty")
	case !utf8.ValidString(text):
		return errNotUTF8(text)
	case !json.Valid([]byte(text)):
		return errSyntax(text)
	}

	if _, i := escapes(text); i >= 0 {
		return errLoneSurrogate(text, i)
	}

	// encoding/json takes the last of two strings, but merges two objects into a struct, and matches names without regard to case.
	// The key could be that of one payment, and the handler's work that of another.
	w := walker{scanner: scanner{text: text}}
	if err := w.value(nil); err != nil {
		return err
	}

	return checkNumbers(text)
}

func errLoneSurrogate(text string, i int) error {
	return fmt.Errorf(`has half a surrogate pair, which stands for no character; the \u escape begins at byte %d of %d`, i+1, len(text))
}

func errNotUTF8(text string) error {
	valid := 0

	for {
		r, size := utf8.DecodeRuneInString(text[valid:])
		if r == utf8.RuneError && size <= 1 {
			return fmt.Errorf("is not valid UTF-8 from byte %d of %d on", valid+1, len(text))
		}

		valid += size
	}
}

// errSyntax says where text stops being JSON. The text of encoding/json's own error quotes a character of it.
func errSyntax(text string) error {
	const what = "is not exactly one JSON value, or nests deeper than 10,000 levels"

	var raw json.RawMessage
	if syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal([]byte(text), &raw)); ok {
		return fmt.Errorf(what+": wrong at byte %d of %d", syntax.Offset, len(text))
	}

	return errors.New(what)
}
