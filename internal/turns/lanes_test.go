package turns_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/internal/turns"
)

func TestMessagesThatShareANameAreInOneLane(t *testing.T) {
	t.Parallel()

	// Each message stands as its name and its number, or as "-" and its number if it has none.
	for name, c := range map[string]struct{ messages, want string }{
		"none":                      {"", ""},
		"no message shares a name":  {"a1 b2 c3", "a1 | b2 | c3"},
		"messages without a name":   {"-1 -2 a3", "-1 | -2 | a3"},
		"two share one":             {"a1 b2 a3 c4 b5", "a1 a3 | b2 b5 | c4"},
		"one without a name beside": {"a1 -2 a3 -4", "a1 a3 | -2 | -4"},
	} {
		lanes := turns.Lanes(strings.Fields(c.messages), func(m string) string { return strings.Trim(m, "-0123456789") })

		var texts []string
		for _, lane := range lanes {
			texts = append(texts, strings.Join(lane, " "))
		}

		if diff := cmp.Diff(c.want, strings.Join(texts, " | ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
