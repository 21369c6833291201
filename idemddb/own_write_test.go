package idemddb_test

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// A record is that of a claim only if both tokens are: owner tokens and fencing tokens come back after a deletion or Reopen.
func TestASettlementIsNotRecognisedInTheRecordOfAnotherClaim(t *testing.T) {
	t.Parallel()

	for name, change := range map[string]map[string]types.AttributeValue{
		"another owner token":   {"own": text("another")},
		"another fencing token": {"fence": &types.AttributeValueMemberN{Value: "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(f *fixture) {
				for verb, settle := range map[string]func(*idemddb.Claim) error{
					"COMPLETED": func(c *idemddb.Claim) error { return c.Complete(f.Context(), []byte("done")) },
					"FAILED":    func(c *idemddb.Claim) error { return c.Fail(f.Context(), errors.New("no such account")) },
				} {
					c := claim(f, f.store, verb)
					must(f, settle(c))
					f.edit(verb, change)
					is(f, settle(c), idemddb.ErrFenced)
				}
			})
		})
	}
}

func TestAnExtensionIsNotRecognisedInARecordThatIsSettled(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		c := claim(f, f.store, "k")
		must(f, c.Complete(f.Context(), nil))
		f.edit("k", map[string]types.AttributeValue{"lease": &types.AttributeValueMemberN{Value: "9999999999999"}})
		is(f, c.Extend(f.Context()), idemddb.ErrFenced)
	})
}

// A foreign writer has removed it.
func TestAnExtensionIsNotRecognisedInARecordWithoutALease(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		c, it := claim(f, f.store, "k"), f.record("k")
		delete(it, "lease")
		put(f, f.db, it)
		is(f, c.Extend(f.Context()), idemddb.ErrFenced)
	})
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
