package idemddb_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// linger is how long a write waits for others, at most.
const linger = 200 * time.Microsecond

func TestWritesAtOnceAreOneRequest(t *testing.T) {
	t.Parallel()

	for name, settle := range settlements {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(f *fixture) {
				claims := f.claims(10)
				f.takes(0, func() { f.succeed(claims, func(c *idemddb.Claim) error { return settle(f.Context(), c) }) })
				f.want("UPDATE×10")
			})
		})
	}
}

func TestAClaimLeavesItsBatchWithItsFirstSettlement(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		claims := f.claims(4)
		<-time.After(time.Second)

		f.takes(linger, func() { must(f, claims[0].Extend(f.Context())) }) // this is none
		f.takes(linger, func() { is(f, claims[1].Complete(f.Context(), make([]byte, 6_500_000)), idemddb.ErrTooLarge) })

		for range 3 {
			f.complete(claims[2])
		}

		f.takes(linger, func() { f.complete(claims[3]) }) // claims[0] is still open
		f.takes(0, func() { f.complete(claims[0]) })
		f.isIdle()
	})
}

func TestAResultAbove64KBIsASingleRequest(t *testing.T) {
	t.Parallel()
	bubbleOn(t, nil, withoutGetItem, func(f *fixture) {
		size := func(c *idemddb.Claim) int { return 64<<10 + len(c.Key()) - 1 } // a key of two figures has one byte more

		f.succeed(f.claims(12), func(c *idemddb.Claim) error { return c.Complete(f.Context(), make([]byte, size(c))) })

		f.wantInAnyOrder("UPDATE×10", "UpdateItem", "UpdateItem")
		f.replayed(12)
	})
}

func TestAtMostEightRequestsAreUnderWay(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		claims := f.claims(260)

		var running, most atomic.Int64

		f.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
			if n := running.Add(1); n > most.Load() {
				most.Store(n)
			}

			<-time.After(3 * time.Millisecond)
			running.Add(-1)

			return idemddbtest.None
		})

		// Ten full requests, eight at a time, and one for the rest.
		f.takes(6*time.Millisecond, func() { f.complete(claims...) })

		f.wantInAnyOrder(append([]string{"UPDATE×10"}, slices.Repeat([]string{"UPDATE×25"}, 10)...)...)

		if n := most.Load(); n != 8 {
			f.Errorf("%d requests at a time, want 8", n)
		}

		f.replayed(260)
	})
}

func TestAKeyNeverStandsTwiceInARequest(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		claims := f.claims(5)
		f.slow(time.Millisecond)
		<-time.After(time.Second)

		var all sync.WaitGroup

		for _, c := range claims {
			for range 3 {
				all.Go(func() {
					if err := c.Extend(f.Context()); err != nil && !errors.Is(err, idemddb.ErrFenced) {
						f.Error(err)
					}
				})
			}

			all.Go(func() { f.complete(c) })
		}

		all.Wait()

		statements := 0
		for _, r := range f.db.Requests() {
			statements += max(1, len(r.Items))
		}

		if statements != 20 {
			f.Errorf("%d writes, want 20", statements)
		}

		f.noKeyTwice()
		f.replayed(5)
	})
}

// A refused renewal shows that the claim is lost. Releasing it then costs no request, and the batch does not wait for it any
// more.
func TestALostClaimThatIsReleasedDelaysNoOther(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		claims := f.claims(2)

		claim(f.T, ahead(f.T, f.db), "0")
		<-time.After(time.Second)

		for _, err := range []error{claims[0].Extend(f.Context()), claims[0].Release(f.Context(), nil)} {
			if !errors.Is(err, idemddb.ErrFenced) {
				f.Errorf("got %v, want fenced", err)
			}
		}

		f.takes(0, func() { f.complete(claims[1]) })
	})
}

func TestRenewalsOfManyClaimsShareRequests(t *testing.T) {
	t.Parallel()
	bubble(t, &idemddb.Options{Lease: 10 * time.Second}, func(f *fixture) {
		claims := f.claims(10)
		stops := make([]func(), len(claims))

		for i, c := range claims {
			_, stops[i] = c.Keep(f.Context())
		}

		<-time.After(time.Minute + time.Second) // the leases are renewed every 5 s

		for _, stop := range stops {
			stop()
		}

		if got, want := f.requests(), slices.Repeat([]string{"UPDATE×10"}, 12); !slices.Equal(got, want) {
			f.Errorf("requests: got %q, want 12 of all 10", got)
		}

		for _, c := range claims {
			if left := time.Until(c.Deadline()); left < 5*time.Second {
				f.Errorf("key %s has %v left", c.Key(), left)
			}
		}

		f.takes(0, func() { f.complete(claims...) })
		f.want("UPDATE×10")
	})
}

func TestWhatClaimsOfABatchCost(t *testing.T) {
	t.Parallel()

	finish := func(f *fixture) { f.complete(f.claims(10)...) }
	release := func(f *fixture) {
		f.succeed(f.claims(10), func(c *idemddb.Claim) error { return c.Release(f.Context(), nil) })
	}

	for _, c := range []struct {
		name        string
		before      func(*fixture)
		n           int
		redelivered bool
		units       int
		want        []string
	}{
		{"10 new keys", nil, 10, false, 10, []string{"INSERT×10"}},
		{"10 duplicates that come as a first delivery", finish, 10, false, 20, []string{"INSERT×10", "UPDATE×10"}},
		{"10 duplicates that come as a redelivery", finish, 10, true, 10, []string{"UPDATE×10"}},
		{"10 released keys that come as a redelivery", release, 10, true, 10, []string{"UPDATE×10"}},
		{"10 new keys that come as a redelivery", nil, 10, true, 20, []string{"UPDATE×10", "INSERT×10"}},
		{"10 new keys and 10 duplicates", finish, 20, false, 30, []string{"INSERT×20", "UPDATE×10"}},
		{"1 new key", nil, 1, false, 1, []string{"UpdateItem"}},
		{"1 duplicate", finish, 1, false, 1, []string{"UpdateItem"}},
		{"2 new keys", nil, 2, false, 2, []string{"INSERT×2"}},
		{"25 new keys", nil, 25, false, 25, []string{"INSERT×25"}},
		{"60 new keys", nil, 60, false, 60, []string{"INSERT×25", "INSERT×25", "INSERT×10"}},
		{"no key", nil, 0, false, 0, []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(f *fixture) {
				if c.before != nil {
					c.before(f)
				}

				f.slow(time.Millisecond) // 60 keys then fill two requests that are under way at the same time
				f.requests()
				f.takes(time.Duration(min(2, len(c.want)))*time.Millisecond, func() { f.claimAll(c.n, c.redelivered) })

				units := 0
				for _, r := range f.db.Requests() {
					units += r.WriteUnits
				}

				if units != c.units {
					f.Errorf("%d WCU, want %d", units, c.units)
				}

				f.wantInAnyOrder(c.want...)
			})
		})
	}
}

func TestAForeignRecordIsClaimedByASingleRequest(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		f.succeed(f.claims(3), func(c *idemddb.Claim) error { return c.Release(f.Context(), nil) })

		foreign := f.db.Items("records")[1]
		delete(foreign, "att")

		put(f, f.db, foreign)
		f.requests()

		var claims []*idemddb.Claim

		f.takes(0, func() { claims = won(f.T, f.claimAll(3, true)) })
		f.want("UPDATE×3", "UpdateItem")

		if claims[0].Attempt() != 2 || claims[1].Attempt() != 1 {
			f.Errorf("attempts %d and %d", claims[0].Attempt(), claims[1].Attempt())
		}

		f.complete(claims...)
		f.replayed(3)
	})
}

// Each write waits for the first try of the request before it, not for its retries.
func TestAClaimCanBeSettledWhileOthersHaveNoAnswer(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		f.db.InterceptStatements(forKey("1", idemddbtest.Throttle))
		f.db.Intercept(forKey("1", idemddbtest.Throttle))

		ctx := within(f, time.Second)
		var all sync.WaitGroup

		f.batch.Expect(3)

		for _, key := range numbered(3) {
			all.Go(func() {
				begun := time.Now()

				c, rec, err := f.batch.Claim(ctx, key, nil)
				if key == "1" {
					if err == nil {
						f.Error("a throttled key was claimed")
					}

					return
				}

				if c == nil {
					f.Error("no claim:", rec, err)

					return
				}

				f.complete(c)

				if took := time.Since(begun); took > linger {
					f.Errorf("key %s was done after %v, want at most %v", key, took, linger)
				}
			})
		}

		all.Wait()
	})
}
