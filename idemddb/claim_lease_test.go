package idemddb_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/around"
)

// secondWorker marks the context of a worker whose requests always succeed.
type secondWorker struct{}

// exceptSecond returns an interceptor for all requests but those of the second worker.
func exceptSecond(
	fault func(context.Context, idemddbtest.Request) idemddbtest.Fault,
) func(context.Context, idemddbtest.Request) idemddbtest.Fault {
	return func(ctx context.Context, r idemddbtest.Request) idemddbtest.Fault {
		if ctx.Value(secondWorker{}) != nil {
			return idemddbtest.None
		}

		return fault(ctx, r)
	}
}

// bothWork runs work with a claim while a second worker asks for the key, and demands that the work of one of them runs.
func (f *fixture) bothWork(run func(ctx context.Context, work func(context.Context))) {
	f.Helper()

	effects := 0

	run(f.Context(), func(ctx context.Context) {
		effects++

		if c, _ := idemddb.FromContext(ctx); time.Until(c.Deadline()) <= 0 || !c.Held() {
			f.Errorf("the work begins with %v of its lease left", time.Until(c.Deadline()))
		}

		second := context.WithValue(f.Context(), secondWorker{}, 1)

		_, err := idemddb.Do(second, f.store, "k", nil, func(context.Context) (int, error) {
			effects++

			return 0, nil
		})
		is(f, err, idemddb.ErrInProgress)
	})

	if effects != 1 {
		f.Errorf("%d effects, want 1", effects)
	}
}

// throughDo lets Do call the work.
func (f *fixture) throughDo(ctx context.Context, work func(context.Context)) {
	_, err := idemddb.Do(ctx, f.store, "k", nil, func(ctx context.Context) (int, error) {
		work(ctx)

		return 0, nil
	})
	must(f, err)
}

func TestNoWorkBeginsOnALeaseThatAnOutageHasUsedUp(t *testing.T) {
	t.Parallel()
	bubble(t, &idemddb.Options{ClaimPatience: time.Minute}, func(f *fixture) {
		f.db.Intercept(exceptSecond(faultUntil(35*time.Second, idemddbtest.ServerErrorApplied, idemddbtest.ServerError)))
		f.bothWork(f.throughDo)
	})
}

func TestNoWorkBeginsOnALeaseThatEndedBeforeItsAnswerCame(t *testing.T) {
	t.Parallel()
	bubbleAround(t, &idemddb.Options{Lease: time.Second}, late(1900*time.Millisecond), func(f *fixture) { f.bothWork(f.throughDo) })
}

// claimedAfterOutage claims a key that has a record. The first request is applied, and DynamoDB answers it and the later ones
// with an error until the outage is over.
func (f *fixture) claimedAfterOutage(outage time.Duration, claimKey claimer) *idemddb.Claim {
	f.Helper()
	f.existing("k")
	f.db.Intercept(faultUntil(outage, idemddbtest.ServerErrorApplied, idemddbtest.ServerError))

	c := granted(f)(claimKey(f.Context(), "k", nil))

	return c
}

// late delays the replies to the first single writes, by one delay each. DynamoDB has applied the writes at once.
func late(delays ...time.Duration) around.Func {
	var n atomic.Int64

	return around.After(func(*dynamodb.UpdateItemOutput) {
		if i := int(n.Add(1)) - 1; i < len(delays) {
			<-time.After(delays[i])
		}
	})
}

func TestALeaseThatEndsWhileAClaimIsTriedIsTakenOver(t *testing.T) {
	t.Parallel()
	eachWay(t, nil, func(f *fixture, claimKey claimer) {
		claim(f, f.store, "k")
		<-time.After(30 * time.Second) // a takeover is possible in a second
		f.db.Intercept(faultUntil(2*time.Second, idemddbtest.LostRequest, idemddbtest.LostRequest))

		c, rec, err := claimKey(f.Context(), "k", nil)
		if c == nil || !c.Takeover() {
			f.Errorf("got record %v, error %v, want a takeover", rec, err)
		}
	})
}

// The answer came so late that less than half of the lease was left, and the extension is refused: another worker has the key.
// What is left of the own lease is worth nothing then.
func TestAClaimWhoseExtensionIsRefusedIsNotReturned(t *testing.T) {
	t.Parallel()
	bubble(t, &idemddb.Options{ClaimPatience: time.Minute, Single: true}, func(f *fixture) {
		outage, isTaken := faultUntil(20*time.Second, idemddbtest.ServerErrorApplied, idemddbtest.ServerError), false
		f.db.Intercept(func(ctx context.Context, r idemddbtest.Request) idemddbtest.Fault {
			if strings.HasPrefix(r.Update, "SET lease") && !isTaken {
				isTaken = true
				claim(f, ahead(f, f.db), "k")
			}

			return outage(ctx, r)
		})

		c, rec, err := f.store.Claim(f.Context(), "k", nil)
		if c != nil || rec != nil {
			f.Errorf("got claim %v, record %v, want neither", c, rec)
		}

		is(f, err, idemddb.ErrInProgress)

		if !isTaken {
			f.Error("nothing was extended")
		}
	})
}

// The invocation is over, and its context is not: a handler has made a context of its own. The record must not say that its lease
// was over before the claim was made, or the next worker would take over what nobody has held.
func TestAClaimBehindTheDeadlineHasNoLeaseFromBeforeIt(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		ctx := idemddb.WithInvocation(f.Context(), time.Now().Add(-time.Minute), time.Time{})
		begun := time.Now()
		_, _, _ = f.store.Claim(ctx, "k", nil)

		if lease := f.lease("k"); lease.Before(begun) {
			f.Errorf("the lease ended %v before it was asked for", begun.Sub(lease))
		}
	})
}

func TestAClaimThatIsOverAtOnceIsNotReturned(t *testing.T) {
	t.Parallel()

	bubble(t, nil, func(f *fixture) {
		ctx := within(f, 500*time.Microsecond)
		if c, _, err := f.store.Claim(ctx, "key", nil); c != nil || err == nil {
			f.Errorf("claim %v, error %v", c, err)
		}
	})
}
