package idemddb_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

// The cause of a context that ends may be the error of another key. It says why, and nothing of the key in question.
func TestACallWaitsNoLongerThanItsLimitAndItsContext(t *testing.T) {
	t.Parallel()

	for name, call := range map[string]func(ctx context.Context, s *idemddb.Store, limit time.Duration) error{
		"Claim": func(ctx context.Context, s *idemddb.Store, limit time.Duration) error {
			_, _, err := s.Claim(ctx, "k", &idemddb.ClaimOptions{Wait: limit})

			return err
		},
		"Commit": func(ctx context.Context, s *idemddb.Store, limit time.Duration) error {
			_, err := s.Commit(ctx, "k", &idemddb.ClaimOptions{Wait: limit}, nil, items(counted("e")))

			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(f *fixture) {
				claim(f, f.store, "k")
				f.takes(time.Second, func() { is(f, call(f.Context(), f.store, time.Second), idemddb.ErrInProgress) })
				f.takes(time.Second, func() {
					err := call(within(f, time.Second), f.store, time.Minute)
					is(f, err, idemddb.ErrInProgress)
					is(f, err, context.DeadlineExceeded)
				})

				ctx, cancel := context.WithCancelCause(f.Context())
				time.AfterFunc(time.Second, func() { cancel(&idemddb.FailedError{Key: "another", Cause: "closed"}) })

				err := call(ctx, f.store, time.Minute)
				is(f, err, idemddb.ErrInProgress)
				is(f, err, context.Canceled)

				if errors.Is(err, idemddb.ErrFailed) || !strings.Contains(err.Error(), "closed") {
					f.Errorf("got %v, want the reason, and nothing of a key that has failed", err)
				}
			})
		})
	}
}

func TestAWaitingClaimTakesOverWhenTheLeaseEnds(t *testing.T) {
	t.Parallel()
	eachWay(t, &idemddb.Options{Lease: 2 * time.Second}, func(f *fixture, claimKey claimer) {
		claim(f, f.store, "k")

		c, rec, err := claimKey(f.Context(), "k", &idemddb.ClaimOptions{Wait: time.Minute})
		if c == nil || !c.Takeover() {
			f.Errorf("got record %v, error %v, want a takeover", rec, err)
		}
	})
}
