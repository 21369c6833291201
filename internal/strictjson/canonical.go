package strictjson

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Canonical JSON: equal values have one text and different values have two, so that the text can stand for the value in a key. It
// is RFC 8785 with two differences:
//
//   - Members are sorted by the bytes of their names rather than by UTF-16 units.
//   - Numbers keep every digit. RFC 8785 takes them through float64, in which 9007199254740993 is 9007199254740992 and
//     two payments would be one.

// appendCanonical appends the canonical JSON of a value's content.
func appendCanonical(dst []byte, content any) []byte {
	switch content := content.(type) {
	case bool:
		return strconv.AppendBool(dst, content)
	case json.Number:
		canonical, _ := canonicalNumber(string(content)) // check has looked at its exponent

		return append(dst, canonical...)
	case string:
		return appendString(dst, content)
	case []any:
		return appendArray(dst, content)
	case map[string]any:
		return appendObject(dst, content)
	default:
		return append(dst, "null"...)
	}
}

func appendArray(dst []byte, array []any) []byte {
	dst = append(dst, '[')

	for i, element := range array {
		if i > 0 {
			dst = append(dst, ',')
		}

		dst = appendCanonical(dst, element)
	}

	return append(dst, ']')
}

func appendObject(dst []byte, object map[string]any) []byte {
	dst = append(dst, '{')

	for i, name := range slices.Sorted(maps.Keys(object)) {
		if i > 0 {
			dst = append(dst, ',')
		}

		dst = append(appendString(dst, name), ':')
		dst = appendCanonical(dst, object[name])
	}

	return append(dst, '}')
}

// appendString appends a string of valid UTF-8. It escapes only what JSON requires to be escaped.
func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"

	short := [...]byte{'\b': 'b', '\t': 't', '\n': 'n', '\f': 'f', '\r': 'r', '"': '"', '\\': '\\'}

	dst = append(dst, '"')

	for i := range len(s) {
		switch c := s[i]; {
		case int(c) < len(short) && short[c] != 0:
			dst = append(dst, '\\', short[c])
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
		default:
			dst = append(dst, c)
		}
	}

	return append(dst, '"')
}

// ListKey returns the key of a list of strings. Two different lists never have the same key.
//
// It returns an error if a string is not valid UTF-8. The text of this error, as of those of [Read], is a predicate such as "is
// empty": the caller writes the subject before it.
func ListKey(texts ...string) (string, error) {
	size := len(mark) + len("[]")
	for _, text := range texts {
		size += len(text) + len(`"",`)
	}

	key := append(make([]byte, 0, size), mark+"["...)

	for i, text := range texts {
		if !utf8.ValidString(text) {
			return "", errNotUTF8(text)
		}

		if i > 0 {
			key = append(key, ',')
		}

		key = appendString(key, text)
	}

	return string(append(key, ']')), nil
}
