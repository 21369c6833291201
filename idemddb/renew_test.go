package idemddb_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

func TestWorkLongerThanItsLeaseKeepsTheKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, db := newStore(t, &idemddb.Options{Lease: 10 * time.Second})
		c := claim(t, s, "k")
		_, stop := c.Keep(t.Context())

		for range 12 {
			time.Sleep(7 * time.Second) // of the bubble

			if _, _, err := s.Claim(t.Context(), "k", nil); !errors.Is(err, idemddb.ErrInProgress) {
				t.Fatalf("got %v, want in progress", err)
			}
		}

		stop()

		if err := c.Complete(t.Context(), nil); err != nil {
			t.Fatal(err)
		}

		db.ResetRequests()
		time.Sleep(time.Hour)

		if n := len(db.Requests()); n != 0 {
			t.Errorf("%d requests after stop", n)
		}
	})
}

func TestShortWorkRenewsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, db := newStore(t, &idemddb.Options{Lease: 10 * time.Second})
		_, stop := claim(t, s, "k").Keep(t.Context())

		time.Sleep(5*time.Second - 1)
		stop()
		time.Sleep(time.Minute)

		if n := len(db.Requests()); n != 1 {
			t.Errorf("%d requests, want the claim", n)
		}
	})
}

func TestALeaseThatEndsWithTheContextIsNotRenewed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, db := newStore(t, &idemddb.Options{Lease: 10 * time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)

		defer cancel()

		c, _, err := s.Claim(ctx, "k", nil)
		if err != nil {
			t.Fatal(err)
		}

		work, stop := c.Keep(ctx)
		<-work.Done()
		stop()

		if n := len(db.Requests()); n != 1 {
			t.Errorf("%d requests, want the claim", n)
		}
	})
}

func TestALostClaimCancelsTheWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, db := newStore(t, &idemddb.Options{Lease: 10 * time.Second})
		c := claim(t, s, "k")
		work, stop := c.Keep(t.Context())

		defer stop()

		ahead, err := idemddb.New(db, "records", "test", &idemddb.Options{Now: func() time.Time { return time.Now().Add(time.Hour) }})
		if err != nil {
			t.Fatal(err)
		}

		claim(t, ahead, "k") // a clock that is wrong beyond all limits takes the key
		<-work.Done()

		fenced, ok := errors.AsType[*idemddb.FencedError](context.Cause(work))
		if !ok || fenced.Current != c.Fence()+1 {
			t.Errorf("cause: %v, want fenced", context.Cause(work))
		}

		if held, _ := idemddb.FromContext(work); held != c {
			t.Error("the context does not carry the claim")
		}
	})
}

func TestALeaseThatCannotBeRenewedCancelsTheWorkWhenItEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, db := newStore(t, &idemddb.Options{Lease: 10 * time.Second})
		begun := time.Now()
		work, stop := claim(t, s, "k").Keep(t.Context())

		defer stop()
		db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault { return idemddbtest.LostRequest })
		<-work.Done()

		if err := context.Cause(work); !errors.Is(err, idemddb.ErrFenced) {
			t.Errorf("cause: %v, want fenced", err)
		}

		if after := time.Since(begun); after < 9*time.Second || after > 11*time.Second {
			t.Errorf("cancelled after %v, want the lease's 10s", after)
		}
	})
}

func TestARenewalThatFailsAtFirstIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, db := newStore(t, &idemddb.Options{Lease: 10 * time.Second})
		work, stop := claim(t, s, "k").Keep(t.Context())

		defer stop()
		db.Inject(idemddbtest.LostRequest, idemddbtest.AccessDenied, idemddbtest.Throttle, idemddbtest.LostReply)
		time.Sleep(time.Minute)

		if work.Err() != nil {
			t.Errorf("cancelled: %v", context.Cause(work))
		}
	})
}

func TestStopEndsARenewalUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, db := newStore(t, &idemddb.Options{Lease: 10 * time.Second})
		c := claim(t, s, "k")
		_, stop := c.Keep(t.Context())

		db.Inject(idemddbtest.LateReply) // the renewal hangs
		time.Sleep(5*time.Second + 10*time.Millisecond)

		begun := time.Now()

		stop()

		if waited := time.Since(begun); waited > 0 {
			t.Errorf("stop took %v", waited)
		}

		if err := c.Release(t.Context(), nil); err != nil {
			t.Fatal(err)
		}

		claim(t, s, "k")
	})
}
