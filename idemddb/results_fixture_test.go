package idemddb_test

import (
	"bytes"
	"context"

	"github.com/idemddb/go-idemddb/internal/contract"
)

type shelf = contract.Shelf

// large is a result that is kept in Options.Results by default. It is JSON, so that Do can decode it.
func large(letter string) []byte {
	return []byte(`"` + string(bytes.Repeat([]byte(letter), 33<<10)) + `"`)
}

// anyLarge returns a function for Do whose value is stored as large.
func anyLarge(letter string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) {
		b := large(letter)

		return string(b[1 : len(b)-1]), nil
	}
}
