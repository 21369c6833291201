package idemddb_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/around"
)

func TestALeaseThatCannotBeRenewedCancelsTheWorkWhenItEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, db := newStore(t, &idemddb.Options{Lease: 10 * time.Second})
		begun := time.Now()
		work, stop := claim(t, s, "k").Keep(t.Context())

		defer stop()
		db.Intercept(always(idemddbtest.LostRequest))
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

		must(t, c.Release(t.Context(), nil))

		claim(t, s, "k")
	})
}

// The scheduler chooses whether the renewal or stop goes first, so the test does it often.
func TestStopAtTheMomentOfARenewal(t *testing.T) {
	t.Parallel()

	for range 50 {
		bubble(t, &idemddb.Options{Lease: 10 * time.Second}, func(f *fixture) {
			c := claim(f, f.store, "k")
			_, stop := c.Keep(f.Context())
			<-time.After(5 * time.Second)
			stop()
			f.requests()
			<-time.After(time.Minute)
			f.want()
			must(f, c.Complete(f.Context(), nil))
		})
	}
}

// keptClaim is a claim of a lease of 10 s that is kept.
type keptClaim struct {
	*testing.T

	db     *idemddbtest.DB
	events *eventLog
	work   context.Context
	settle func()
}

// whileKept runs check in a bubble for each way to settle a claim. The claim is kept until check ends.
func whileKept(t *testing.T, check func(keptClaim)) {
	t.Helper()

	for verb, settle := range settlements {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, db, events := observed(t, &idemddb.Options{Lease: 10 * time.Second})
				c := claim(t, s, "k")
				work, stop := c.Keep(t.Context())

				defer stop()

				check(keptClaim{t, db, events, work, func() { must(t, settle(work, c)) }})
			})
		})
	}
}

// notLost demands that the work goes on, and that there are no events but those of the claim and the settlement.
func (k keptClaim) notLost() {
	k.Helper()

	if k.work.Err() != nil || len(k.events.kinds()) != 2 {
		k.Errorf("work %v, events %q", context.Cause(k.work), k.events.kinds())
	}
}

// `defer stop()` settles before stop.
func TestARenewalDoesNotFollowASettlement(t *testing.T) {
	t.Parallel()
	whileKept(t, func(k keptClaim) {
		time.Sleep(4 * time.Second) // this moves the bubble's clock
		k.settle()
		time.Sleep(time.Hour)

		if n := len(k.db.Requests()); n != 2 {
			k.Errorf("%d requests, want the claim and the settlement", n)
		}

		k.notLost()
	})
}

func TestARenewalIsNotDueWhileASettlementIsTried(t *testing.T) {
	t.Parallel()
	whileKept(t, func(k keptClaim) {
		time.Sleep(4 * time.Second)
		k.db.Intercept(faultUntil(3*time.Second, idemddbtest.ServerErrorApplied, idemddbtest.ServerError)) // renewal is due after 1 s
		k.settle()
		k.notLost()
	})
}

func TestARenewalThatMeetsTheSettlementOfItsClaimIsNoLoss(t *testing.T) {
	t.Parallel()
	whileKept(t, func(k keptClaim) {
		k.db.Intercept(func(ctx context.Context, _ idemddbtest.Request) idemddbtest.Fault {
			select { // the renewal is held back
			case <-time.After(time.Second):
			case <-ctx.Done():
			}

			return idemddbtest.None
		})
		time.Sleep(5*time.Second + time.Millisecond)
		k.db.Intercept(nil)
		k.settle()
		time.Sleep(time.Hour)
		k.notLost()
	})
}

// Lambda freezes the process when the call has returned. The bubble shows that stop waits in a way that does not block the clock.
func TestStopWaitsForTheEndOfARenewalThatIsUnderWay(t *testing.T) {
	t.Parallel()

	for name, shared := range map[string]bool{"a single claim": false, "a claim of a batch": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var (
				slow  atomic.Bool
				ended atomic.Int64
			)

			bubbleAround(t, &idemddb.Options{Lease: 10 * time.Second}, func(ctx context.Context, in any, send around.Send) (any, error) {
				if slow.Load() { // whatever the context says
					<-time.After(time.Second)
				}

				defer ended.Add(1)

				return send(ctx, in)
			}, func(f *fixture) {
				claimKey := f.store.Claim
				if shared {
					claimKey = f.batch.Claim
				}

				c := granted(f)(claimKey(f.Context(), "k", nil))

				_, stop := c.Keep(f.Context())

				slow.Store(true)
				<-time.After(5*time.Second + 100*time.Millisecond)
				f.takes(900*time.Millisecond, stop)

				if n := ended.Load(); n != 2 {
					f.Errorf("%d requests have ended, want the claim and the renewal", n)
				}

				f.takes(0, stop) // it may be called twice
			})
		})
	}
}

func TestALeaseThatIsAlmostOverIsRenewedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := newStore(t, &idemddb.Options{Lease: 10 * time.Second})
		c := claim(t, s, "k")
		time.Sleep(9 * time.Second)

		work, stop := c.Keep(t.Context())
		time.Sleep(time.Millisecond)

		if left := time.Until(c.Deadline()); left < 9*time.Second || work.Err() != nil {
			t.Errorf("%v of the lease left, work %v", left, context.Cause(work))
		}

		stop()
	})
}

// The process was stopped until the lease was over. For all other clocks the key is still held for ClockSkew, so the renewal is
// sent.
func TestALeaseThatIsOverByLessThanTheSkewIsRenewed(t *testing.T) {
	t.Parallel()

	var stopped atomic.Int64

	now := func() time.Time { return time.Now().Add(time.Duration(stopped.Load())) }

	bubble(t, &idemddb.Options{Lease: 10 * time.Second, ClockSkew: time.Second, Now: now}, func(f *fixture) {
		c := claim(f, f.store, "k")
		work, stop := c.Keep(f.Context())
		defer stop()

		<-time.After(4900 * time.Millisecond)
		stopped.Store(int64(5500 * time.Millisecond)) // at the renewal, the lease is over by 0.4 s
		<-time.After(time.Second)

		if work.Err() != nil || !c.Held() {
			f.Errorf("the work is cancelled: %v", context.Cause(work))
		}
	})
}

// An extension that finds the key with another worker loses the claim as a settlement does, and is told alike.
func TestAnExtensionOfALostClaimIsObservedAsFenced(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		c := claim(f, f.store, "k")
		claim(f, ahead(f, f.db), "k")
		is(f, c.Extend(f.Context()), idemddb.ErrFenced)
		f.events.want(f, idemddb.KindClaimed, idemddb.KindFenced)
	})
}

// A helper of the work may keep the claim, too. When it has stopped, the renewal that was there before goes on.
func TestAClaimThatIsKeptTwiceIsRenewedAfterARefusedEffect(t *testing.T) {
	t.Parallel()

	do := func(ctx context.Context, in any, send around.Send) (any, error) {
		if _, is := in.(*dynamodb.TransactWriteItemsInput); is {
			time.Sleep(1500 * time.Millisecond) // meanwhile the first renewal is due
		}

		return send(ctx, in)
	}

	bubbleAround(t, &idemddb.Options{Lease: 10 * time.Second}, do, func(f *fixture) {
		must(f, claim(f, f.store, "other").CompleteWith(f.Context(), nil, items(onlyOnce("a"))))

		held := claim(f, f.store, "key")
		work, stop := held.Keep(f.Context())

		defer stop()

		_, stopSecond := held.Keep(work)
		stopSecond()

		time.Sleep(4 * time.Second)
		is(f, held.CompleteWith(work, nil, items(onlyOnce("a"))), idemddb.ErrEffectRefused)

		time.Sleep(time.Minute)

		if !held.Held() || work.Err() != nil {
			f.Errorf("held %v, the work is cancelled: %v", held.Held(), work.Err())
		}
	})
}
