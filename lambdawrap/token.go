package lambdawrap

import "strings"

const (
	kindName    = 'a'  // an identifier without quotes
	kindField   = '"'  // one with quotes: always a field
	kindRaw     = '\'' // a raw string
	kindLiteral = '`'  // JSON
	kindNumber  = '0'
	kindFlatten = '~' // []
	kindFilter  = '?' // [?
)

// token is a JMESPath token: its kind is one of the above or the character itself, 0 at the end.
type token struct {
	kind   byte
	text   string
	isCall bool
}

func (t token) endsOperand() bool {
	return t.kind != 0 && strings.IndexByte("a\"'`0~)]}@*", t.kind) >= 0
}

// projects tells whether the token is [] or [?.
func (t token) projects() bool { return t.kind == kindFlatten || t.kind == kindFilter }

type scanner struct{ rest string }

const space = " \t\n\r"

// peek is the first character of the next token, 0 at the end.
func (s *scanner) peek() byte {
	if s.rest = strings.TrimLeft(s.rest, space); s.rest == "" {
		return 0
	}

	return s.rest[0]
}

func (s *scanner) next() token {
	const (
		digits  = "0123456789"
		letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
	)
	switch c := s.peek(); {
	case c == 0:
		return token{}
	case c == '"' || c == '\'' || c == '`':
		text := s.quoted(c)

		return token{kind: c, text: strings.ReplaceAll(text, "\\`", "`")}
	case strings.IndexByte(letters, c) >= 0:
		return token{kind: kindName, text: s.span(letters + digits)}
	case c == '-' || strings.IndexByte(digits, c) >= 0:
		return token{kind: kindNumber, text: s.span("-" + digits)}
	case c == '[':
		return s.bracket()
	default:
		s.rest = s.rest[1:]

		return token{kind: c}
	}
}

func (s *scanner) bracket() token {
	s.rest = s.rest[1:]

	kind := byte('[')
	if strings.HasPrefix(s.rest, "?") {
		kind, s.rest = kindFilter, s.rest[1:]
	} else if strings.HasPrefix(s.rest, "]") {
		kind, s.rest = kindFlatten, s.rest[1:]
	}

	return token{kind: kind}
}

func (s *scanner) span(of string) string {
	text := s.rest[:len(s.rest)-len(strings.TrimLeft(s.rest, of))]
	s.rest = s.rest[len(text):]

	return text
}

// quoted reads up to the closing delimiter. A backslash takes the next character with it, but in a raw string only a
// quote.
func (s *scanner) quoted(delimiter byte) string {
	i := 1
	for i < len(s.rest) && s.rest[i] != delimiter {
		if s.rest[i] == '\\' && (delimiter != kindRaw || strings.HasPrefix(s.rest[i+1:], "'")) {
			i++
		}

		i++
	}

	text := s.rest[1:min(i, len(s.rest))]
	s.rest = s.rest[min(i+1, len(s.rest)):]

	return text
}
