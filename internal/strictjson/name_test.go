package strictjson_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/internal/strictjson"
)

func TestCheckRefusesNamesThatReadersTellApartDifferently(t *testing.T) {
	t.Parallel()

	many := make([]string, 40)
	for i := range many {
		many[i] = fmt.Sprintf(`"n%d":0`, i)
	}

	long := "{" + strings.Join(many, ",")

	for name, c := range map[string]struct{ text, want string }{
		"names that differ":                        {`{"id":1,"ids":2,"":3}`, ""},
		"the same name in two objects":             {`[{"id":1},{"ID":{"id":2}}]`, ""},
		"many names that differ":                   {long + `}`, ""},
		"one name twice":                           {`{"id":1,"id":2}`, "one name twice in an object; the second one ends at byte 12"},
		"an empty name twice":                      {`{"":1,"":2}`, "one name twice"},
		"one name twice, once with an escape":      {`{"id":1,"\u0069d":2}`, "one name twice"},
		"another case":                             {`{"id":1, "Id":2}`, "differ only in case; they end at bytes 5 and 13"},
		"another case, with an escape":             {`{"id":1,"\u0049d":2}`, "differ only in case"},
		"another case, deep":                       {`{"a":[0,{"b":{"id":1,"iD":2}}]}`, "differ only in case"},
		"another case, after a value of each":      {`{"id":"}\"]","x":[{}],"y":-1e5,"z":null,"ID":true}`, "differ only in case"},
		"another case of a letter that has two":    {`{"σ":1,"ς":2}`, "differ only in case"},
		"the Kelvin sign, which folds to k":        {"{\"k\":1,\"\u212a\":2}", "differ only in case"},
		"the long s, which folds to s":             {"{\"S\":1,\"\u017f\":2}", "differ only in case"},
		"one of many names twice":                  {long + `,"n7":1}`, "one name twice"},
		"one of many names in another case":        {long + `,"N7":1}`, "differ only in case"},
		"two of many names, both behind the limit": {long + `,"ü":1,"Ü":1}`, "differ only in case"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			switch _, err := strictjson.Read(c.text); {
			case c.want == "" && err != nil:
				t.Errorf("got %v, want no error", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

type (
	plain struct {
		ID     string `json:"paymentId"`
		Amount int
		Skip   string `json:"-"`
	}
	node struct {
		Name  string           `json:"name"`
		Next  *node            `json:"next"`
		All   []node           `json:"all"`
		By    map[string]plain `json:"by"`
		Fixed [1]plain         `json:"fixed"`
		Any   any              `json:"any"`
		Raw   json.RawMessage  `json:"raw"`
		When  time.Time        `json:"when"`
		Odd   string           `json:"a.b-c,omitempty"`
		Bad   string           `json:"bad,omitempty"`
	}
	inner  struct{ A, B string }
	tagged struct {
		A string `json:"B"`
	}
	embeds struct {
		inner
		*plain

		B string
	}
	clash struct {
		inner
		tagged
	}
)

// same demands that a value is decoded from a text exactly as encoding/json decodes it, because all names in it are exact.
type (
	Inner struct{ A string }
	Name  string
	Ring  struct {
		*Ring

		A string
	}
	decoder struct{ text string } // decodes itself
)

func (d *decoder) UnmarshalJSON(text []byte) error {
	d.text = string(text)

	return nil
}

func same[T any](t *testing.T, text string) {
	t.Helper()

	exact, err := strictjson.ShapeOf[T]().Exact(text)
	if err != nil {
		t.Fatal(err)
	}

	var want, got T

	errWant, errGot := json.Unmarshal([]byte(text), &want), json.Unmarshal([]byte(exact), &got)
	if !reflect.DeepEqual(want, got) || fmt.Sprint(errWant) != fmt.Sprint(errGot) {
		t.Errorf("%T from %s: got %+v, %v, want %+v, %v\n%s", got, text, got, errGot, want, errWant, exact)
	}
}

func TestExactNamesAreDecodedAsEncodingJSONDoes(t *testing.T) {
	t.Parallel()

	same[plain](t, ` { "paymentId" : "p-1" , "Amount" : 3, "Skip":"no", "-":"dash", "hidden":"no", "other":{"a":[1,{"b":2}]} } `)
	same[plain](t, `{"paymentId":7}`)
	same[*plain](t, `null`)
	same[[]plain](t, `[{"paymentId":"a"},null,{"Amount":2}]`)
	same[[]plain](t, `{"paymentId":"a"}`)
	same[map[string]*plain](t, `{"paymentid":{"paymentId":"a"},"x":null}`)
	same[any](t, `{"a":[1,"b",{"c":null}]}`)
	same[string](t, `"a"`)
	same[int](t, `1e2`)
	same[json.RawMessage](t, `{"a":[1 , 2]}`)
	same[node](t, `{"name":"a","next":{"name":"b","next":{"all":[{"name":"c"}]}},"by":{"x":{"paymentId":"d","Amount":1}},
		"fixed":[{"Amount":2},{"Amount":3}],"any":{"paymentid":1},"raw":{"x":[1]},"when":"2026-01-02T03:04:05Z","a.b-c":"odd","bad":"named"}`)
	same[embeds](t, `{"A":"a","B":"outer","paymentId":"p","Amount":4}`)
	same[clash](t, `{"A":"a","B":"b"}`)
	same[inner](t, `not json`)
	same[struct{ Next plain }](t, `{"Next":{"paymentId":"a"}}`)
	same[struct {
		Inner `json:"first"`
	}](t, `{"first":{"A":"a"}}`)
	same[struct{ Name }](t, `{"Name":"a"}`)
	same[struct {
		ID string `json:"id2"`
	}](t, `{"id2":"a"}`)
	same[Ring](t, `{"A":"a"}`)
	same[struct {
		inner
		Inner
	}](t, `{"A":"a"}`)
	same[struct{ All decoder }](t, `{"All":{"x":{"y":1}}}`)
	same[inner](t, `{"A":"a"} {"A":"b"}`)
	same[inner](t, ``)
}

func TestAMemberThatDiffersFromAFieldInCaseIsIgnored(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]node{
		`{"Name":"a"}`: {},
		`{"NAME":"a","next":{"name":"b","NEXT":{}}}`:               {Next: &node{Name: "b"}},
		`{"all":[{"nAme":"a"},{"name":"b"}]}`:                      {All: []node{{}, {Name: "b"}}},
		`{"by":{"PaymentID":{"paymentID":"x"}}}`:                   {By: map[string]plain{"PaymentID": {}}},
		`{"by":{"x":{"amount":1,"skip":"y"}}}`:                     {By: map[string]plain{"x": {}}},
		"{\"any\":{\"Name\":\"kept\"},\"An\\u0059\":1}"[:22] + "}": {Any: map[string]any{"Name": "kept"}},
		`{"n\u0041me":"a"}`:                                        {},
		`{"\u006eame":"a"}`:                                        {Name: "a"},
		`{",":1,",,,,":"a"}`:                                       {},
	} {
		exact, err := strictjson.ShapeOf[node]().Exact(text)
		if err != nil || len(exact) != len(text) {
			t.Errorf("%s: %v, %s", text, err, exact)
		}

		var got node
		if err := json.Unmarshal([]byte(exact), &got); err != nil {
			t.Errorf("%s: %v", exact, err)
		}

		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestExactRefusesWhatCheckRefuses(t *testing.T) {
	t.Parallel()

	for _, text := range []string{`{"name":"a","Name":"b"}`, `{"any":{"x":1,"X":2}}`, `{"other":[{"x":1,"x":2}]}`} {
		if _, err := strictjson.ShapeOf[node]().Exact(text); err == nil {
			t.Errorf("%s is not refused", text)
		}
	}
}

// FuzzExact compares with encoding/json: a name that Go's decoder takes for a field although it differs in case changes what is
// decoded, and nothing else does.
func FuzzExact(f *testing.F) {
	for _, text := range []string{
		`{"name":"a","next":{"name":"b"},"all":[{}],"by":{"x":{"Amount":1}},"any":[{}],"fixed":[{}],"other":1}`, `{"Name":"a"}`, `{"a":1,"A":2}`,
		`[]`, `null`, `{"":{}}`, `{"\ud800":1}`, "{\"\xff\":1}", `{"name":"\""}`,
	} {
		f.Add(text)
	}

	shape := strictjson.ShapeOf[node]()

	f.Fuzz(func(t *testing.T, text string) {
		exact, err := shape.Exact(text)
		if err != nil {
			return
		}

		if len(exact) != len(text) || json.Valid([]byte(exact)) != json.Valid([]byte(text)) {
			t.Fatalf("%q became %q", text, exact)
		}

		if lower := strings.ToLower(text); lower != text || exact != text {
			return
		}

		same[node](t, text)
	})
}

// No letter of a name is left over by which encoding/json would find the field.
func TestAMemberOfOneLetterThatDiffersFromAFieldInCaseIsIgnored(t *testing.T) {
	t.Parallel()

	exact, err := strictjson.ShapeOf[inner]().Exact(`{"a":"x","B":"y"}`)
	if err != nil {
		t.Fatal(err)
	}

	var got inner
	if err := json.Unmarshal([]byte(exact), &got); err != nil || got != (inner{B: "y"}) {
		t.Errorf("got %+v, %v from %s", got, err, exact)
	}
}
