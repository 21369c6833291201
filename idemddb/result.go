package idemddb

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strconv"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

var (
	errEncode = errors.New("the value cannot be encoded as JSON")
	errText   = fmt.Errorf("%w: it has text that is not UTF-8", errEncode)
)

// encode returns a value as JSON, or errEncode if a replay would give another value. A panic of the value's own methods is such an error,
// too: the work is done, and its completion must be written.
func encode(value any) (result []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			result, err = nil, fmt.Errorf("%w: it panicked: %v", errEncode, v)
		}
	}()

	result, err = json.Marshal(value)

	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errEncode, err)
	case !utf8.Valid(result):
		return nil, errText
	}

	isReplaced, isBroken := escapes(result)
	if isBroken || isReplaced && !isText(reflect.ValueOf(value)) {
		return nil, errText
	}

	return result, nil
}

// decodeResult decodes a result. Numbers that have no type of their own keep all their digits.
func decodeResult(result []byte, value any) error {
	decoder := json.NewDecoder(bytes.NewReader(result))
	decoder.UseNumber()

	return decoder.Decode(value) //nolint:wrapcheck // the caller says which result it is
}

const (
	escape    = len(`\ufffd`)
	character = utf8.RuneError
)

// escapes reports whether JSON has the character U+FFFD, which the encoder writes for text that is not UTF-8, and whether it has half of a
// surrogate pair, for which the decoder gives that character.
func escapes(text []byte) (isReplaced, isBroken bool) {
	isReplaced = bytes.ContainsRune(text, character)

	for at := bytes.IndexByte(text, '\\'); at >= 0; at = bytes.IndexByte(text, '\\') {
		text = text[at:]

		switch unit := escaped(text); {
		case unit < 0:
			text = text[len(`\n`):]
		case !utf16.IsSurrogate(unit):
			isReplaced = isReplaced || unit == character
			text = text[escape:]
		case utf16.DecodeRune(unit, escaped(text[escape:])) == character:
			return isReplaced, true
		default:
			text = text[2*escape:]
		}
	}

	return isReplaced, false
}

// escaped returns the code unit that text begins with as \uXXXX, or -1.
func escaped(text []byte) rune {
	if !bytes.HasPrefix(text, []byte(`\u`)) || len(text) < escape {
		return -1
	}

	unit, err := strconv.ParseUint(string(text[len(`\u`):escape]), 16, 16)
	if err != nil {
		return -1
	}

	return rune(unit)
}

// isText reports whether all text of a value that was encoded is UTF-8. What the value's own MarshalJSON has made of U+FFFD before, nobody can
// tell, so that counts as broken.
func isText(v reflect.Value) bool {
	if isAbsent(v) {
		return true
	}

	if v.CanInterface() {
		if marshalsText, marshals := isMarshaledText(v.Interface()); marshals {
			return marshalsText
		}
	}

	if v.Kind() == reflect.String {
		return utf8.ValidString(v.String())
	}

	for part := range parts(v) {
		if !isText(part) {
			return false
		}
	}

	return true
}

// isMarshaledText reports whether a value that encodes itself gives text that is UTF-8. It returns false for marshals if the value does not
// encode itself.
func isMarshaledText(value any) (isText, marshals bool) {
	switch m := value.(type) {
	case json.RawMessage:
		return utf8.Valid(m), true
	case json.Marshaler:
		text, err := m.MarshalJSON()
		isReplaced, isBroken := escapes(text)

		return err == nil && utf8.Valid(text) && !isReplaced && !isBroken, true
	case encoding.TextMarshaler:
		text, err := m.MarshalText()

		return err == nil && utf8.Valid(text), true
	default:
		return false, false
	}
}

// parts are the values inside of a value that JSON encodes.
func parts(v reflect.Value) iter.Seq[reflect.Value] {
	return func(yield func(reflect.Value) bool) {
		switch v.Kind() { //nolint:exhaustive // all others have no parts
		case reflect.Pointer, reflect.Interface:
			yield(v.Elem())
		case reflect.Map, reflect.Slice, reflect.Array:
			yieldMembers(v, yield)
		case reflect.Struct:
			yieldFields(v, yield)
		}
	}
}

// yieldMembers yields the names and the members of a map, or the indexes and the members of a slice or an array.
func yieldMembers(v reflect.Value, yield func(reflect.Value) bool) {
	for name, member := range v.Seq2() {
		if !yield(name) || !yield(member) {
			return
		}
	}
}

// yieldFields yields the fields of a struct that JSON encodes.
func yieldFields(v reflect.Value, yield func(reflect.Value) bool) {
	for field, member := range v.Fields() {
		if (field.IsExported() || field.Anonymous) && field.Tag.Get("json") != "-" && !yield(member) {
			return
		}
	}
}

func isAbsent(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Interface, reflect.Map, reflect.Slice:
		return v.IsNil()
	default:
		return false
	}
}

// record is the answer of a completed key.
func (r *storedRecord) record(key string) *Record {
	rec := &Record{
		Key:       key,
		Fence:     *r.Fence,
		Trace:     r.Trace,
		Attempts:  r.Attempts,
		ExpiresAt: time.Unix(r.Expires, 0),
	}

	if r.Ends != 0 {
		rec.ExpiresAt = time.Unix(r.Ends, 0)
	}

	if r.Done != 0 {
		rec.CompletedAt = time.UnixMilli(r.Done)
	}

	switch result := r.Result.(type) {
	case *types.AttributeValueMemberB:
		rec.Result = result.Value
	case *types.AttributeValueMemberNULL:
		rec.ResultOmitted = true
	}

	return rec
}
