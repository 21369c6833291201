package idemddb_test

import (
	"fmt"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

// Messages show the hash of the key. The key itself stands in a field.
func ExampleInProgressError_Error() {
	fmt.Println(&idemddb.InProgressError{Key: "payment-1", Until: noon.Add(30 * time.Second)})
	// Output: idemddb: key sha256:a-IBemZtKSDe is in progress until 2026-01-02T12:00:30Z
}

// The fencing tokens show who has the key.
func ExampleFencedError_Error() {
	fmt.Println(&idemddb.FencedError{Key: "payment-1", Held: 7, Current: 8})
	fmt.Println(&idemddb.FencedError{Key: "payment-1", Held: 7, Current: 8, Record: &idemddb.Record{Fence: 8}})
	fmt.Println(&idemddb.FencedError{Key: "payment-1", Held: 7, Current: 7})
	fmt.Println(&idemddb.FencedError{Key: "payment-1", Held: 7, Current: 0})
	// Output:
	// idemddb: key sha256:a-IBemZtKSDe: claim with fencing token 7 is fenced, the key has fencing token 8 now
	// idemddb: key sha256:a-IBemZtKSDe: claim with fencing token 7 is fenced, completed with fencing token 8
	// idemddb: key sha256:a-IBemZtKSDe: claim with fencing token 7 is fenced, it was settled before
	// idemddb: key sha256:a-IBemZtKSDe: claim with fencing token 7 is fenced, its record is gone
}

func ExampleFailedError_Error() {
	fmt.Println(&idemddb.FailedError{Key: "payment-1", Cause: "account is closed", Attempts: 2})
	// Output: idemddb: key sha256:a-IBemZtKSDe failed for good (attempts: 2): account is closed
}
