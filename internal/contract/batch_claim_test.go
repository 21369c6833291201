package contract

import (
	"testing"
	"testing/synctest"

	"github.com/idemddb/go-idemddb/internal/checks/audited"
)

// How many requests the writes share depends on how soon after each other they come. In a bubble they come at the same time.
func TestKeysThatAreFreeInDifferentWaysAreClaimedByOneRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tab := tables()[0]

		db := audited.Tables(t, nil, tab.schema)

		h := newHarness(t, db, tab)
		e := h.interceptedBatch(nil).(*batchInterceptor)
		h.claimFreeInDifferentWays(e)
		h.equal("requests", e.requests.Load(), int64(1))
		h.equal("writes", e.writes.Load(), int64(6))
	})
}
