package idemddb_test

import (
	"context"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

func TestAWaitingClaimGetsTheRecordOfAnOwnerThatCompletesInTime(t *testing.T) {
	t.Parallel()
	eachWay(t, nil, func(f *fixture, claimKey claimer) {
		c := claim(f, f.store, "k")

		go func() {
			<-time.After(time.Second)
			must(f, c.Complete(f.Context(), []byte("done")))
		}()

		f.requests()

		_, rec, err := claimKey(f.Context(), "k", &idemddb.ClaimOptions{Wait: 2 * time.Second})
		if err != nil || string(rec.Result) != "done" {
			f.Errorf("got %v, %v, want the record", rec, err)
		}

		if n := len(f.requests()); n > 20 {
			f.Errorf("%d requests for a second of waiting", n)
		}
	})
}

func TestAClaimWaitsNoLongerThanItsLimitAndItsContext(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		claim(f, f.store, "k")
		f.takes(time.Second, func() {
			_, _, err := f.store.Claim(f.Context(), "k", &idemddb.ClaimOptions{Wait: time.Second})
			is(f, err, idemddb.ErrInProgress)
		})

		ctx, cancel := context.WithTimeout(f.Context(), time.Second)
		defer cancel()

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
