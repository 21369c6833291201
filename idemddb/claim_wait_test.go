package idemddb_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
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

func TestAClaimWaitsNoLongerThanItsLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := newStore(t, nil)
		claim(t, s, "k")

		begun := time.Now()

		_, _, err := s.Claim(t.Context(), "k", &idemddb.ClaimOptions{Wait: time.Second})
		if !errors.Is(err, idemddb.ErrInProgress) || time.Since(begun) != time.Second {
			t.Errorf("got %v after %v, want in progress after 1s", err, time.Since(begun))
		}
	})
}

func TestAWaitingClaimEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := newStore(t, nil)
		claim(t, s, "k")

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()

		_, _, err := s.Claim(ctx, "k", &idemddb.ClaimOptions{Wait: time.Minute})
		is(t, err, idemddb.ErrInProgress)
		is(t, err, context.DeadlineExceeded)
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
