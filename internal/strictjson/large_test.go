package strictjson_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// order returns a body of about 256 KB, of which the key is a few bytes.
func order() string {
	items := make([]string, 2400)
	for i := range items {
		items[i] = fmt.Sprintf(`{"id":"item-%d","amount":%d.50,"currency":"EUR","tags":["a","b"],"note":"some text of a customer"}`, i, i)
	}

	return `{"items":[` + strings.Join(items, ",") + `],"id":"p-1"}`
}

func TestTheKeyOfALargeBodyDecodesNothingElse(t *testing.T) {
	text, paths := order(), mustParse(t, "id", "items[2399].id")

	got := testing.AllocsPerRun(10, func() {
		if key, err := keyOf(text, paths); key != `#["p-1","item-2399"]` || err != nil {
			t.Errorf("got %s, %v", key, err)
		}
	})
	if got > 100 {
		t.Errorf("it took %.0f allocations", got)
	}
}

// BenchmarkKey compares with decoding the same body.
func BenchmarkKey(b *testing.B) {
	text, paths := order(), mustParse(b, "id")

	b.Run("key", func(b *testing.B) {
		for b.Loop() {
			if _, err := keyOf(text, paths); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decoded", func(b *testing.B) {
		for b.Loop() {
			var order struct{ ID string }
			if err := json.Unmarshal([]byte(text), &order); err != nil {
				b.Fatal(err)
			}
		}
	})
}
