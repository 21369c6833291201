package strictjson_test

import (
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/idemddb/go-idemddb/internal/strictjson"
)

// Package idemddb tests what it replays: TestDoReplaysResultsExactly and TestWhatJSONCannotCarryIsNotKept.

func FuzzTextIsDecodedAsItWasOrRefused(f *testing.F) {
	for _, text := range []string{"", "a", "caf\xe9", "\ufffd", "\ufffd\xe9", `\ufffd`, `\\ud83d`, "\U0001f600", "\u2028<\x00", "\xe9\u2028"} {
		f.Add(text)
	}

	f.Fuzz(func(t *testing.T, text string) {
		encoded, err := strictjson.Marshal(map[string]any{text: []any{text}})
		if !utf8.ValidString(text) {
			if !errors.Is(err, strictjson.ErrEncode) {
				t.Errorf("got %s, %v, want ErrEncode", encoded, err)
			}

			return
		}

		var got map[string][]string
		if err := errors.Join(err, strictjson.Unmarshal(encoded, &got)); err != nil || len(got[text]) != 1 || got[text][0] != text {
			t.Errorf("got %q, %v of %s", got, err, encoded)
		}
	})
}

func FuzzARawMessageIsTheSameValueOrRefused(f *testing.F) {
	for _, text := range []string{`{}`, `"\ud83d\ude00"`, `"\ud83d"`, `"\ude00\ud83d"`, `"\\ud83d"`, `"\ufffd"`, "\"\xff\"", `1.10`} {
		f.Add(text)
	}

	f.Fuzz(func(t *testing.T, text string) {
		encoded, err := strictjson.Marshal(json.RawMessage(text))
		if err != nil {
			return
		}

		var want, got any
		if err := errors.Join(strictjson.Unmarshal([]byte(text), &want), strictjson.Unmarshal(encoded, &got)); err != nil {
			t.Fatal(err)
		}

		again, err := strictjson.Marshal(got)
		if before, _ := strictjson.Marshal(want); err != nil || string(again) != string(before) {
			t.Errorf("got %s, %v, want %s", again, err, before)
		}
	})
}

// A nil pointer encodes nothing itself, also if its type could.
func TestNilPointersBesideU_FFFDAreText(t *testing.T) {
	t.Parallel()

	for name, value := range map[string]any{
		"in anything": map[string]any{"at": (*time.Time)(nil), "text": "\ufffd"},
		"in a field": struct {
			At   *time.Time
			Text string
		}{nil, "\ufffd"},
		"nothing": map[string]any{"at": nil, "text": "\ufffd"},
	} {
		if encoded, err := strictjson.Marshal(value); err != nil {
			t.Errorf("%s: got %s, %v", name, encoded, err)
		}
	}
}

// text encodes itself by methods of its pointer, which encoding/json calls where the value has an address.
type text struct{ raw string }

func (x *text) MarshalJSON() ([]byte, error)       { return json.Marshal(x.raw) }
func (x *text) UnmarshalJSON(encoded []byte) error { return json.Unmarshal(encoded, &x.raw) }

func TestTextThatAMethodOfThePointerEncodesIsDecodedAsItWasOrRefused(t *testing.T) {
	t.Parallel()

	for raw, want := range map[string]error{"caf\xe9": strictjson.ErrEncode, "caf\u00e9": nil} {
		inField := struct{ Text text }{text{raw}}
		_, inASlice := strictjson.Marshal([]text{{raw}})
		_, inAField := strictjson.Marshal(&inField)

		if !errors.Is(inASlice, want) || !errors.Is(inAField, want) {
			t.Errorf("%q: got %v and %v, want %v", raw, inASlice, inAField, want)
		}
	}
}

// money is a number that encodes itself as text, by methods of its pointer. Its field alone is JSON that its UnmarshalJSON
// accepts.
type money struct{ Cents int }

type amount struct{ Amount string }

func (m *money) MarshalJSON() ([]byte, error) {
	return json.Marshal(amount{strconv.Itoa(m.Cents)})
}

func (m *money) UnmarshalJSON(encoded []byte) (err error) {
	var a amount
	if err = json.Unmarshal(encoded, &a); err == nil && a.Amount != "" {
		m.Cents, err = strconv.Atoi(a.Amount)
	}

	return err
}

func TestAValueThatAMethodOfItsPointerEncodesIsDecodedAsItWas(t *testing.T) {
	t.Parallel()

	type receipt struct{ Total money }

	var (
		alone   money
		inField receipt
	)

	ofAlone, errAlone := strictjson.Marshal(money{100})
	ofField, errField := strictjson.Marshal(receipt{money{100}})

	err := errors.Join(errAlone, errField, strictjson.Unmarshal(ofAlone, &alone), strictjson.Unmarshal(ofField, &inField))
	if err != nil || alone.Cents != 100 || inField.Total.Cents != 100 {
		t.Errorf("got %v and %v, %v, of %s and %s", alone, inField, err, ofAlone, ofField)
	}

	if encoded, err := strictjson.Marshal(text{"caf\xe9"}); !errors.Is(err, strictjson.ErrEncode) {
		t.Errorf("got %s, %v, want ErrEncode", encoded, err)
	}
}

// replaced encodes itself with the replacement character, as it stands.
type replaced struct{}

func (replaced) MarshalJSON() ([]byte, error)  { return []byte("\"caf\uFFFD\""), nil }
func (*replaced) UnmarshalJSON(_ []byte) error { return nil }

func TestJSONThatHasReplacedTextOrIsNotUTF8IsRefused(t *testing.T) {
	t.Parallel()

	_, ofRaw := strictjson.Marshal(json.RawMessage("\"caf\xe9\""))
	_, ofReplaced := strictjson.Marshal(replaced{})

	if !errors.Is(ofRaw, strictjson.ErrEncode) || !errors.Is(ofReplaced, strictjson.ErrEncode) {
		t.Errorf("got %v and %v, want ErrEncode", ofRaw, ofReplaced)
	}
}

// stream is a stream that encodes itself.
type stream struct{ io.Reader }

func (stream) MarshalJSON() ([]byte, error) { return []byte(`{}`), nil }

// Without its content, it would be decoded as an empty value.
func TestAStreamIsRefusedUnlessItEncodesItself(t *testing.T) {
	t.Parallel()

	if encoded, err := strictjson.Marshal[any](strings.NewReader("content")); !errors.Is(err, strictjson.ErrEncode) {
		t.Errorf("got %s, %v, want ErrEncode", encoded, err)
	}

	if _, err := strictjson.Marshal[any](stream{}); err != nil {
		t.Errorf("got %v", err)
	}
}

// A field that JSON leaves out may have any text, also where the text of another one is looked at closely: that of the
// replacement character.
func TestTextThatIsNotEncodedIsNotLookedAt(t *testing.T) {
	t.Parallel()

	type payment struct {
		ID      string
		Comment string `json:"-"`
		hidden  string
	}

	encoded, err := strictjson.Marshal(payment{ID: "p-\uFFFD", Comment: "caf\xe9", hidden: "\xff"})
	if err != nil || string(encoded) != "{\"ID\":\"p-\uFFFD\"}" {
		t.Errorf("got %s, %v", encoded, err)
	}
}
