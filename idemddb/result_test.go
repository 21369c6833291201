package idemddb_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/idemddb"
)

// replays runs Do twice, with a claim and without one, and returns how the value of fn was replayed.
func replays[T any](t *testing.T, value T) (replayed []T, errs []error) {
	t.Helper()

	for _, isOptimistic := range []bool{false, true} {
		s, _ := newStore(t, nil)
		opts := &idemddb.ClaimOptions{Optimistic: isOptimistic, NeedResult: true}

		for i := range 2 {
			got, err := idemddb.Do(t.Context(), s, "k", opts, func(ctx context.Context) (T, error) {
				if i > 0 { // without a claim the work runs again, and nothing of that run counts
					var other T

					return other, idemddb.Stage(ctx, idemddb.Effects{})
				}

				return value, idemddb.Stage(ctx, idemddb.Effects{})
			})
			if i > 0 {
				replayed, errs = append(replayed, got), append(errs, err)
			} else {
				must(t, err)
			}
		}
	}

	return replayed, errs
}

type receipt struct {
	ID    int64
	Text  string
	Lines []string
	Extra map[string]any
	Raw   json.RawMessage
	Next  *receipt
}

func checkExact[T any](value T) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		t.Parallel()

		replayed, errs := replays(t, value)
		must(t, errors.Join(errs...))

		for _, got := range replayed {
			if diff := cmp.Diff(value, got); diff != "" {
				t.Error(diff)
			}
		}
	}
}

func TestDoReplaysResultsExactly(t *testing.T) {
	t.Parallel()

	full := receipt{
		ID: 1<<62 + 1, Text: "€ \u2028 < & \x00 \ufffd \\ufffd", Lines: []string{}, Extra: map[string]any{"": nil, "\ufffd": false},
		Raw: json.RawMessage(`{"n":12345678901234567890.10}`), Next: &receipt{Lines: nil, Raw: json.RawMessage(`null`)},
	}

	for name, check := range map[string]func(*testing.T){
		"a whole value":        checkExact(full),
		"no fields":            checkExact(struct{}{}),
		"an empty map":         checkExact(map[string]string{}),
		"a nil map":            checkExact(map[string]string(nil)),
		"an empty list":        checkExact([]int{}),
		"a nil list":           checkExact([]int(nil)),
		"zero":                 checkExact(0),
		"false":                checkExact(false),
		"an empty text":        checkExact(""),
		"a nil pointer":        checkExact((*receipt)(nil)),
		"nil":                  checkExact[any](nil),
		"a pointer to zero":    checkExact(new(int)),
		"the largest integer":  checkExact(uint64(1<<64 - 1)),
		"an integer over 2^53": checkExact[any](json.Number("9007199254740993")),
		"the character U+FFFD": checkExact("\ufffd"),
		"a text like a code":   checkExact(`\ufffd \\ufffd`),
		"bytes of no text":     checkExact([]byte{0xff, 0xfe}),
		"emoji":                checkExact("😀"),
		"a nil interface":      checkExact[fmt.Stringer](nil),
		"one in a field":       checkExact(failure{Text: "declined"}),
		"a list of anything":   checkExact([]any{json.Number("1e400"), "", nil, false, []any{}, map[string]any{}}),
	} {
		t.Run(name, check)
	}
}

// A raw message is the same JSON value after a replay: white space and the way in which a character is written may change.
func TestDoReplaysRawMessagesAsTheSameValue(t *testing.T) {
	t.Parallel()

	for _, text := range []string{
		`{}`, `[]`, `0`, `false`, `""`, `null`, `9007199254740993`, `1.10`, `{ "a" : [ 1 , 2 ] }`, `"<\u003c\/"`,
		`"\ufffd"`, `"\ud83d\ude00"`, `"\\ud83d"`, `"\\\u0041"`, `{"a":1,"a":2}`,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()

			replayed, errs := replays(t, json.RawMessage(text))
			must(t, errors.Join(errs...))

			for _, got := range replayed {
				if diff := cmp.Diff(spelled(t, text), spelled(t, string(got))); diff != "" {
					t.Errorf("%s: %s", got, diff)
				}
			}
		})
	}

	for _, text := range []string{`"\ud83d\ude00"`, `{"a":9007199254740993}`} {
		if _, errs := replays[any](t, json.RawMessage(text)); errors.Join(errs...) != nil {
			t.Errorf("%s as any: %v", text, errs)
		}
	}
}

// spelled is JSON without white space and without the escape sequences for which there is a choice.
func spelled(t *testing.T, text string) string {
	t.Helper()

	var b bytes.Buffer

	must(t, json.Compact(&b, []byte(text)))

	return strings.NewReplacer(`\u003c`, "<", `\/`, "/").Replace(b.String())
}

// brokenMarshaler writes text that is not UTF-8, and reads it as the encoder of JSON does.
type brokenMarshaler string

func (brokenMarshaler) MarshalJSON() ([]byte, error) { return []byte("\"a\xffb\""), nil }

// brokenText writes itself as text that is not UTF-8.
type brokenText string

func (t brokenText) MarshalText() ([]byte, error) { return []byte("a\xff" + t), nil }

type brokenName struct{}

func (brokenName) MarshalText() ([]byte, error) { return []byte("a\xff"), nil }

// hidden encodes a field that others cannot see.
type hidden struct{ text string }

func (h *hidden) MarshalJSON() ([]byte, error) { return json.Marshal(h.text) }
func (h *hidden) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &h.text) }

type (
	embedded  struct{ Texts [1]string }
	embedding struct{ embedded }
)

// oneWay encodes itself as JSON that it does not read, undecodable as JSON for which it panics.
type (
	oneWay      struct{ cents int }
	undecodable struct{}
)

func (o oneWay) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%d ct", o.cents), nil }

func (undecodable) MarshalJSON() ([]byte, error) { return []byte(`0`), nil }

func (*undecodable) UnmarshalJSON([]byte) error { panic("cannot be decoded") }

// failure has a field of an interface type, into which JSON decodes only null.
type failure struct {
	Text  string
	Cause error
}

type unencodable struct{}

func (unencodable) MarshalJSON() ([]byte, error) { panic("cannot be encoded") }

func checkOmitted[T any](value T) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		t.Parallel()

		replayed, errs := replays(t, value)

		for i, err := range errs {
			if !errors.Is(err, idemddb.ErrResultOmitted) {
				t.Errorf("got %v, %v, want ErrResultOmitted", replayed[i], err)
			}
		}
	}
}

func TestWhatJSONCannotCarryIsNotKept(t *testing.T) {
	t.Parallel()

	const broken = "caf\xe9"

	for name, check := range map[string]func(*testing.T){
		"text":                      checkOmitted(broken),
		"text in a field":           checkOmitted(receipt{Text: broken}),
		"text in a list":            checkOmitted(&receipt{Next: &receipt{Lines: []string{"a", broken}}}),
		"a name":                    checkOmitted(map[string]int{broken: 1}),
		"text in anything":          checkOmitted[any](map[string]any{"a": []any{broken}}),
		"beside the real character": checkOmitted("\ufffd" + broken),
		"text of a marshaler":       checkOmitted(brokenMarshaler("")),
		"half a pair as anything":   checkOmitted[any](json.RawMessage(`"\ud83d"`)),
		"half a pair before text":   checkOmitted(json.RawMessage(`"\ud83dXude00"`)),
		"two first halves":          checkOmitted(json.RawMessage(`"\ud83d\ud83d"`)),
		"half a pair behind others": checkOmitted(json.RawMessage(`"\\\ud83d\ude00\n\ude00"`)),
		"a raw message":             checkOmitted(json.RawMessage("\"\xff\"")),
		"a raw message in a list":   checkOmitted([]json.RawMessage{json.RawMessage("\"\xff\"")}),
		"text of a text marshaler":  checkOmitted([]brokenText{"x"}),
		"a name of one":             checkOmitted(map[brokenName]int{{}: 1}),
		"a marshaler of the same":   checkOmitted(&hidden{broken}),
		"an array in an embedded":   checkOmitted(embedding{embedded{[1]string{broken}}}),
		"a value that panics":       checkOmitted(unencodable{}),
		"a channel":                 checkOmitted(make(chan int)),
		"an interface":              checkOmitted[fmt.Stringer](time.Second),
		"an error":                  checkOmitted(errors.New("declined")),
		"an interface in a field":   checkOmitted(failure{"declined", errors.New("no funds")}),
		"a list of interfaces":      checkOmitted([]fmt.Stringer{nil, time.Second}),
		"what it does not read":     checkOmitted(oneWay{5}),
		"a value that panics later": checkOmitted(undecodable{}),
	} {
		t.Run(name, check)
	}
}

// leaving has fields that JSON leaves out.
type leaving struct {
	ID     string
	Secret string `json:"-"`
	note   string
}

func TestFieldsThatJSONLeavesOutAreZeroInAReplay(t *testing.T) {
	t.Parallel()

	replayed, errs := replays(t, leaving{"r1", "s3cr3t", "paid"})
	must(t, errs...)

	for _, got := range replayed {
		if want := (leaving{ID: "r1"}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

// Another program wrote the record, or an older version of this one.
func TestAResultThatIsNoneOfTheTypeIsCorrupt(t *testing.T) {
	t.Parallel()

	s, _ := newStore(t, nil)
	must(t, claim(t, s, "k").Complete(t.Context(), []byte(`"text"`)))

	_, err := idemddb.Do(t.Context(), s, "k", nil, func(context.Context) (fmt.Stringer, error) { return time.Second, nil })
	if is(t, err, idemddb.ErrCorrupt); err == nil || !strings.Contains(err.Error(), "its result is not a fmt.Stringer") {
		t.Errorf("got %v, want the name of the type", err)
	}
}
