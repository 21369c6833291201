package lambdawrap_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// layer is an envelope of one kind as a service or a program puts it around a message, and what opens it.
type layer struct {
	open lambdawrap.EnvelopeFunc
	id   func(number int) string                                         // that the envelope with this number has; nil for none
	seal func(t testing.TB, objects shelf, number int, in string) string // "" where it cannot hold what stands inside
}

// layers returns each kind of envelope, over a bucket.
func layers(objects shelf) map[string]layer {
	return map[string]layer{
		"SNS": {lambdawrap.SNS, func(n int) string { return fmt.Sprint("sns-", n) }, func(t testing.TB, _ shelf, n int, in string) string {
			t.Helper()

			if !utf8.ValidString(in) {
				return ""
			}

			return notification(t, fmt.Sprint("sns-", n), in)
		}},
		"EventBridge": {lambdawrap.EventBridge, func(n int) string { return fmt.Sprint("eb-", n) }, func(_ testing.TB, _ shelf, n int, in string) string {
			if !strings.HasPrefix(in, "{") {
				return ""
			}

			return fmt.Sprintf(`{"id":"eb-%d","source":"s","detail-type":"d","time":"t","account":"a","region":"r","detail":%s}`, n, in)
		}},
		"S3Pointer": {lambdawrap.S3Pointer(objects), func(n int) string { return fmt.Sprint("b/k-", n) }, func(_ testing.TB, objects shelf, n int, in string) string {
			objects[fmt.Sprint("b/k-", n)] = in

			return strings.Replace(pointerTo, `"k"`, fmt.Sprintf(`"k-%d"`, n), 1)
		}},
		"Base64": {lambdawrap.Base64, nil, func(_ testing.TB, _ shelf, _ int, in string) string { return in64(in) }},
		"Gzip":   {lambdawrap.Gzip, nil, func(t testing.TB, _ shelf, _ int, in string) string { t.Helper(); return zipped(t, in) }},
	}
}

// Up to four envelopes stand inside of each other, in every order that the services allow, also two of one kind. The message inside comes out as it
// was put in, with the id of the innermost envelope that has one. A chain in any other order opens something else or says that it never will.
func TestAChainOpensEnvelopesInEveryOrder(t *testing.T) {
	t.Parallel()

	names := []string{"SNS", "EventBridge", "S3Pointer", "Base64", "Gzip"}
	orders := [][]string{nil}

	for from := 0; len(orders[from]) < 4; from++ {
		for _, name := range names {
			orders = append(orders, append(slices.Clone(orders[from]), name))
		}
	}

	opened := 0

	for _, order := range orders {
		if openedInOrder(t, order) {
			opened++
		}
	}

	if opened < 200 {
		t.Errorf("%d of %d orders were tried", opened, len(orders))
	}
}

// openedInOrder tries one order, the outermost first, and reports whether there can be such a message in a queue.
func openedInOrder(t *testing.T, order []string) bool {
	t.Helper()

	objects := shelf{}
	kinds := layers(objects)
	want := plain{Body: `{"x":"é"}`}
	body := want.Body

	for number, name := range slices.Backward(order) {
		if body = kinds[name].seal(t, objects, number, body); body == "" {
			return false
		}

		if kinds[name].id != nil && want.ID == "" {
			want.Name, want.ID = name, kinds[name].id(number)
		}
	}

	if !utf8.ValidString(body) {
		return false
	}

	chain := func(order []string) lambdawrap.EnvelopeFunc {
		var all []lambdawrap.EnvelopeFunc
		for _, name := range order {
			all = append(all, kinds[name].open)
		}

		return lambdawrap.Chain(all...)
	}

	opened, err := chain(order).Open(t.Context(), arrived(body))
	if diff := cmp.Diff([]plain{want}, plainOf(opened)); diff != "" || err != nil {
		t.Errorf("%v: %v\n%s", order, err, diff)
	}

	backward := slices.Clone(order)
	slices.Reverse(backward)

	if _, err := chain(backward).Open(t.Context(), arrived(body)); err != nil && !errors.Is(err, lambdawrap.ErrNoKey) {
		t.Errorf("%v, opened in the order %v: %v", order, backward, err)
	}

	return true
}
