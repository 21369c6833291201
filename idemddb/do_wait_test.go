package idemddb_test

import (
	"context"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

// Another worker holds the key when the work of Do is committed, and settles it two seconds later.
func TestOptimisticDoWaitsForAnotherWorker(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		wait   time.Duration
		settle func(context.Context, *idemddb.Claim) error
		value  string
		err    error
		writes int64 // of the effect
	}{
		"which completes": {5 * time.Second, func(ctx context.Context, c *idemddb.Claim) error {
			return c.Complete(ctx, []byte(`"theirs"`))
		}, "theirs", nil, 0},
		"which releases": {5 * time.Second, func(ctx context.Context, c *idemddb.Claim) error {
			return c.Release(ctx, nil)
		}, "mine", nil, 1},
		"for too short": {time.Second, func(ctx context.Context, c *idemddb.Claim) error {
			return c.Release(ctx, nil)
		}, "mine", idemddb.ErrInProgress, 0},
		"not": {0, func(ctx context.Context, c *idemddb.Claim) error { return c.Release(ctx, nil) }, "mine", idemddb.ErrInProgress, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(f *fixture) {
				other := claim(f, f.store, "k")

				time.AfterFunc(2*time.Second, func() { must(f, test.settle(f.Context(), other)) })

				begun, runs := time.Now(), 0
				opts := &idemddb.ClaimOptions{Optimistic: true, Wait: test.wait}

				got, err := idemddb.Do(f.Context(), f.store, "k", opts, func(ctx context.Context) (string, error) {
					runs++

					return "mine", idemddb.Stage(ctx, items(counted("e")))
				})
				if got != test.value || runs != 1 {
					f.Errorf("got %q after %d runs, want %q", got, runs, test.value)
				}

				if test.err == nil {
					must(f, err)
				} else {
					is(f, err, test.err)
				}

				if took, limit := time.Since(begun), min(test.wait, 3*time.Second); took > limit {
					f.Errorf("it took %v, want at most %v", took, limit)
				}

				<-time.After(5 * time.Second)
				happened(f, f.db, "e", test.writes)
			})
		})
	}
}
