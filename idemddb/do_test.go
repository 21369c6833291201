package idemddb_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

func TestDoReleasesAfterItsContextHasEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := newStore(t, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)

		defer cancel()

		_, err := idemddb.Do(ctx, s, "k", nil, func(ctx context.Context) (int, error) {
			<-ctx.Done()

			return 0, ctx.Err()
		})
		if !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "release") {
			t.Errorf("got %v, want the deadline alone", err)
		}

		claim(t, s, "k")
	})
}

func TestDoShowsTheErrorOfTheWorkBeforeThatOfTheRelease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, db := newStore(t, nil)
		_, err := idemddb.Do(t.Context(), s, "k", nil, func(context.Context) (int, error) {
			db.Intercept(always(idemddbtest.AccessDenied))

			return 0, errors.New("bank closed")
		})

		if err == nil || !strings.HasPrefix(err.Error(), "bank closed\nidemddb: release of key sha256:") {
			t.Errorf("got %v, want both", err)
		}
	})
}

// What need not happen exactly once, such as a mail, may come after the completion.
func TestWorkThatSettlesItsClaimItselfGoesOn(t *testing.T) {
	t.Parallel()

	for verb, settle := range settlements {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, db, events := observed(t, &idemddb.Options{Lease: 10 * time.Second})

				got, err := idemddb.Do(t.Context(), s, "k", nil, func(ctx context.Context) (int, error) {
					c, _ := idemddb.FromContext(ctx)
					must(t, settle(ctx, c))

					select {
					case <-time.After(time.Minute):
						return 1, nil
					case <-ctx.Done():
						return 0, context.Cause(ctx)
					}
				})
				if got != 1 || err != nil {
					t.Errorf("got %d, %v, want 1", got, err)
				}

				if n := len(events.kinds()); n != 2 || len(db.Requests()) != 2 {
					t.Errorf("events %q, %d requests, want the claim and the settlement", events.kinds(), len(db.Requests()))
				}
			})
		})
	}
}

func TestDoReturnsTheValueOfWorkWhoseRecordWasDeleted(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		got, err := idemddb.Do(f.Context(), f.store, "k", nil, func(context.Context) (string, error) {
			erase(f, f.db, "k")

			return "paid", nil
		})
		if got != "paid" || err != nil || f.record("k") != nil {
			f.Errorf("got %q, %v, record%s; want the value and no record", got, err, show(f.record("k")))
		}

		f.events.want(f, idemddb.KindClaimed, idemddb.KindFenced)
	})
}

// deliver is a queue: it calls the handler of a message up to four times, a minute apart, until it returns nil. It returns how
// often.
func (f *fixture) deliver(handle func(context.Context) error) (deliveries int) {
	for deliveries = 1; deliveries < 4; deliveries++ {
		if handle(f.Context()) == nil {
			return deliveries
		}

		<-time.After(time.Minute)
	}

	return deliveries
}

func TestACallerThatIgnoresTheRecordPanicsWithTheReasonBeforeItsCompletion(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		handle := func(ctx context.Context) error {
			c, _, err := f.store.Claim(ctx, "k", nil)
			if err != nil {
				return err
			}

			return c.Complete(ctx, nil)
		}
		must(f, handle(f.Context()))

		if text, _ := recovered(func() { _ = handle(f.Context()) }).(string); !strings.HasPrefix(text, "idemddb: nil Claim: the key was not claimed") {
			f.Errorf("panicked with %q, want what is wrong", text)
		}
	})
}

func TestACallerThatOnlyReturnsTheErrorOfCompleteDoesNotRepeatALargeResult(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		effects := 0

		deliveries := f.deliver(func(ctx context.Context) error {
			c, rec, err := f.store.Claim(ctx, "k", nil)
			if err != nil || rec != nil {
				return err
			}

			effects++

			return c.Complete(ctx, make([]byte, 6_500_000))
		})
		if effects != 1 || deliveries != 2 {
			f.Errorf("%d effects in %d deliveries, want 1 in 2", effects, deliveries)
		}
	})
}
