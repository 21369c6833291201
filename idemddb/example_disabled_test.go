package idemddb_test

import "fmt"

// With IDEMDDB_DISABLED=1 in the environment it would be true: every claim would be won, and no request sent.
func ExampleStore_Disabled() {
	store, _ := inMemory(nil)
	fmt.Println(store.Disabled())
	// Output: false
}
