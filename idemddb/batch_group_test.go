package idemddb_test

import (
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

// A handler has a Store of its own and calls it with the context of its batch. The mutex of one Store does not guard the groups
// of another one, and what the batch announces is none of its business.
func TestABatchIsNoGroupOfAnotherStore(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		f.batch.Expect(2)
		f.takes(0, func() {
			if c, _, err := f.batch.On(storeOn(f, f.db, nil)).Claim(f.Context(), "k", nil); c == nil {
				f.Error(err)
			}
		})
	})
}

// A claim waits for 0.2 ms, because a member of its batch is at work, and takes 1 ms. The completion that comes after 1.1 ms
// would wait until 1.3 ms for the claim, if that did not end without a membership at 1.2 ms.
func TestAWriteDoesNotWaitForAMemberThatHasLeft(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		done := f.claims(1)[0]
		claim(f, storeOn(f, f.db, nil), "x")
		f.slow(time.Millisecond)

		refused := make(chan error)
		go func() {
			_, _, err := f.batch.Claim(f.Context(), "x", nil)
			refused <- err
		}()

		<-time.After(1100 * time.Microsecond)
		f.takes(1100*time.Microsecond, func() { f.complete(done) })
		is(f, <-refused, idemddb.ErrInProgress)
	})
}

// The first of two completions waits for the other one, which is still at work. The second one has nobody to wait for: the first
// claim has left.
func TestTheLastCompletionOfABatchWaitsForNobody(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		claims := f.claims(2)
		f.takes(200*time.Microsecond, func() { f.complete(claims[0]) })
		f.takes(0, func() { f.complete(claims[1]) })
	})
}

// An extension waits for another member of its batch, unless less than a third of its lease is left.
func TestAnExtensionInTheLastThirdOfItsLeaseWaitsForNobody(t *testing.T) {
	t.Parallel()

	for after, want := range map[time.Duration]time.Duration{19 * time.Second: 200 * time.Microsecond, 21 * time.Second: 0} {
		bubble(t, &idemddb.Options{Lease: 30 * time.Second}, func(f *fixture) {
			c := f.claims(2)[0]
			<-time.After(after)
			f.takes(want, func() { must(f, c.Extend(f.Context())) })
		})
	}
}

// A commit waits for others of its batch for half of the time that it has, at most: the other half is for sending it.
func TestACommitKeepsHalfOfItsTimeForBeingSent(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		ctx := idemddb.WithInvocation(f.Context(), time.Time{}, time.Now().Add(60*time.Millisecond))
		f.takes(30*time.Millisecond, func() {
			_, err := f.batch.Commit(ctx, "k", nil, nil, items(counted("a")))()
			must(f, err)
		})
		happened(f, f.db, "a", 1)
	})
}
