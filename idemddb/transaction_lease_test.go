package idemddb_test

import (
	"context"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// The deadline of the invocation is in 8 s, and the transaction is sent after 7 s, for 2 s at least. A successor must not wait
// for longer than the deadline, whatever is written between two tries.
func TestBetweenTheTriesOfATransactionTheLeaseIsNotExtendedBeyondTheDeadline(t *testing.T) {
	t.Parallel()

	bubble(t, nil, func(f *fixture) {
		ctx := within(f, 8*time.Second)
		deadline := time.Now().Add(8 * time.Second)

		c := granted(f)(f.store.Claim(ctx, "k", nil))
		<-time.After(7 * time.Second)

		tries := 0
		f.db.Intercept(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
			if r.Operation != "TransactWriteItems" {
				return idemddbtest.None
			}

			if tries++; tries < 3 {
				return idemddbtest.Throttle
			}

			if lease := numberOf(f, recordOf(f.db, "k"), "lease"); lease > deadline.UnixMilli() {
				f.Errorf("the lease ends %v after the deadline", time.UnixMilli(lease).Sub(deadline))
			}

			return idemddbtest.None
		})

		must(f, c.CompleteWith(ctx, nil, items(counted("a"))))

		if tries != 3 {
			f.Errorf("%d tries, want 3", tries)
		}
	})
}

// With more than a third of the lease, the next try of the transaction comes first.
func TestBetweenTheTriesOfATransactionALeaseIsExtendedInItsLastThird(t *testing.T) {
	t.Parallel()

	for after, want := range map[time.Duration][]string{
		19 * time.Second: {"TransactWriteItems", "TransactWriteItems"},
		21 * time.Second: {"TransactWriteItems", "UpdateItem", "TransactWriteItems"},
	} {
		bubble(t, &idemddb.Options{Lease: 30 * time.Second}, func(f *fixture) {
			c := f.claims(1)[0]
			<-time.After(after)
			f.db.Inject(idemddbtest.Throttle)

			must(f, c.CompleteWith(f.Context(), nil, items(counted("a"))))
			f.want(want...)
		})
	}
}
