package idemddbtest_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// TestSizes fills random items up to what is 1,024 bytes by our count, and one more: the real engine must charge 1 and 2 units.
func TestSizes(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	rapid.Check(t, func(t *rapid.T) {
		g := &generator{T: t, pair: p}
		it := attributes{"pk": s("size"), "a": g.value(0), "b": g.value(0), "n": g.number(), "l": g.typical("l")}
		it, err := idemddbtest.Adopt(it)
		if err != nil {
			t.Skip("drew an invalid value")
		}
		room := 1024 - idemddbtest.ItemSize(it) - len("pad")
		if room < 0 {
			t.Skip("drew a large value")
		}
		for units := 1.0; units <= 2; units++ {
			it["pad"] = s(strings.Repeat("x", room+int(units)-1))
			put := &dynamodb.PutItemInput{TableName: &p.simple, Item: it, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal}
			ask(p.theirs, &dynamodb.DeleteItemInput{TableName: &p.simple, Key: attributes{"pk": it["pk"]}})
			if got := ask(p.theirs, put); len(got.Units) != 1 || got.Units[0] != units {
				t.Fatalf("%s: the real engine charges %v, want %v", show(it), got.Units, units)
			}
		}
	})
}

func TestWriteUnitsBeginAnewAtEachKilobyte(t *testing.T) {
	t.Parallel()

	for size, want := range map[int]int{0: 1, 1023: 1, 1024: 1, 1025: 2, 2049: 3} {
		it := attributes{}
		if size > 0 {
			it["a"] = s(strings.Repeat("x", size-len("a")))
		}

		if got := idemddbtest.WriteUnits(it); got != want {
			t.Errorf("%d bytes: got %v units, want %v", size, got, want)
		}
	}
}
