package lambdawrap

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Canonical JSON: equal values have one text, different values two, so that the text can stand for the value in a key.
//
// It is RFC 8785 with two differences. Members are sorted by the bytes of their names rather than by UTF-16 units. And
// numbers keep every digit: RFC 8785 goes through float64, in which 9007199254740993 is 9007199254740992 and two
// payments are one.
//
// Keys outlive deploys, so this text is a stored format: a change to it makes every message run once more.

// decodeJSON reads text as exactly one JSON value, and refuses what encoding/json would quietly repair or choose from.
//
// Numbers become float64 where that holds them exactly (see exactFloat), otherwise a json.Number in canonical form, and
// inexact is true. So JMESPath, which knows float64 alone, may compare and sort the former; it fails on the latter.
func decodeJSON(text string) (value any, inexact bool, err error) {
	if err := checkJSON(text); err != nil {
		return nil, false, err
	}

	d := decoder{json: json.NewDecoder(strings.NewReader(text))}
	d.json.UseNumber()
	value, err = d.value()

	return value, d.inexact, err
}

func checkJSON(text string) error {
	switch {
	case text == "":
		return errors.New("is empty")
	case !utf8.ValidString(text):
		// encoding/json reads each bad byte as U+FFFD, so different texts would become one value.
		return errors.New("is not valid UTF-8")
	case !json.Valid([]byte(text)): // also what nests deeper than 10,000, so recursion below is bounded
		return fmt.Errorf("is not exactly one JSON value%s", syntaxOffset(text))
	case hasLoneSurrogate(text):
		return errors.New(`has a \u escape of half a surrogate pair, which stands for no character`)
	}

	return nil
}

// syntaxOffset says where text stops being JSON. The message of encoding/json would quote the payload.
func syntaxOffset(text string) string {
	var raw json.RawMessage
	if syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal([]byte(text), &raw)); ok {
		return fmt.Sprintf(" (wrong at byte %d of %d)", syntax.Offset, len(text))
	}

	return ""
}

// hasLoneSurrogate looks for \ud800 to \udfff that are not pairs, in valid JSON. encoding/json reads each as U+FFFD.
func hasLoneSurrogate(text string) bool {
	for {
		i := strings.IndexByte(text, '\\')
		if i < 0 {
			return false
		}

		text = text[i:]

		unit, ok := escapedUnit(text)
		switch {
		case !ok:
			text = text[2:]
		case unit < 0xd800 || unit > 0xdfff:
			text = text[6:]
		default:
			low, ok := escapedUnit(text[6:])
			if unit > 0xdbff || !ok || low < 0xdc00 || low > 0xdfff {
				return true
			}

			text = text[12:]
		}
	}
}

// escapedUnit is the UTF-16 unit of the escape that text begins with.
func escapedUnit(text string) (uint64, bool) {
	if len(text) < 6 || text[:2] != `\u` {
		return 0, false
	}

	unit, err := strconv.ParseUint(text[2:6], 16, 16)

	return unit, err == nil
}

type decoder struct {
	json    *json.Decoder
	inexact bool
}

func (d *decoder) value() (any, error) {
	token, err := d.json.Token()
	if err != nil {
		return nil, errors.New("cannot be read as JSON")
	}

	switch token := token.(type) {
	case json.Delim:
		if token == '{' {
			return d.object()
		}

		return d.array()
	case json.Number:
		return d.number(token)
	default:
		return token, nil
	}
}

func (d *decoder) object() (any, error) {
	object := map[string]any{}

	for d.json.More() {
		token, err := d.json.Token()
		if err != nil {
			return nil, errors.New("cannot be read as JSON")
		}

		name, _ := token.(string)
		if _, twice := object[name]; twice {
			// Readers disagree about which one counts: encoding/json takes the last of two strings but merges two objects into a
			// struct. The key could be of one payment and the handler's work of another.
			return nil, errors.New("has an object with the same member name twice, so its meaning depends on the reader")
		}

		if object[name], err = d.value(); err != nil {
			return nil, err
		}
	}

	_, err := d.json.Token()

	return object, err //nolint:wrapcheck // decodeJSON replaces it
}

func (d *decoder) array() (any, error) {
	array := []any{}

	for d.json.More() {
		element, err := d.value()
		if err != nil {
			return nil, err
		}

		array = append(array, element)
	}

	_, err := d.json.Token()

	return array, err //nolint:wrapcheck // decodeJSON replaces it
}

func (d *decoder) number(text json.Number) (any, error) {
	canonical, err := canonicalNumber(string(text))
	if err != nil {
		return nil, err
	}

	if f, ok := exactFloat(canonical); ok {
		return f, nil
	}

	d.inexact = true

	return json.Number(canonical), nil
}

// exactFloat returns the float64 that stands for a canonical number: the one that is written as that number again. Two
// different numbers never have the same one, and their floats compare as the numbers do, because rounding to float64
// keeps order.
func exactFloat(canonical string) (float64, bool) {
	const longest = len("-1.2345678901234567e-308")
	if len(canonical) > longest+len("0.00000") {
		return 0, false
	}

	f, err := strconv.ParseFloat(canonical, 64)
	if err != nil {
		return 0, false
	}

	again, err := canonicalFloat(f)

	return f, err == nil && again == canonical
}

func canonicalFloat(f float64) (string, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return "", errors.New("yields a number that JSON cannot hold")
	}

	return canonicalNumber(strconv.FormatFloat(f, 'e', -1, 64))
}

// maxExponent is the largest exponent, of a number with one digit before the point. It keeps the arithmetic on
// exponents inside int64. It bounds the number, not its spelling: of two equal numbers both have a key or neither.
const maxExponent = 1e18 - 1

var errExponent = errors.New("has a number whose exponent has more than 18 digits")

// canonicalNumber writes a JSON number as JavaScript would, but with all its digits: 1, 1.0, 1e0 and 100e-2 are 1, -0
// is 0, 1e21 is 1e+21. It moves the decimal point in the text, so neither its time nor its memory depends on the size
// of the number: 1e999999999 costs nothing.
func canonicalNumber(text string) (string, error) {
	text, negative := strings.CutPrefix(text, "-")

	mantissa, exponent := text, ""
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mantissa, exponent = text[:i], text[i+1:]
	}

	whole, fraction, _ := strings.Cut(mantissa, ".")

	digits := strings.TrimLeft(whole+fraction, "0")
	leading := len(whole) + len(fraction) - len(digits)

	digits = strings.TrimRight(digits, "0")
	if digits == "" {
		return "0", nil
	}

	shift, err := parseExponent(exponent)
	if err != nil {
		return "", err
	}
	// The value is 0.digits × 10^point.
	point := int64(len(whole)) - int64(leading) + shift
	if point-1 > maxExponent || point-1 < -maxExponent {
		return "", errExponent
	}

	sign := ""
	if negative {
		sign = "-"
	}

	return sign + placePoint(digits, point), nil
}

func parseExponent(text string) (int64, error) {
	text, negative := strings.CutPrefix(text, "-")

	text = strings.TrimLeft(strings.TrimPrefix(text, "+"), "0")
	if text == "" {
		return 0, nil
	}

	exponent, err := strconv.ParseInt(text, 10, 64)
	if err != nil || exponent > 2*maxExponent { // no mantissa is long enough to make up for that
		return 0, errExponent
	}

	if negative {
		exponent = -exponent
	}

	return exponent, nil
}

func placePoint(digits string, point int64) string {
	length := int64(len(digits))
	switch {
	case point > 21 || point < -5: // from 1e21, and below 1e-6
		if length > 1 {
			digits = digits[:1] + "." + digits[1:]
		}

		return fmt.Sprintf("%se%+d", digits, point-1)
	case point <= 0:
		return "0." + strings.Repeat("0", int(-point)) + digits
	case point >= length:
		return digits + strings.Repeat("0", int(point-length))
	default:
		return digits[:point] + "." + digits[point:]
	}
}

// appendCanonical appends the canonical JSON of a value made of what decodeJSON returns.
func appendCanonical(dst []byte, value any) ([]byte, error) {
	switch value := value.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, value), nil
	case string:
		return appendString(dst, value)
	case json.Number:
		return append(dst, value...), nil
	case float64:
		text, err := canonicalFloat(value)

		return append(dst, text...), err
	case []any:
		return appendArray(dst, value)
	case map[string]any:
		return appendObject(dst, value)
	default:
		return nil, errors.New("yields something that is no JSON value")
	}
}

func appendArray(dst []byte, array []any) (_ []byte, err error) {
	dst = append(dst, '[')

	for i, element := range array {
		if i > 0 {
			dst = append(dst, ',')
		}

		if dst, err = appendCanonical(dst, element); err != nil {
			return nil, err
		}
	}

	return append(dst, ']'), nil
}

func appendObject(dst []byte, object map[string]any) (_ []byte, err error) {
	dst = append(dst, '{')

	for i, name := range slices.Sorted(maps.Keys(object)) {
		if i > 0 {
			dst = append(dst, ',')
		}

		if dst, err = appendString(dst, name); err != nil {
			return nil, err
		}

		dst = append(dst, ':')
		if dst, err = appendCanonical(dst, object[name]); err != nil {
			return nil, err
		}
	}

	return append(dst, '}'), nil
}

func appendString(dst []byte, s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return nil, errors.New("is not valid UTF-8")
	}

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

	return append(dst, '"'), nil
}
