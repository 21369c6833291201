package idemddb_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// A record is that of a claim only if both tokens are: owner tokens and fencing tokens come back after a deletion or Reopen.
// And a later lease is that of an extension only if the key is still held, and if a foreign writer has not removed it.
func TestASettlementIsNotRecognisedInTheRecordOfAnotherClaim(t *testing.T) {
	t.Parallel()

	complete := func(ctx context.Context, c *idemddb.Claim) error { return c.Complete(ctx, []byte("done")) }
	fail := func(ctx context.Context, c *idemddb.Claim) error { return c.Fail(ctx, errClosed) }
	extend := func(ctx context.Context, c *idemddb.Claim) error { return c.Extend(ctx) }
	own := map[string]types.AttributeValue{"own": text("another")}
	fence := map[string]types.AttributeValue{"fence": number(1)}

	for name, c := range map[string]struct {
		first, again func(context.Context, *idemddb.Claim) error
		change       map[string]types.AttributeValue
	}{
		"completed, another owner token":   {complete, complete, own},
		"completed, another fencing token": {complete, complete, fence},
		"failed, another owner token":      {fail, fail, own},
		"failed, another fencing token":    {fail, fail, fence},
		"extended after its completion":    {complete, extend, map[string]types.AttributeValue{"lease": number(9999999999999)}},
		"extended without a lease":         {extend, extend, map[string]types.AttributeValue{"lease": nil}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(f *fixture) {
				held := claim(f, f.store, "k")
				must(f, c.first(f.Context(), held))
				f.edit("k", c.change)
				is(f, c.again(f.Context(), held), idemddb.ErrFenced)
			})
		})
	}
}

// An extension was applied, and its answer was lost. A shorter one finds it in the record.
func TestAnExtensionThatFindsALaterLeaseHasThatLease(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		c := claim(f, f.store, "k")
		<-time.After(10 * time.Second)
		f.db.Intercept(always(idemddbtest.LostReply))

		if c.Extend(f.Context()) == nil {
			f.Error("the extension has an answer")
		}

		f.db.Intercept(nil)

		near := within(f, time.Second)
		must(f, c.Extend(near))

		if !c.Deadline().Equal(f.lease("k")) {
			f.Errorf("deadline %v, stored %v", c.Deadline(), f.lease("k"))
		}
	})
}

// A lease that ends later than the retention must still end before Time to Live may delete the record, by all clocks.
func TestARecordOutlivesItsLeaseByTwiceTheSkew(t *testing.T) {
	t.Parallel()

	const lease, skew = time.Minute, 10 * time.Second

	bubble(t, &idemddb.Options{Lease: lease, Retention: lease, ClockSkew: skew}, func(f *fixture) {
		c := claim(f, f.store, "k")
		isKept := func(what string) {
			f.Helper()

			if expires := time.Unix(numberOf(f.T, f.record("k"), "exp"), 0); expires.Before(c.Deadline().Add(2 * skew)) {
				f.Errorf("%s: the record ends %v after its lease, want at least %v", what, expires.Sub(c.Deadline()), 2*skew)
			}
		}
		isKept("claim")

		<-time.After(lease / 2)
		must(f, c.Extend(f.Context()))
		isKept("extension")
	})
}

// A process that stands still twice gets a claim only when an answer comes in time.
func TestAClaimWhoseExtensionIsAnsweredTooLateBeginsAnew(t *testing.T) {
	t.Parallel()

	const lease = 4 * time.Second

	delayed := late(lease/2*9/8, lease/2*9/4) // the claim takes the first delay, its extension the second

	bubbleAround(t, &idemddb.Options{Lease: lease}, delayed, func(f *fixture) {
		begun := time.Now()

		c, _, err := f.store.Claim(f.Context(), "k", nil)
		if c != nil && !c.Held() {
			f.Errorf("a claim that is over since %v was returned after %v", time.Since(c.Deadline()), time.Since(begun))
		}

		if c == nil && err == nil {
			f.Error("neither a claim nor an error")
		}
	})
}

func TestALeaseThatEndsAtTheDeadlineIsNotExtended(t *testing.T) {
	t.Parallel()
	bubble(t, &idemddb.Options{Lease: time.Minute}, func(f *fixture) {
		ctx := within(f, 10*time.Second)
		c := granted(f)(f.store.Claim(ctx, "k", nil))

		work, stop := c.Keep(ctx)
		<-work.Done()
		stop()

		if n := len(f.requests()); n != 1 {
			f.Errorf("%d requests, want the claim alone", n)
		}
	})
}
