package expression

import (
	"strings"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/exception"
)

// lexStatement is lex for PartiQL: with names in double quotes, strings in single quotes, and parameters.
func lexStatement(s string) ([]token, error) {
	return split(s, lexStatementOne, func(at string) error {
		return exception.Validation("Statement wasn't well formed, can't be processed, at %q: %s", at, s)
	})
}

// lexStatementOne returns the token at the beginning of s and its length, 0 if there is none.
func lexStatementOne(s string) (int, token) {
	switch c := s[0]; {
	case c == '"':
		n, text := quoted(s)

		return n, token{text: text, kind: nameToken}
	case c == '\'':
		n, text := quoted(s)

		return n, token{text: text, kind: stringToken}
	case isLetter(c), c == '_':
		n := wordLength(s)

		return n, token{text: s[:n], kind: wordToken}
	case c == '?':
		return 1, token{text: "?", kind: valueToken}
	case isDigit(c):
		n := 1
		for n < len(s) && isDigit(s[n]) {
			n++
		}

		if n < len(s) && (isLetter(s[n]) || s[n] == '.') { // the number is not an integer
			return 0, token{}
		}

		return n, token{text: s[:n], kind: numberToken}
	case strings.HasPrefix(s, "<>"), strings.HasPrefix(s, "<="), strings.HasPrefix(s, ">="):
		return 2, token{text: s[:2], kind: symbolToken}
	case strings.HasPrefix(s, "--"): // a comment begins here
		return 0, token{}
	case strings.IndexByte("=<>(),.[]+-{}:*", c) >= 0:
		return 1, token{text: s[:1], kind: symbolToken}
	}

	return 0, token{}
}

// quoted returns the length of the quoted text at the beginning of s, 0 if the quotes do not end, and the text. A quote in the
// text is written twice.
func quoted(s string) (int, string) {
	quote := s[:1]
	for n := 1; n < len(s); n++ {
		if s[n] != quote[0] {
			continue
		}

		if n+1 == len(s) || s[n+1] != quote[0] {
			return n + 1, strings.ReplaceAll(s[1:n], quote+quote, quote)
		}

		n++
	}

	return 0, ""
}
