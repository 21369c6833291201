package strictjson

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// space is the white space of JSON.
const space = " \t\r\n"

// scanner goes through the text of valid JSON.
type scanner struct {
	text string
	at   int
}

const (
	escape    = len(`\ufffd`)
	character = utf8.RuneError
)

// escapes reports whether an escape of JSON stands for U+FFFD. It also returns the index of the first one that is half of a
// surrogate pair, for which the decoder gives that character, or -1.
func escapes[T string | []byte](text T) (isReplaced bool, broken int) {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}

		switch unit := escaped(text[i:]); {
		case unit < 0:
			i++
		case !utf16.IsSurrogate(unit):
			isReplaced = isReplaced || unit == character
			i += escape - 1
		case utf16.DecodeRune(unit, escaped(text[i+escape:])) == character:
			return isReplaced, i
		default:
			i += 2*escape - 1
		}
	}

	return isReplaced, -1
}

// escaped returns the code unit that text begins with as \uXXXX, or -1.
func escaped[T string | []byte](text T) rune {
	if len(text) < escape || text[0] != '\\' || text[1] != 'u' {
		return -1
	}

	unit, err := strconv.ParseUint(string(text[len(`\u`):escape]), 16, 16)
	if err != nil {
		return -1
	}

	return rune(unit)
}

// checkNumbers returns an error if a number of valid JSON has too large an exponent.
func checkNumbers(text string) error {
	for s := (scanner{text: text}); s.at < len(text); {
		switch c := text[s.at]; {
		case c == '"':
			s.string()
		case c == '-' || '0' <= c && c <= '9':
			if err := checkNumber(s.scalar()); err != nil {
				return fmt.Errorf("has a number that ends at byte %d, %w", s.at, err)
			}
		default:
			s.at++
		}
	}

	return nil
}

// checkNumber returns an error if a number has too large an exponent.
func checkNumber(number string) error {
	if !strings.ContainsAny(number, "eE") {
		return nil
	}

	_, err := canonicalNumber(number)

	return err
}

// member returns the text of an object's member.
func member(object, name string) (value string, found bool) {
	for s := (scanner{text: object}); s.next('}'); {
		own := unquoted(s.string())
		s.space()
		s.at++ // the colon

		if value = s.value(); own == name {
			return value, true
		}
	}

	return "", false
}

// element returns the text of an array's element.
func element(array string, index int) (value string, found bool) {
	s := scanner{text: array}

	for i := 0; s.next(']'); i++ {
		if value = s.value(); i == index {
			return value, true
		}
	}

	return "", false
}

// unquoted returns the text for which a JSON string stands. Like encoding/json, it reads what is not UTF-8 as U+FFFD.
func unquoted(quoted string) string {
	if text := quoted[1 : len(quoted)-1]; strings.IndexByte(text, '\\') < 0 && utf8.ValidString(text) {
		return text
	}

	var decoded string

	_ = json.Unmarshal([]byte(quoted), &decoded) // it is a valid string

	return decoded
}

// next goes to the next member or element, past what stands before it, and reports whether there is one. If not, it goes past the
// end.
func (s *scanner) next(end byte) bool {
	s.space()

	if s.text[s.at] != end {
		s.at++ // the opening bracket or the comma
		s.space()
	}

	if s.text[s.at] != end {
		return true
	}

	s.at++

	return false
}

func (s *scanner) space() {
	for strings.IndexByte(space, s.text[s.at]) >= 0 {
		s.at++
	}
}

// value goes past a value and returns its text.
func (s *scanner) value() string {
	s.space()

	switch s.text[s.at] {
	case '"':
		return s.string()
	case '{', '[':
		return s.container()
	default:
		return s.scalar()
	}
}

// container goes past an object or an array.
func (s *scanner) container() string {
	start := s.at

	for depth := 0; ; {
		switch s.text[s.at] {
		case '"':
			s.string()

			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}

		if s.at++; depth == 0 {
			return s.text[start:s.at]
		}
	}
}

// scalar goes past a number, true, false or null.
func (s *scanner) scalar() string {
	start := s.at
	for s.at < len(s.text) && strings.IndexByte(space+",]}", s.text[s.at]) < 0 {
		s.at++
	}

	return s.text[start:s.at]
}

// string goes past a string.
func (s *scanner) string() string {
	start := s.at

	for s.at++; s.text[s.at] != '"'; s.at++ {
		if s.text[s.at] == '\\' {
			s.at++
		}
	}

	s.at++

	return s.text[start:s.at]
}
