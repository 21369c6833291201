package strictjson

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/idemddb/go-idemddb/internal/panicerror"
)

// ErrEncode is wrapped by every error of Marshal.
var ErrEncode = errors.New("the value cannot be encoded as JSON")

var (
	errText   = errors.New("it has text that is not UTF-8")
	errStream = errors.New("it is a stream, whose content JSON does not carry")
)

// Marshal returns a value as JSON, and refuses values that JSON cannot carry. The encoder of the standard library writes U+FFFD
// for text that is not UTF-8, so a replay would have another text; and it encodes what an interface holds, which cannot be
// decoded. Fields that encoding/json leaves out, because they are unexported, have the tag `json:"-"` or share a name with
// another one, are zero in what is decoded. A value of a type whose UnmarshalJSON does not undo its MarshalJSON is decoded as its
// UnmarshalJSON reads it.
//
// It returns ErrEncode if it has text that is not UTF-8, if it is an io.Reader, or if it cannot be encoded or Unmarshal cannot
// decode it as a T. A panic of the value's own methods is such an error, too: the work whose result the value is was done.
func Marshal[T any](value T) ([]byte, error) {
	result, err := encode(value, &value, new(T))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEncode, err)
	}

	return result, nil
}

// encode encodes content, to which value points, and decodes it again. Only that shows whether all interfaces in it are nil, and
// whether its own methods read what they write. Without the pointer encoding/json would not call a MarshalJSON of the pointer.
func encode(content, value, decoded any) (result []byte, err error) {
	defer panicerror.Catch("it", &err)

	_, isStream := content.(io.Reader)
	if _, marshals := content.(json.Marshaler); isStream && !marshals {
		return nil, errStream
	}

	if result, err = json.Marshal(value); err != nil {
		return nil, err //nolint:wrapcheck // by Marshal
	}

	isExact, isReplaced := decodes(result)
	if !isExact || isReplaced && !isText(reflect.ValueOf(value)) {
		return nil, errText
	}

	if err := Unmarshal(result, decoded); err != nil {
		return nil, fmt.Errorf("it cannot be decoded again: %w", err)
	}

	return result, nil
}

// Unmarshal decodes what Marshal has encoded. Numbers that have no type of their own keep all their digits.
func Unmarshal(encoded []byte, value any) error {
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()

	return withoutContent(decoder.Decode(value))
}

// withoutContent returns an error without what stands in the JSON: results may be confidential, and errors are logged. An error
// of a type's own UnmarshalJSON stays as it is.
func withoutContent(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		kind, _, _ := strings.Cut(wrong.Value, " ") // a number is followed by its digits

		return fmt.Errorf("the JSON %s before byte %d does not fit into a %v", kind, wrong.Offset, wrong.Type)
	}

	if wrong, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("it is no JSON from byte %d on", wrong.Offset)
	}

	return err
}

// decodes reports whether the text that JSON has is decoded as it stands, and whether it has the character U+FFFD, which the
// encoder writes for text that is not UTF-8.
func decodes(encoded []byte) (isExact, isReplaced bool) {
	isReplaced, broken := escapes(encoded)

	return utf8.Valid(encoded) && broken < 0, isReplaced || bytes.ContainsRune(encoded, character)
}

// isText reports whether all text of a value that was encoded is UTF-8. If a value encodes itself as JSON with U+FFFD, nobody
// knows whether it replaced text, so it counts as broken.
func isText(v reflect.Value) bool {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}

	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return true
	}

	if marshalsText, marshals := isMarshaledText(v); marshals {
		return marshalsText
	}

	switch v.Kind() { //nolint:exhaustive // all others have neither text nor parts
	case reflect.String:
		return utf8.ValidString(v.String())
	case reflect.Pointer:
		return isText(v.Elem())
	case reflect.Map, reflect.Slice, reflect.Array:
		for name, member := range v.Seq2() { // the name is an index, or the key in a map
			if !isText(name) || !isText(member) {
				return false
			}
		}
	case reflect.Struct:
		for field, member := range v.Fields() {
			if isEncoded(field) && !isText(member) {
				return false
			}
		}
	}

	return true
}

// isEncoded reports whether JSON encodes a field, or perhaps some of its own fields.
func isEncoded(field reflect.StructField) bool {
	return (field.IsExported() || field.Anonymous) && field.Tag.Get("json") != "-"
}

// isMarshaledText reports whether a value that encodes itself gives text that is UTF-8. It returns false for marshals if the
// value does not encode itself.
func isMarshaledText(v reflect.Value) (isText, marshals bool) {
	if !v.CanInterface() {
		return false, false
	}

	if v.Kind() != reflect.Pointer && v.CanAddr() {
		v = v.Addr() // encoding/json calls a method of the pointer, too, and prefers it
	}

	switch m := v.Interface().(type) {
	case json.RawMessage:
		return utf8.Valid(m), true
	case *json.RawMessage:
		return utf8.Valid(*m), true
	case json.Marshaler:
		text, err := m.MarshalJSON()
		isExact, isReplaced := decodes(text)

		return err == nil && isExact && !isReplaced, true
	case encoding.TextMarshaler:
		text, err := m.MarshalText()

		return err == nil && utf8.Valid(text), true
	default:
		return false, false
	}
}
