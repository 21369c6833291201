package idemddb_test

import "fmt"

// IDEMDDB_DISABLED=1 in the environment would make it true: then every claim is won and nothing is sent.
func ExampleStore_Disabled() {
	store, _ := inMemory(nil)
	fmt.Println(store.Disabled())
	// Output: false
}
