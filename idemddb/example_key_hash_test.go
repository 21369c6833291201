package idemddb_test

import (
	"fmt"

	"github.com/idemddb/go-idemddb/idemddb"
)

// A key may hold what should not stand in a log. Its hash may.
func ExampleEvent_KeyHash() {
	fmt.Println(idemddb.Event{Key: "iban-DE89370400440532013000"}.KeyHash())
	// Output: sha256:swbz9zC7GG-U
}
