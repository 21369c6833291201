package contract

import (
	"testing"
	"testing/synctest"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// How many requests the writes share depends on how soon after each other they come. In a bubble they come at the same time.
func TestKeysThatAreFreeInDifferentWaysAreClaimedByOneRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tab := tables()[0]

		db := idemddbtest.New(nil)
		if _, err := db.CreateTable(t.Context(), tab.schema); err != nil {
			t.Fatal(err)
		}

		h := newHarness(t, db, tab)
		e := h.interceptedBatch(nil).(*batchInterceptor)
		h.claimFreeInDifferentWays(e)
		h.equal("requests", e.requests.Load(), int64(1))
		h.equal("writes", e.writes.Load(), int64(6))
	})
}
