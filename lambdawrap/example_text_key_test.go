package lambdawrap_test

import (
	"fmt"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// A string is its own key. Only a '#' at its beginning is doubled, since it begins the keys of numbers and lists.
func ExampleTextKey() {
	fmt.Println(lambdawrap.TextKey("p-1"))
	fmt.Println(lambdawrap.TextKey("#123"))
	// Output:
	// p-1
	// ##123
}
