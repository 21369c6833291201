package idemddbtest_test

import (
	"encoding/json"
	"regexp"
)

// long texts are there for their length.
var long = regexp.MustCompile(`(xxxx|kkkk)[xk]+`)

// show prints a request or an answer with the attribute values in it, which %v shows as pointers.
func show(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}

	return long.ReplaceAllString(string(b), "${1}…")
}
