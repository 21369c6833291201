package idemddb_test

import (
	"sync"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

func TestWhatWasCompletedOrReplayedHereCostsNoRequest(t *testing.T) {
	t.Parallel()
	bubble(t, &idemddb.Options{Cache: 10}, func(f *fixture) {
		must(f, claim(f, f.store, "k").Complete(f.Context(), []byte("done")))
		f.want("UpdateItem", "UpdateItem")

		first := replay(f, f.store, "k")
		first.Result[0] = 'X' // the caller has a copy

		if again := replay(f, f.store, "k"); string(again.Result) != "done" || again.Key != "k" {
			f.Errorf("got %q of %q", again.Result, again.Key)
		}

		if rec, err := f.store.Commit(f.Context(), "k", nil, make([]byte, 500<<10), idemddb.Effects{}); rec == nil || err != nil {
			f.Errorf("a commit got record %v, error %v", rec, err)
		}

		f.want()
	})
}

func TestACachedRecordEndsWithItsRetention(t *testing.T) {
	t.Parallel()
	bubble(t, &idemddb.Options{Cache: 10, Retention: time.Hour}, func(f *fixture) {
		<-time.After(500 * time.Millisecond) // the end of the record is rounded up to a whole second
		must(f, claim(f, f.store, "k").Complete(f.Context(), nil))
		f.requests()
		<-time.After(time.Hour + 499*time.Millisecond)
		replay(f, f.store, "k")
		f.want()
		<-time.After(time.Millisecond)
		claim(f, f.store, "k")
		f.want("UpdateItem", "PutItem")
	})
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
	bubble(t, &idemddb.Options{Cache: 10}, func(f *fixture) {
		c := claim(f, f.store, "k")

		for range 2 {
			_, _, err := f.store.Claim(f.Context(), "k", nil)
			is(f, err, idemddb.ErrInProgress)
		}

		f.want("UpdateItem", "UpdateItem", "UpdateItem")
		must(f, c.Fail(f.Context(), nil))

		for range 2 {
			_, _, err := f.store.Claim(f.Context(), "k", nil)
			is(f, err, idemddb.ErrFailed)
		}

		f.want("UpdateItem", "UpdateItem", "UpdateItem")
	})
}

func TestACachedRecordKnowsItsFingerprint(t *testing.T) {
	t.Parallel()
	bubble(t, &idemddb.Options{Cache: 10}, func(f *fixture) {
		c := granted(f)(f.store.Claim(f.Context(), "k", &idemddb.ClaimOptions{Fingerprint: "a"}))
		must(f, c.Complete(f.Context(), nil))
		f.requests()

		_, _, err := f.store.Claim(f.Context(), "k", &idemddb.ClaimOptions{Fingerprint: "b"})
		is(f, err, idemddb.ErrMismatch)
		f.want()
	})
}

func TestACacheIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()

	s, _ := newStore(t, &idemddb.Options{Cache: 2})
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
