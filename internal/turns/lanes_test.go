package turns_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/internal/turns"
)

func TestMessagesThatShareANameAreInOneLane(t *testing.T) {
	t.Parallel()

	// Each message stands as its names, or as "-" if it has none.
	for name, c := range map[string]struct{ messages, want string }{
		"none":                               {"", ""},
		"no message shares a name":           {"a b c", "a | b | c"},
		"messages without a name":            {"- - a", "- | - | a"},
		"two share one":                      {"a b a c b", "a a | b b | c"},
		"two share both":                     {"ax b ax", "ax ax | b"},
		"one between two shares one of each": {"a x b ax x", "a x ax x | b"},
		"one between three joins them all":   {"a b c abc c", "a b c abc c"},
		"a lane that joins an earlier one":   {"a b bc c ac", "a b bc c ac"},
		"joined one by one from the end":     {"d cd bc ab a", "d cd bc ab a"},
		"two that are joined and one beside": {"a z b z ab", "a b ab | z z"},
	} {
		lanes := turns.Lanes(strings.Fields(c.messages), func(m string) []string {
			return strings.Split(strings.Trim(m, "-"), "")
		})

		var texts []string
		for _, lane := range lanes {
			texts = append(texts, strings.Join(lane, " "))
		}

		if diff := cmp.Diff(c.want, strings.Join(texts, " | ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
