package idemddb_test

import (
	"fmt"

	"github.com/idemddb/go-idemddb/idemddb"
)

// A string is its own key. Only a '#' at its beginning is doubled, since it begins the keys of numbers and lists.
func ExampleTextKey() {
	fmt.Println(idemddb.TextKey("p-1"))
	fmt.Println(idemddb.TextKey("#123"))
	// Output:
	// p-1
	// ##123
}
