package idemddb_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/idemddb"
)

// Keys are stored: these texts must stay as they are.
func TestTextKey(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct{ text, want string }{
		"a string is its own key":                        {"p-1", "p-1"},
		"a # at the beginning is doubled":                {"#1", "##1"},
		"two of them are three":                          {"##1", "###1"},
		"a # alone is two":                               {"#", "##"},
		"a # further on stays alone":                     {"p#1", "p#1"},
		"digits are not a number":                        {"123", "123"},
		"quotes, white space and controls stay":          {"\"a\" \n\x00é", "\"a\" \n\x00é"},
		"what looks like a digest is the Store's affair": {"sha256:x", "sha256:x"},
		"the empty string stays empty, and is no key":    {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if diff := cmp.Diff(test.want, idemddb.TextKey(test.text)); diff != "" {
				t.Errorf("key (-want +got):\n%s", diff)
			}
		})
	}
}
