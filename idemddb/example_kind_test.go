package idemddb_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/idemddb/go-idemddb/idemddb"
)

// A wrapper of one's own counts what became of keys by the words that events have.
func ExampleKindOf() {
	store, _ := inMemory(nil)
	ctx := context.Background()

	if _, _, err := store.Claim(ctx, "p-1", nil); err != nil {
		fmt.Println(err)
	}

	_, _, err := store.Claim(ctx, "p-1", nil)
	fmt.Println(idemddb.KindOf(err))
	fmt.Println(idemddb.KindOf(errors.New("no route to host")) == "")
	// Output:
	// in_progress
	// true
}
