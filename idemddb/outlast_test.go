package idemddb_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// Two claims share a request that is throttled. One has 200 ms left, and the other one is won nevertheless.
func TestAClaimWhoseTimeIsOverDoesNotEndAnotherOfItsRequest(t *testing.T) {
	t.Parallel()

	bubble(t, nil, func(f *fixture) {
		f.db.Intercept(faultUntil(time.Second, idemddbtest.Throttle, idemddbtest.Throttle))
		short := within(f, 200*time.Millisecond)
		f.batch.Expect(2)
		var both sync.WaitGroup
		both.Go(func() {
			_, _, err := f.batch.Claim(short, "a", nil)
			if err == nil {
				f.Error("a is won although its time was over")
			}
		})
		both.Go(func() {
			c, _, err := f.batch.Claim(f.Context(), "b", nil)
			if c == nil {
				f.Errorf("b, whose time is not over: %v", err)
			}
		})
		both.Wait()
	})
}

// The same without the end of a context: a settlement has the lease as its time, and a claim its patience.
func TestASettlementOutlastsAClaimOfItsRequest(t *testing.T) {
	t.Parallel()

	bubble(t, &idemddb.Options{ClaimPatience: 300 * time.Millisecond}, func(f *fixture) {
		cs := f.claims(1)
		f.db.Intercept(faultUntil(time.Second, idemddbtest.Throttle, idemddbtest.Throttle))
		f.batch.Expect(1)
		var both sync.WaitGroup
		both.Go(func() { must(f, cs[0].Complete(f.Context(), nil)) })
		both.Go(func() {
			_, _, err := f.batch.Claim(f.Context(), "x", nil)
			if err == nil {
				f.Error("x is won although its patience was over")
			}
		})
		both.Wait()
	})
}

// The lease is 10 s, an effect is refused after 1 s, and the work goes on until 7 s: the lease is renewed once, at half of it.
func TestAfterARefusedEffectTheLeaseIsRenewedInTime(t *testing.T) {
	t.Parallel()

	bubble(t, &idemddb.Options{Lease: 10 * time.Second}, func(f *fixture) {
		_, err := f.store.Commit(f.Context(), "other", nil, nil, items(counted("b")))
		must(f, err)
		_, err = idemddb.Do(f.Context(), f.store, "k", nil, func(ctx context.Context) (int, error) {
			c, _ := idemddb.FromContext(ctx)
			time.Sleep(time.Second) //nolint:forbidigo // this moves the bubble's clock
			is(f, c.CompleteWith(ctx, nil, items(onlyOnce("b"))), idemddb.ErrEffectRefused)
			time.Sleep(6 * time.Second) //nolint:forbidigo // this moves the bubble's clock
			if n := f.events.count(idemddb.KindExtended); n != 1 {
				f.Errorf("7 s after a claim of 10 s, %d renewals", n)
			}
			idemddb.Unstage(ctx) // the work decides to have no effect

			return 1, nil
		})
		must(f, err)
	})
}

// A try that may be applied yet makes the refusal of an effect unknown: where the request is refused as a whole, and where the
// commit had been sent together with another one first.
func TestAnUnknownTryIsKeptUntilTheRecordAnswers(t *testing.T) {
	t.Parallel()

	bubble(t, nil, func(f *fixture) {
		f.db.Intercept(forTransactions(idemddbtest.LateRequest, idemddbtest.AccessDenied))

		_, err := f.store.Commit(f.Context(), "k", nil, nil, items(counted("a")))
		if e, ok := errors.AsType[*idemddb.EffectError](err); !ok || e.Index != -1 || !e.Unknown {
			f.Errorf("%+v %v", e, err)
		}
	})
	bubble(t, nil, func(f *fixture) { // group unknown, then cancelled twice, then alone
		_, err := f.store.Commit(f.Context(), "other", nil, nil, items(counted("b")))
		must(f, err)
		f.db.Intercept(forTransactions(
			idemddbtest.LateRequest, idemddbtest.TransactionConflict, idemddbtest.TransactionConflict, idemddbtest.None,
		))

		one := f.batch.Commit(f.Context(), "k1", nil, nil, items(counted("x"), onlyOnce("b")))
		two := f.batch.Commit(f.Context(), "k2", nil, nil, items(counted("y")))
		f.batch.FlushCommits()

		_, err = one()
		if e, ok := errors.AsType[*idemddb.EffectError](err); !ok || !e.Unknown {
			f.Errorf("%+v %v", e, err)
		}

		_, err = two()
		must(f, err)
	})
}

// A renewal is held back. Its own completion is applied meanwhile and waits for an answer.
func TestARenewalThatMeetsItsOwnCompletionIsNoAlarm(t *testing.T) {
	t.Parallel()

	bubble(t, &idemddb.Options{Lease: 10 * time.Second}, func(f *fixture) {
		c := claim(f, f.store, "k")
		_, stop := c.Keep(f.Context())
		defer stop()
		var requests atomic.Int64

		f.db.Intercept(func(_ context.Context, _ idemddbtest.Request) idemddbtest.Fault {
			n := requests.Add(1)
			if n == 1 { // the renewal: held back
				time.Sleep(500 * time.Millisecond) //nolint:forbidigo // this moves the bubble's clock
			}
			if n == 2 {
				return idemddbtest.LostReply // the completion is applied; its settlement is not over
			}
			if n == 3 {
				time.Sleep(time.Second) //nolint:forbidigo // this moves the bubble's clock
			}
			return idemddbtest.None
		})
		time.Sleep(5*time.Second + 100*time.Millisecond) //nolint:forbidigo // this moves the bubble's clock
		must(f, c.Complete(f.Context(), nil))
		if f.events.count(idemddb.KindFenced) != 0 {
			f.Error("a false alarm")
		}
	})
}

// An effect is refused, and another worker completes the key before this one can give it up: Do returns the value of the other.
func TestARefusedEffectBesideAnotherCompletion(t *testing.T) {
	t.Parallel()

	bubble(t, nil, func(f *fixture) {
		_, err := f.store.Commit(f.Context(), "other", nil, nil, items(counted("b")))
		must(f, err)
		later, refused, once := ahead(t, f.db), false, false
		f.db.Intercept(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
			if r.Operation == "TransactWriteItems" {
				refused = true
			}
			if r.Operation == "UpdateItem" && refused && !once {
				once = true
				must(f, claim(f, later, "k").Complete(f.Context(), []byte("42")))
			}
			return idemddbtest.None
		})
		v, err := idemddb.Do(f.Context(), f.store, "k", nil, func(ctx context.Context) (int, error) {
			return 1, idemddb.Stage(ctx, items(onlyOnce("b")))
		})
		if v != 42 || err != nil {
			f.Errorf("got %d, %v, want the value of the other worker", v, err)
		}
	})
}
