package lambdawrap_test

import (
	"encoding/json"
	"errors"
	"math/big"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// FuzzBody: no body panics, a body has one key, and the key, being the canonical JSON of the body, has itself as its key.
func FuzzBody(f *testing.F) {
	for _, body := range []string{
		``, `null`, `0`, `{"id":"p-1","n":1e5}`, `{"b":[1,{"a":-0.0}],"a":"\ud83d\ude00"}`, `{"id":"\ud800"}`, "\"\xff\"", `{"a":1,"a":2}`,
		`9007199254740993`, `1e999999999999999999`, `[[[[]]]]`, `{"id":1} x`, `"\u2028<&>"`, `[1e-7,1e21,0.1,123456789012345678]`,
	} {
		f.Add(body)
	}

	whole, list := mustBody(f, "@"), mustBody(f, "id", "@", "a[*].b", "[0]")
	f.Fuzz(func(t *testing.T, body string) {
		key, err := whole(events.SQSMessage{Body: body})
		if err != nil {
			if !errors.Is(err, lambdawrap.ErrNoKey) || key != "" {
				t.Fatalf("key %q, error %v", key, err)
			}

			return
		}

		if !json.Valid([]byte(key)) {
			t.Errorf("key %q is not JSON", key)
		}

		if again := mustKey(t, whole, events.SQSMessage{Body: key}); again != key {
			t.Errorf("the key of the key %q is %q", key, again)
		}

		checkReencoding(t, whole, body, key)
		first, errFirst := list(events.SQSMessage{Body: body})

		second, errSecond := list(events.SQSMessage{Body: key})
		if first != second || (errFirst == nil) != (errSecond == nil) {
			t.Errorf("the body has the key %q, %v; its canonical form %q, %v", first, errFirst, second, errSecond)
		}
	})
}

// checkReencoding passes the body through another JSON encoder.
func checkReencoding(t *testing.T, key lambdawrap.KeyFunc, body, want string) {
	t.Helper()

	decoder := json.NewDecoder(strings.NewReader(body))
	decoder.UseNumber()

	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("encoding/json refuses a body that has a key: %v", err)
	}

	again, err := json.MarshalIndent(value, " ", "\t")
	if err != nil {
		t.Fatal(err)
	}

	if got := mustKey(t, key, events.SQSMessage{Body: string(again)}); got != want {
		t.Errorf("encoded again as %s, the key is %q, want %q", again, got, want)
	}
}

// FuzzExpression: an expression is refused, or gives a body one key, in whatever order Go walks its maps.
func FuzzExpression(f *testing.F) {
	for _, expression := range []string{
		"id", "a.b[0]", "keys(@)", "*", "a.[*]", "[*]", "'keys'(@)", "sort(items[].n)", "items[?n > `1`]", "{a: @, b: 'x'}", "merge(@, {a: `1`})",
		"to_string(@)", "max_by(items, &n)", "[::-1]", "a | [0] || @ && !b", "contains(items, `1`)", "not_null(a)[]", `"a\"b".*`, `'\'' || *`,
	} {
		f.Add(expression, `{"id":1,"a":{"b":[1,2],"c":3,"d":"x"},"items":[{"n":3},{"n":1}],"n":9007199254740993}`)
	}

	f.Fuzz(func(t *testing.T, expression, body string) {
		key, err := lambdawrap.Body(expression)
		if err != nil {
			return
		}

		want, wantErr := key(events.SQSMessage{Body: body})
		for range 5 {
			got, err := key(events.SQSMessage{Body: body})
			if got != want || (err == nil) != (wantErr == nil) {
				t.Fatalf("%s has the keys %q, %v and %q, %v", expression, want, wantErr, got, err)
			}
		}
	})
}

// FuzzNumber compares the key of a number with math/big: the same number, in the one spelling.
func FuzzNumber(f *testing.F) {
	for _, number := range []string{
		"0", "-0.0e1", "1", "1.50", "-12e-3", "9007199254740993", "1e21", "1e-7", "999999999999999999999.9", "0.000001", "1e300", "5e-324", "1.7976931348623157e308",
	} {
		f.Add(number, "1")
	}

	f.Add("1.0", "100e-2")
	f.Add("9007199254740993", "9007199254740992")

	grammar := regexp.MustCompile(`^-?(0|[1-9][0-9]{0,400})(\.[0-9]{1,400})?([eE][+-]?[0-9]{1,3})?$`)

	f.Fuzz(func(t *testing.T, a, b string) {
		if !grammar.MatchString(a) || !grammar.MatchString(b) {
			return // not a number, or a large one
		}

		keyA, keyB := numberKey(t, a), numberKey(t, b)
		ratA, okA := new(big.Rat).SetString(a)
		ratB, okB := new(big.Rat).SetString(b)

		ratKey, okKey := new(big.Rat).SetString(keyA)
		if !okA || !okB || !okKey || !json.Valid([]byte(keyA)) {
			t.Fatalf("math/big cannot read %s, %s or %s", a, b, keyA)
		}

		if ratKey.Cmp(ratA) != 0 {
			t.Errorf("the key of %s is %s, another number", a, keyA)
		}

		if (keyA == keyB) != (ratA.Cmp(ratB) == 0) {
			t.Errorf("%s and %s have the keys %s and %s", a, b, keyA, keyB)
		}
		// As encoding/json and JavaScript write it, where float64 is enough, so that a key can be made elsewhere too.
		if f, exact := ratA.Float64(); exact && len(keyA) <= 15 {
			if want, err := json.Marshal(f); err != nil || string(want) != keyA {
				t.Errorf("the key of %s is %s, encoding/json writes %s, %v", a, keyA, want, err)
			}
		}
	})
}
