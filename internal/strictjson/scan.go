package strictjson

import (
	"encoding/json"
	"fmt"
	"strings"
)

// space is the white space of JSON.
const space = " \t\r\n"

// scanner goes through a text that check has accepted.
type scanner struct {
	text string
	at   int
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

// unquoted returns the text for which a JSON string stands.
func unquoted(quoted string) string {
	if strings.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}

	return decoded(quoted)
}

func decoded(quoted string) (text string) {
	_ = json.Unmarshal([]byte(quoted), &text) // it is a valid string

	return text
}

// next goes to the next member or element, past what stands before it, and reports whether there is one.
func (s *scanner) next(end byte) bool {
	s.space()

	if s.text[s.at] != end {
		s.at++ // the opening bracket or the comma
		s.space()
	}

	return s.text[s.at] != end
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
