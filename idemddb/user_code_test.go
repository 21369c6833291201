package idemddb_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// A function of the user may use what it was called for: the Store holds no lock meanwhile.
func TestCodeOfTheUserMayUseTheClaimThatItIsCalledFor(t *testing.T) {
	t.Parallel()

	t.Run("the clock asks whether the claim is held", func(t *testing.T) {
		t.Parallel()

		var (
			held *idemddb.Claim
			asks bool
		)

		store, _ := newStore(t, &idemddb.Options{Now: func() time.Time {
			if asks && held != nil {
				asks = false // once: Held asks for the time, too
				held.Held()
			}

			return time.Now()
		}})

		held = claim(t, store, "key")
		asks = true

		if isHeld := held.Held(); !isHeld || asks {
			t.Errorf("held %v, the clock was asked: %v", isHeld, !asks)
		}

		asks = true
		_, stop := held.Keep(t.Context())
		stop()

		if asks {
			t.Error("the clock was not asked for the time that the lease has left")
		}
	})

	t.Run("the error of a work stages", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			store, _ := newStore(t, nil)

			work, ending := store.Begin(t.Context(), "key", nil)
			if work == nil {
				t.Fatal(ending.Err)
			}

			failure := &stagingError{ctx: work.Context(t.Context())}
			if e := work.Settle(t.Context(), nil, failure); !errors.Is(e.Err, failure) || !failure.asked {
				t.Errorf("ending %v, the error was asked: %v", e.Err, failure.asked)
			}
		})
	})
}

func TestTheObserverOfAStoreThatIsTurnedOffMayClaim(t *testing.T) {
	t.Setenv("IDEMDDB_DISABLED", "1")

	var store *idemddb.Store

	told := 0
	store, _ = newStore(t, &idemddb.Options{Observe: func(ctx context.Context, e idemddb.Event) {
		if e.Kind == idemddb.KindDisabled {
			told++
			_, _, _ = store.Claim(ctx, "other", nil)
		}
	}})

	claim(t, store, "key")

	if told != 1 {
		t.Errorf("the event was told %d times, want once", told)
	}
}

// stagingError stages when it is asked what it wraps.
type stagingError struct {
	ctx   context.Context
	asked bool
}

func (e *stagingError) Error() string { return "out of stock" }

func (e *stagingError) Unwrap() error {
	e.asked = true
	_ = idemddb.Stage(e.ctx, idemddb.Effects{})

	return nil
}

func TestAContextMayAskTheStoreThatLooksAtIt(t *testing.T) {
	t.Parallel()

	db := newDB(t)
	store := storeOn(t, db, nil)
	batch := store.Batch()
	wait := &idemddb.ClaimOptions{Wait: time.Millisecond}

	var depth atomic.Int32

	ask := func() {
		if depth.Add(1) == 1 { // these claims ask a context, too
			_, _, _ = store.Claim(t.Context(), "another", wait)
			_, _, _ = batch.Claim(t.Context(), "another", nil)
		}

		depth.Add(-1)
	}

	db.Intercept(forKey("key", idemddbtest.AccessDenied)) // no answer, so the call looks whether its context has ended

	done := make(chan struct{})

	go func() {
		defer close(done)

		_, _, _ = store.Claim(contextAsking{t.Context(), ask, func() {}}, "key", wait)
		_, _, _ = batch.Claim(contextAsking{t.Context(), func() {}, ask}, "key", nil)
	}()

	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Error("it hangs")
	}
}

// contextAsking is a context of the user whose methods call other code.
type contextAsking struct {
	context.Context

	err, deadline func()
}

func (c contextAsking) Err() error { c.err(); return c.Context.Err() }

func (c contextAsking) Deadline() (time.Time, bool) { c.deadline(); return c.Context.Deadline() }
