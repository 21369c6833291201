package idemddb_test

import (
	"fmt"

	"github.com/idemddb/go-idemddb/idemddb"
)

// A key may hold what should not stand in a log. Its hash may.
func ExampleKeyHash() {
	fmt.Println(idemddb.KeyHash("iban-DE89370400440532013000"))
	// Output: sha256:swbz9zC7GG-U
}
