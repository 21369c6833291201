package idemddbtest_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/smithy-go"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

const takes = 6 * time.Millisecond

// inTimedBubbles runs a test for each way that works in a bubble, on a DB whose transactions take 6 ms.
func inTimedBubbles(t *testing.T, test func(t *testing.T, db *idemddbtest.DB, c calls)) {
	t.Helper()

	for _, way := range []string{"direct", "client"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db := openDB(t, &idemddbtest.Options{TransactionTime: func() time.Duration { return takes }})
				test(t, db, ways[way](t, db))
			})
		})
	}
}

func TestATransactionHoldsItsItemsForItsTime(t *testing.T) {
	t.Parallel()
	inTimedBubbles(t, func(t *testing.T, db *idemddbtest.DB, c calls) {
		t.Helper()

		var (
			all   sync.WaitGroup
			start = time.Now()
		)

		all.Go(func() {
			if got, took := sent(t, c, under("token", transaction("x", "y"))), time.Since(start); got != "" || took != takes {
				t.Errorf("got %q after %v, want a success after %v", got, took, takes)
			}
		})
		synctest.Wait()

		if got := code(putX(t.Context(), c)); got != "TransactionConflictException" {
			t.Errorf("a PutItem: got %q", got)
		}

		if got := sent(t, c, under("token", transaction("x", "y"))); got != "TransactionInProgressException" {
			t.Errorf("the same token: got %q", got)
		}

		wantNumber(t, db, "x", "none")

		if took := time.Since(start); took != 0 {
			t.Errorf("these answers took %v: they do not wait for the transaction", took)
		}

		all.Go(func() {
			if got, want := sent(t, c, transaction("a", "y")), canceled+" None TransactionConflict"; got != want || time.Since(start) != takes/2 {
				t.Errorf("a transaction: got %q after %v, want %q after %v", got, time.Since(start), want, takes/2)
			}
		})
		all.Go(func() {
			if got := sent(t, c, transaction("b")); got != "" {
				t.Errorf("a transaction with another item: got %q", got)
			}
		})
		all.Wait()

		if took := time.Since(start); took != takes {
			t.Errorf("all took %v, want %v: transactions are in flight side by side", took, takes)
		}

		wantNumber(t, db, "x", "1")
		wantNumber(t, db, "a", "none")
		wantNumber(t, db, "b", "1")

		if got := sent(t, c, under("token", transaction("x", "y"))); got != "" || time.Since(start) != takes {
			t.Errorf("its repetition: got %q, after %v", got, time.Since(start))
		}
	})
}

// DynamoDB prepares each item by itself. A transaction that is canceled has prepared those items whose own write is possible, and
// lets go of them when it ends.
func TestACanceledTransactionHoldsWhatWasPossible(t *testing.T) {
	t.Parallel()
	inTimedBubbles(t, func(t *testing.T, db *idemddbtest.DB, c calls) {
		t.Helper()
		put(t, db, attributes{"pk": s("full"), "n": n("10")})

		var all sync.WaitGroup

		all.Go(func() {
			if got, want := sent(t, c, transaction("full", "x")), canceled+" ConditionalCheckFailed None"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
		synctest.Wait()

		if got := code(putX(t.Context(), c)); got != "TransactionConflictException" {
			t.Errorf("what was possible: got %q", got)
		}

		put(t, db, attributes{"pk": s("full")}) // it is not held
		all.Wait()

		if err := putX(t.Context(), c); err != nil || len(db.InFlight()) != 0 {
			t.Errorf("afterwards: got %v, %d in flight", err, len(db.InFlight()))
		}
	})
}

func TestATransactionEndsAlsoIfItsSenderLeaves(t *testing.T) {
	t.Parallel()
	inTimedBubbles(t, func(t *testing.T, db *idemddbtest.DB, c calls) {
		t.Helper()

		start := time.Now()

		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Millisecond)
		defer cancel()

		_, err := c.TransactWriteItems(ctx, under("token", transaction("x")))
		if !isType[*smithy.CanceledError](err) || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 2*time.Millisecond {
			t.Errorf("got %v after %v", err, time.Since(start))
		}

		wantNumber(t, db, "x", "none")
		db.InFlight()[0].Cancel() // it ends by itself

		<-time.After(takes - 2*time.Millisecond)
		synctest.Wait()
		wantNumber(t, db, "x", "1")

		if got := sent(t, c, under("token", transaction("x"))); got != "" {
			t.Errorf("its repetition: got %q", got)
		}

		wantNumber(t, db, "x", "1")
	})
}

// The time is asked for when the items are held and without the lock, so that a test can also let the function wait for what it
// likes.
func TestATransactionTakesItsTimeOverASocket(t *testing.T) {
	t.Parallel()

	held, enough := make(chan struct{}), make(chan struct{})
	db := openDB(t, &idemddbtest.Options{TransactionTime: func() time.Duration {
		close(held)
		<-enough

		return time.Nanosecond
	}})
	c := overSocket(t, db)

	var all sync.WaitGroup

	all.Go(func() {
		if got := sent(t, c, transaction("x")); got != "" {
			t.Errorf("got %q", got)
		}
	})

	<-held

	if got := code(putX(t.Context(), c)); got != "TransactionConflictException" {
		t.Errorf("got %q", got)
	}

	close(enough)
	all.Wait()
	wantNumber(t, db, "x", "1")
}
