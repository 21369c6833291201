package idemddb_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// crowd is callers of one process that wait for the key "k", which another process holds.
type crowd struct {
	*testing.T

	db            *idemddbtest.DB
	process       *idemddb.Store
	holder        *idemddb.Claim
	all           sync.WaitGroup
	claims, works atomic.Int64 // works: under way
	records       atomic.Int64
	mismatches    atomic.Int64
	busy          atomic.Int64
	others        atomic.Int64
}

// inLine runs a test with a key that is held for it.
func inLine(t *testing.T, test func(c *crowd)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &crowd{T: t}
		c.process, c.db = newStore(t, nil)

		var err error
		if c.holder, _, err = storeOn(t, c.db, nil).Claim(t.Context(), "k", &idemddb.ClaimOptions{Fingerprint: "input"}); err != nil {
			t.Fatal(err)
		}

		c.db.ResetRequests()
		test(c)
		c.all.Wait()
	})
}

// wait lets n callers wait for the key. One that gets the claim does what then says.
func (c *crowd) wait(ctx context.Context, n int, opts idemddb.ClaimOptions, then func(*idemddb.Claim)) {
	for range n {
		c.all.Go(func() {
			claim, rec, err := c.process.Claim(ctx, "k", &opts)

			switch {
			case claim != nil:
				if c.claims.Add(1); c.works.Add(1) > 1 {
					c.Error("two callers hold the key")
				}

				then(claim)
				c.works.Add(-1)
			case rec != nil && err == nil && string(rec.Result) == "done":
				rec.Result[0] = 'D' // the result is the caller's own

				c.records.Add(1)
			case errors.Is(err, idemddb.ErrMismatch):
				c.mismatches.Add(1)
			case errors.Is(err, idemddb.ErrInProgress):
				c.busy.Add(1)
			case err == nil:
				c.Error("a caller has neither an answer nor an error")
			default:
				c.others.Add(1)
			}
		})
	}
}

// sums demands how the callers have ended, and how many requests they may have made.
func (c *crowd) sums(claims, records, mismatches, busy, others int64, requests int) {
	c.Helper()
	c.all.Wait()

	got := [5]int64{c.claims.Load(), c.records.Load(), c.mismatches.Load(), c.busy.Load(), c.others.Load()}
	if want := [5]int64{claims, records, mismatches, busy, others}; got != want {
		c.Errorf("claims, records, mismatches, in progress, others: got %v, want %v", got, want)
	}

	if n := len(c.db.Requests()); n > requests {
		c.Errorf("%d requests, want at most %d", n, requests)
	}
}

var minute = idemddb.ClaimOptions{Wait: time.Minute, Fingerprint: "input"}

func never(*idemddb.Claim) {}

func TestAThousandWaitersAskOnce(t *testing.T) {
	t.Parallel()
	inLine(t, func(c *crowd) {
		c.wait(c.Context(), 1000, minute, never)
		c.wait(c.Context(), 100, idemddb.ClaimOptions{Wait: time.Minute, Fingerprint: "another input"}, never)
		<-time.After(5 * time.Second)

		if n := c.mismatches.Load(); n != 100 {
			c.Errorf("%d callers know while the key is held that it was used for another input, want 100", n)
		}

		must(c, c.holder.Complete(c.Context(), []byte("done")))

		ended := time.Now()
		c.sums(0, 1000, 100, 0, 0, 40)

		if late := time.Since(ended); late > time.Second {
			c.Errorf("the last one has its record %v after the completion", late)
		}
	})
}

// Those who come later know at once what the others know, and wait with them.
func TestAWaiterThatComesLaterJoinsTheOthers(t *testing.T) {
	t.Parallel()
	inLine(t, func(c *crowd) {
		c.wait(c.Context(), 1, minute, never)

		for range 100 {
			<-time.After(10 * time.Millisecond)
			c.wait(c.Context(), 10, idemddb.ClaimOptions{Wait: 5 * time.Millisecond, Fingerprint: "input"}, never)
		}

		short := within(c, 5*time.Millisecond)
		_, _, err := c.process.Claim(short, "k", &minute)
		is(c, err, context.DeadlineExceeded)

		must(c, c.holder.Complete(c.Context(), []byte("done")))
		c.sums(0, 1, 0, 1000, 0, 10)
	})
}

func TestAReleasedKeyIsClaimedByOneWaiterAndTheOthersWaitOn(t *testing.T) {
	t.Parallel()
	inLine(t, func(c *crowd) {
		c.wait(c.Context(), 100, minute, func(claim *idemddb.Claim) {
			<-time.After(3 * time.Second)

			if c.claims.Load() == 1 {
				must(c, claim.Release(c.Context(), errors.New("the first of them fails")))
			} else {
				must(c, claim.Complete(c.Context(), []byte("done")))
			}
		})

		<-time.After(time.Second)
		must(c, c.holder.Release(c.Context(), nil))
		c.sums(2, 98, 0, 0, 0, 40)
	})
}

// The pauses between two requests, which a long wait makes long, begin anew when one of them gets the key.
func TestTheNextOfAReleasedKeyIsNotWaitedForLong(t *testing.T) {
	t.Parallel()
	inLine(t, func(c *crowd) {
		var ended time.Time

		c.wait(c.Context(), 2, minute, func(claim *idemddb.Claim) {
			<-time.After(10 * time.Millisecond)
			must(c, claim.Complete(c.Context(), []byte("done")))
			ended = time.Now()
		})
		<-time.After(20 * time.Second)
		must(c, c.holder.Release(c.Context(), nil))
		c.sums(1, 1, 0, 0, 0, 40)

		if late := time.Since(ended); late > 100*time.Millisecond {
			c.Errorf("the other one has its record %v after the completion", late)
		}
	})
}

// The caller that asks for all may have the shortest time, or a client that ends its goroutine.
func TestWaitersGoOnWhenTheOneThatAsksLeaves(t *testing.T) {
	t.Parallel()

	for name, first := range map[string]struct {
		waits func(c *crowd)
		busy  int64
	}{
		"its limit is over": {func(c *crowd) {
			c.wait(c.Context(), 1, idemddb.ClaimOptions{Wait: 300 * time.Millisecond}, never)
		}, 1},
		"its context ends": {func(c *crowd) {
			ctx, cancel := context.WithCancel(c.Context())
			time.AfterFunc(300*time.Millisecond, cancel)
			c.wait(ctx, 1, minute, never)
		}, 1},
		"its goroutine ends": {func(c *crowd) {
			c.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
				c.db.Intercept(nil)
				<-time.After(time.Second)
				runtime.Goexit()

				return idemddbtest.None
			})
			c.wait(c.Context(), 1, minute, never)
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inLine(t, func(c *crowd) {
				first.waits(c)
				synctest.Wait()
				c.wait(c.Context(), 100, minute, never)

				<-time.After(3 * time.Second)
				must(c, c.holder.Complete(c.Context(), []byte("done")))
				c.sums(0, 100, 0, first.busy, 0, 12)
			})
		})
	}
}

// What is no answer of DynamoDB to one caller is none to the others: each of them asks for itself, as without the others.
func TestWaitersAskForThemselvesWhenDynamoDBDoesNotAnswer(t *testing.T) {
	t.Parallel()

	for _, isAnsweredFirst := range []bool{false, true} {
		inLine(t, func(c *crowd) {
			begun := time.Now()

			c.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
				if isAnsweredFirst && time.Since(begun) == 0 {
					return idemddbtest.None
				}

				return idemddbtest.ServerError
			})
			c.wait(c.Context(), 5, minute, never)
			c.wait(c.Context(), 5, idemddb.ClaimOptions{Wait: time.Second, Fingerprint: "input"}, never)
			c.all.Wait()

			if c.claims.Load()+c.records.Load()+c.mismatches.Load() > 0 {
				c.Error("a caller has an answer")
			}

			if took := time.Since(begun); took > 11*time.Second {
				c.Errorf("they are answered after %v, want twice the patience of a claim", took)
			}
		})
	}
}

// After an outage each of those who waited asks for itself. Whoever comes then waits in a line of its own, which stays when the
// others leave.
func TestWaitersAfterAnOutageAskOnce(t *testing.T) {
	t.Parallel()
	inLine(t, func(c *crowd) {
		c.db.Intercept(always(idemddbtest.ServerError))
		c.wait(c.Context(), 1, minute, never)
		synctest.Wait()
		c.wait(c.Context(), 1, idemddb.ClaimOptions{Wait: 8 * time.Second, Fingerprint: "input"}, never)
		<-time.After(6 * time.Second)
		c.db.Intercept(nil)
		c.db.ResetRequests()

		c.wait(c.Context(), 100, minute, never)
		<-time.After(3 * time.Second)

		for range 100 {
			c.wait(c.Context(), 1, idemddb.ClaimOptions{Wait: 5 * time.Millisecond, Fingerprint: "input"}, never)
			<-time.After(10 * time.Millisecond)
		}

		must(c, c.holder.Complete(c.Context(), []byte("done")))
		c.sums(0, 100, 0, 101, 1, 30)
	})
}

func TestAKeyThatIsEndedForGoodIsSoForAllWaiters(t *testing.T) {
	t.Parallel()
	inLine(t, func(c *crowd) {
		c.wait(c.Context(), 100, minute, never)
		<-time.After(time.Second)
		must(c, c.holder.Fail(c.Context(), errors.New("for good")))
		c.sums(0, 0, 0, 0, 100, 10)
	})
}

// The holder has died before it sent its message.
func TestOneOfTheWaitersSendsTheMessagesThatAreLeft(t *testing.T) {
	t.Parallel()
	inLine(t, func(c *crowd) {
		bank := &bankSender{}
		c.process = storeOn(c, c.db, &idemddb.Options{Senders: map[string]idemddb.Sender{"bank": bank}})
		c.wait(c.Context(), 10, minute, never)
		<-time.After(time.Second)
		must(c, c.holder.CompleteWith(c.Context(), []byte("done"), oneMessage))

		left := recordOf(c.db, "k")
		left["done"] = number(time.Now().Add(-10 * time.Second).UnixMilli()) // so long ago
		put(c, c.db, left)
		c.sums(0, 10, 0, 0, 0, 12)

		if len(bank.ids) != 1 {
			c.Errorf("sent %q, want the message once", bank.ids)
		}
	})
}

// What a line knew ends with its last call.
func TestAfterTheLastWaiterHasLeftTheNextOneAsksAtOnce(t *testing.T) {
	t.Parallel()
	inLine(t, func(c *crowd) {
		c.wait(c.Context(), 3, idemddb.ClaimOptions{Wait: time.Second, Fingerprint: "input"}, never)
		c.all.Wait()
		must(c, c.holder.Complete(c.Context(), []byte("done")))
		c.db.ResetRequests()

		begun := time.Now()
		c.wait(c.Context(), 1, minute, never)
		c.sums(0, 1, 0, 3, 0, 1)

		if took := time.Since(begun); took > 0 {
			c.Errorf("it takes %v, want no wait", took)
		}
	})
}
