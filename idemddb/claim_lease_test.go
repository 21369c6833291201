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

// late delays the replies to the first single writes, by one delay each. DynamoDB has applied the writes at once.
func late(delays ...time.Duration) around.Func {
	var n atomic.Int64

	return around.After(func(*dynamodb.UpdateItemOutput) {
		if i := int(n.Add(1)) - 1; i < len(delays) {
			<-time.After(delays[i])
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
