package idemddb_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// cached returns a Store with a cache and a clock, and a check of how many requests a step took.
func cached(t *testing.T, size int) (*idemddb.Store, *idemddbtest.Clock, func(what string, want int)) {
	t.Helper()

	clock := idemddbtest.NewClock(time.Date(2030, 1, 1, 0, 0, 0, 500_000_000, time.UTC))
	s, db := newStore(t, &idemddb.Options{Cache: size, Now: clock.Now, Retention: time.Hour})

	return s, clock, func(what string, want int) {
		t.Helper()

		if n := len(db.Requests()); n != want {
			t.Errorf("%s: %d requests, want %d", what, n, want)
		}

		db.ResetRequests()
	}
}

func TestWhatWasCompletedOrReplayedHereCostsNoRequest(t *testing.T) {
	t.Parallel()

	s, _, requests := cached(t, 10)
	must(t, claim(t, s, "k").Complete(t.Context(), []byte("done")))

	requests("first run", 2)

	first := replay(t, s, "k")
	first.Result[0] = 'X' // the caller has a copy

	if again := replay(t, s, "k"); string(again.Result) != "done" || again.Key != "k" {
		t.Errorf("got %q of %q", again.Result, again.Key)
	}

	if rec, err := s.Commit(t.Context(), "k", nil, make([]byte, 500<<10), idemddb.Effects{}); rec == nil || err != nil {
		t.Errorf("a commit got record %v, error %v", rec, err)
	}

	requests("replays", 0)
}

func TestACachedRecordEndsWithItsRetention(t *testing.T) {
	t.Parallel()

	s, clock, requests := cached(t, 10)
	must(t, claim(t, s, "k").Complete(t.Context(), nil))

	requests("first run", 2)
	clock.Advance(time.Hour + 499*time.Millisecond)
	replay(t, s, "k")
	requests("the last moment", 0)
	clock.Advance(time.Millisecond)
	claim(t, s, "k")
	requests("past it", 2)
}

// An earlier try of the completion was applied, and its answer was lost.
func TestACachedRecordEndsWithTheStoredOne(t *testing.T) {
	t.Parallel()
	bubble(t, &idemddb.Options{Lease: 10 * time.Second, Retention: 20 * time.Second, Cache: 10}, func(f *fixture) {
		claims := f.claims(2)
		f.db.Intercept(faultUntil(9*time.Second, idemddbtest.ServerErrorApplied, idemddbtest.LostRequest))
		f.complete(claims...)
		f.requests()

		uncached := storeOn(f, f.db, nil)

		for _, c := range claims {
			got := replay(f, f.store, c.Key())
			f.want() // the answer comes from the cache

			want := replay(f, uncached, c.Key())
			f.requests()

			if !got.ExpiresAt.Equal(want.ExpiresAt) || !got.CompletedAt.Equal(want.CompletedAt) {
				f.Errorf("cached %+v, stored %+v", got, want)
			}
		}
	})
}

// DynamoDB never accepted the completion, so the cache must not have it.
func TestACompletionThatIsFencedIsNotCached(t *testing.T) {
	t.Parallel()
	bubble(t, &idemddb.Options{Cache: 10}, func(f *fixture) {
		claims := f.claims(2)
		others := won(f, claimIn(f.Context(), ahead(f, f.db).Batch(), numbered(2), true))

		for _, err := range atOnce(claims, func(c *idemddb.Claim) error { return c.Complete(f.Context(), []byte("mine")) }) {
			is(f, err, idemddb.ErrFenced)
		}

		for _, a := range f.claimAll(2, true) {
			is(f, a.err, idemddb.ErrInProgress)
		}

		f.succeed(others, func(c *idemddb.Claim) error { return c.Complete(f.Context(), []byte("theirs")) })

		for _, key := range numbered(2) {
			if rec := replay(f, f.store, key); string(rec.Result) != "theirs" {
				f.Errorf("got %q, want the result that was accepted", rec.Result)
			}
		}
	})
}

func TestNothingButCompletedRecordsIsCached(t *testing.T) {
	t.Parallel()

	s, _, requests := cached(t, 10)
	c := claim(t, s, "k")

	for range 2 {
		if _, _, err := s.Claim(t.Context(), "k", nil); !errors.Is(err, idemddb.ErrInProgress) {
			t.Errorf("got %v, want in progress", err)
		}
	}

	requests("in progress", 3)

	must(t, c.Fail(t.Context(), nil))

	for range 2 {
		if _, _, err := s.Claim(t.Context(), "k", nil); !errors.Is(err, idemddb.ErrFailed) {
			t.Errorf("got %v, want failed", err)
		}
	}

	requests("failed", 3)
}

func TestACachedRecordKnowsItsFingerprint(t *testing.T) {
	t.Parallel()

	s, _, requests := cached(t, 10)

	c := granted(t)(s.Claim(t.Context(), "k", &idemddb.ClaimOptions{Fingerprint: "a"}))

	must(t, c.Complete(t.Context(), nil))

	requests("first run", 2)

	if _, _, err := s.Claim(t.Context(), "k", &idemddb.ClaimOptions{Fingerprint: "b"}); !errors.Is(err, idemddb.ErrMismatch) {
		t.Errorf("got %v, want a mismatch", err)
	}

	requests("another fingerprint", 0)
}

func TestACacheIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()

	s, _, _ := cached(t, 2)
	keys := []string{"a", "b", "c"}

	for _, key := range keys {
		must(t, claim(t, s, key).Complete(t.Context(), []byte(key)))
	}

	var callers sync.WaitGroup

	for i := range 8 {
		callers.Go(func() {
			for n := range 50 {
				key := keys[(i+n)%len(keys)]

				_, rec, err := s.Claim(t.Context(), key, nil)
				if err != nil || rec.Key != key || string(rec.Result) != key {
					t.Errorf("%s: got %+v, %v", key, rec, err)

					return
				}

				rec.Result[0] = 'X' // the caller has a copy
			}
		})
	}

	callers.Wait()
}
