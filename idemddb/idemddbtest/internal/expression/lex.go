package expression

import (
	"strings"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/exception"
)

// token is a word (a name, keyword, #alias or :value), a number or a symbol; in a statement also a quoted name or string. The
// last token of a text is empty.
type token struct {
	text string
	kind tokenKind
	at   int // where it begins
}

type tokenKind byte

const (
	endToken tokenKind = iota
	wordToken
	aliasToken
	valueToken
	numberToken
	symbolToken
	nameToken   // quoted, in a statement
	stringToken // in a statement
)

// lex returns the tokens of an expression.
func lex(s string) ([]token, error) {
	return split(s, func(rest string) (int, token) {
		n, kind := lexOne(rest)

		return n, token{text: rest[:n], kind: kind}
	}, syntaxError)
}

// split returns the tokens of a text. one returns the token at the beginning of a text and its length, 0 if there is none; then
// wrong returns the error for the character there.
func split(s string, one func(rest string) (int, token), wrong func(at string) error) ([]token, error) {
	tokens := make([]token, 0, len(s)/3+1)
	for i := 0; i < len(s); {
		if strings.IndexByte(" \t\r\n", s[i]) >= 0 {
			i++

			continue
		}

		n, t := one(s[i:])
		if n == 0 {
			return nil, wrong(s[i : i+1])
		}

		t.at = i
		tokens = append(tokens, t)
		i += n
	}

	return append(tokens, token{at: len(s)}), nil
}

// lexOne returns the length and the kind of the token at the beginning of s, length 0 if there is none.
func lexOne(s string) (int, tokenKind) {
	switch c := s[0]; {
	case isLetter(c):
		return wordLength(s), wordToken
	case c == '#' || c == ':':
		n := wordLength(s)
		if n == 1 {
			return 0, endToken
		}

		if c == '#' {
			return n, aliasToken
		}

		return n, valueToken
	case c == '0':
		return 1, numberToken
	case isDigit(c):
		n := 1
		for n < len(s) && isDigit(s[n]) {
			n++
		}

		return n, numberToken
	case strings.HasPrefix(s, "<>"), strings.HasPrefix(s, "<="), strings.HasPrefix(s, ">="):
		return 2, symbolToken
	case strings.IndexByte("=<>(),.[]+-", c) >= 0:
		return 1, symbolToken
	}

	return 0, endToken
}

// wordLength returns the length of the word at the beginning of s. It does not check the first byte.
func wordLength(s string) int {
	n := 1
	for n < len(s) && (isLetter(s[n]) || isDigit(s[n]) || s[n] == '_') {
		n++
	}

	return n
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

func syntaxError(token string) error {
	if token == "" {
		token = "<EOF>"
	}

	return exception.Validation("Syntax error; token: %q", token)
}
