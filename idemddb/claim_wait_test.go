package idemddb_test

import (
	"context"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

func TestAClaimWaitsNoLongerThanItsLimitAndItsContext(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		claim(f, f.store, "k")
		f.takes(time.Second, func() {
			_, _, err := f.store.Claim(f.Context(), "k", &idemddb.ClaimOptions{Wait: time.Second})
			is(f, err, idemddb.ErrInProgress)
		})

		ctx := within(f, time.Second)
		f.takes(time.Second, func() {
			_, _, err := f.store.Claim(ctx, "k", &idemddb.ClaimOptions{Wait: time.Minute})
			is(f, err, idemddb.ErrInProgress)
			is(f, err, context.DeadlineExceeded)
		})
	})
}

func TestAWaitingClaimTakesOverWhenTheLeaseEnds(t *testing.T) {
	t.Parallel()
	eachWay(t, &idemddb.Options{Lease: 2 * time.Second}, func(f *fixture, claimKey claimer) {
		claim(f, f.store, "k")

		c, rec, err := claimKey(f.Context(), "k", &idemddb.ClaimOptions{Wait: time.Minute})
		if c == nil || !c.Takeover() {
			f.Errorf("got record %v, error %v, want a takeover", rec, err)
		}
	})
}
