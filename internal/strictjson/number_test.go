package strictjson_test

import (
	"encoding/json"
	"math/big"
	"regexp"
	"testing"
)

func TestEqualNumbersHaveOneKey(t *testing.T) {
	t.Parallel()

	for _, spellings := range [][]string{
		{"1", "1.0", "1e0", "1E+00", "100e-2", "0.1e1", "0.0001e4", "1.000000000000000000000000"},
		{"0", "-0", "0.0", "-0e0", "0e10", "-0.00E-99999999999999999999999", "0e9999999999999999999999"},
		{"-1.5", "-15e-1", "-0.15E1", "-1.50"},
		{"9007199254740993", "9007199254740993.0", "900719925474099300e-2", "9.007199254740993e15"},
		{"1e21", "1000000000000000000000", "0.001e24"},
		{"1e400", "10e399", "0.1e401"},
	} {
		for _, s := range spellings {
			if got, want := numberKey(t, s), numberKey(t, spellings[0]); got != want {
				t.Errorf("%s has the key %s, and %s has %s", s, got, spellings[0], want)
			}
		}
	}
}

// FuzzNumber compares keys with math/big: a key is the number, and equal numbers have one key.
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
			return // It is no number, or one that math/big would need long for.
		}

		keyA, keyB := numberKey(t, a)[1:], numberKey(t, b)[1:]
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
		// Where float64 is enough, the key has the spelling of encoding/json and JavaScript, so that it can be made elsewhere, too.
		if f, exact := ratA.Float64(); exact && len(keyA) <= 15 {
			if want, err := json.Marshal(f); err != nil || string(want) != keyA {
				t.Errorf("the key of %s is %s, encoding/json writes %s, %v", a, keyA, want, err)
			}
		}
	})
}

func numberKey(t testing.TB, number string) string {
	t.Helper()

	return mustKey(t, "["+number+"]", "[0]")
}
