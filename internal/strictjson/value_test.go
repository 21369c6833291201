package strictjson_test

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Two random values have one key exactly if they are equal, in whatever way they are written.
func TestKeysAreEqualExactlyIfValuesAre(t *testing.T) {
	t.Parallel()

	paths := mustParse(t, "v[1]", "w[1]", "v[0]")

	rapid.Check(t, func(t *rapid.T) {
		texts, values := [2]string{}, [2][2]value{}

		for i := range texts {
			values[i] = [2]value{drawValue(t, 2), drawValue(t, 1)}
			if i == 1 && rapid.Bool().Draw(t, "same") {
				values[1] = values[0]
			}
			// The 0 fills each list, because a value that holds nothing is no key.
			texts[i] = fmt.Sprintf(`{"x":%q,"v":[0,[0,%s]],"w":[0,[0,%s]]}`, strconv.Itoa(i), spell(t, values[i][0]), spell(t, values[i][1]))
		}

		a, errA := keyOf(texts[0], paths)
		b, errB := keyOf(texts[1], paths)

		equal := values[0][0].equal(values[1][0]) && values[0][1].equal(values[1][1])
		if errA != nil || errB != nil || (a == b) != equal {
			t.Fatalf("%s and %s (equal: %t) have the keys %q, %v and %q, %v", texts[0], texts[1], equal, a, errA, b, errB)
		}
	})
}

// One path: a string, which is its own key, never has the key of another value.
func TestSinglePartsAreEqualExactlyIfValuesAre(t *testing.T) {
	t.Parallel()

	paths := mustParse(t, "v")

	rapid.Check(t, func(t *rapid.T) {
		texts, values := [2]string{}, [2]value{}

		for i := range texts {
			values[i] = drawValue(t, 1)
			if i == 1 && rapid.Bool().Draw(t, "a string of the first's key") {
				values[1] = value{kind: "string"}
				values[1].text, _ = keyOf(texts[0], paths)
			}

			texts[i] = fmt.Sprintf(`{"v":%s}`, spell(t, values[i]))
		}

		a, errA := keyOf(texts[0], paths)
		b, errB := keyOf(texts[1], paths)

		if errA == nil && errB == nil && (a == b) != values[0].equal(values[1]) {
			t.Fatalf("%s and %s have the keys %q and %q", texts[0], texts[1], a, b)
		}
	})
}

// value is a JSON value, compared without any of the code under test.
type value struct {
	kind     string
	text     string
	number   *big.Rat
	elements []value
	members  map[string]value
}

func (v value) equal(w value) bool {
	return v.kind == w.kind && v.text == w.text && (v.number == nil || v.number.Cmp(w.number) == 0) &&
		slices.EqualFunc(v.elements, w.elements, value.equal) && maps.EqualFunc(v.members, w.members, value.equal)
}

// drawValue draws from a small range, so that equal values are drawn often, with numbers on both sides of what float64 holds.
func drawValue(t *rapid.T, depth int) value {
	kinds := []string{"null", "true", "string", "number", "number"}
	if depth > 0 {
		kinds = append(kinds, "array", "object")
	}

	v := value{kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
	switch v.kind {
	case "string":
		v.text = rapid.SampledFrom([]string{"", "a", "1", "null", "é", "😀", `"`, "\x00", "\u2028", "[", ",", "#", "#1", "##1"}).Draw(t, "text")
	case "number":
		base := rapid.SampledFrom([]string{"0", "1", "10", "9007199254740992", "123456789012345678901234567890"}).Draw(t, "base")
		number, _ := new(big.Rat).SetString(base)
		number.Add(number, big.NewRat(rapid.Int64Range(-1, 1).Draw(t, "offset"), rapid.SampledFrom([]int64{1, 10, 1 << 20}).Draw(t, "fraction")))
		v.number = number
	case "array":
		for range rapid.IntRange(0, 2).Draw(t, "length") {
			v.elements = append(v.elements, drawValue(t, depth-1))
		}
	case "object":
		v.members = map[string]value{}
		for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"", "a", "b", "é", `"`}), rapid.ID).Draw(t, "names") {
			v.members[name] = drawValue(t, depth-1)
		}
	}

	return v
}

// spell writes a value in one of the ways in which JSON can write it.
func spell(t *rapid.T, v value) string {
	blank := rapid.SampledFrom([]string{"", "", " ", "\n\t", "\r "})

	text := v.kind
	switch v.kind {
	case "string":
		text = spellString(t, v.text)
	case "number":
		text = spellNumber(t, v.number)
	case "array":
		elements := make([]string, len(v.elements))
		for i, element := range v.elements {
			elements[i] = spell(t, element)
		}

		text = "[" + blank.Draw(t, "blank") + strings.Join(elements, ",") + "]"
	case "object":
		members := []string{}
		for _, name := range rapid.Permutation(slices.Sorted(maps.Keys(v.members))).Draw(t, "order") {
			members = append(members, blank.Draw(t, "blank")+spellString(t, name)+blank.Draw(t, "blank")+":"+spell(t, v.members[name]))
		}

		text = "{" + strings.Join(members, ",") + blank.Draw(t, "blank") + "}"
	}

	return blank.Draw(t, "blank") + text + blank.Draw(t, "blank")
}

func spellString(t *rapid.T, s string) string {
	var b strings.Builder
	b.WriteByte('"')

	for _, r := range s {
		switch {
		case r > 0xffff:
			fmt.Fprintf(&b, `\u%04x\u%04X`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		case r < 0x20 || r == '"' || rapid.Bool().Draw(t, "escape"):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}

	return b.String() + `"`
}

func spellNumber(t *rapid.T, number *big.Rat) string {
	shift := rapid.IntRange(-30, 30).Draw(t, "shift")

	scale := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(shift, -shift))), nil))
	if shift > 0 {
		scale.Inv(scale)
	}

	text := new(big.Rat).Mul(number, scale).FloatString(60) // exact: 20 digits of a fraction of 2^20, 30 of the shift
	if rapid.Bool().Draw(t, "short") {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}

	if number.Sign() == 0 && rapid.Bool().Draw(t, "negative") {
		text = "-" + text
	}

	if shift == 0 && rapid.Bool().Draw(t, "plain") {
		return text
	}

	return text + rapid.SampledFrom([]string{"e", "E"}).Draw(t, "e") + fmt.Sprintf(rapid.SampledFrom([]string{"%d", "%+d", "%03d"}).Draw(t, "format"), shift)
}
