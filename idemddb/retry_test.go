package idemddb_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

func TestAClaimThatGetsNoAnswerEndsAfterTenSeconds(t *testing.T) {
	t.Parallel()

	for _, fault := range []idemddbtest.Fault{
		idemddbtest.LostRequest, idemddbtest.Throttle, idemddbtest.ServerError, idemddbtest.TransactionConflict, idemddbtest.TruncatedBody,
	} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, db := newStore(t, nil)
				db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault { return fault })

				begun := time.Now()

				c, rec, err := s.Claim(t.Context(), "k", nil)
				if fault == idemddbtest.TruncatedBody { // applied, and known by its token as soon as a reply arrives
					db.Intercept(nil)
				}

				if c != nil || rec != nil || err == nil {
					t.Fatalf("got %v, %v, %v, want an error", c, rec, err)
				}

				if took := time.Since(begun); took < 8*time.Second || took > 11*time.Second {
					t.Errorf("gave up after %v, want about 10s", took)
				}
			})
		})
	}
}

func TestANoOfTheServiceIsNotRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, db := newStore(t, nil)
		db.Inject(idemddbtest.AccessDenied)

		if _, _, err := s.Claim(t.Context(), "k", nil); err == nil {
			t.Error("no error")
		}

		if n := len(db.Requests()); n > 1 {
			t.Errorf("%d requests, want 1", n)
		}
	})
}

func TestRetriesEndWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, db := newStore(t, nil)
		db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault { return idemddbtest.LostRequest })

		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()

		begun := time.Now()

		if _, _, err := s.Claim(ctx, "k", nil); err == nil || time.Since(begun) > 3*time.Second {
			t.Errorf("got %v after %v, want an error within 3s", err, time.Since(begun))
		}
	})
}

func TestAReplyThatNeverComesLeavesTimeForAnotherAttempt(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct{ left, want time.Duration }{
		"no deadline":        {0, 2 * time.Second},
		"a near deadline":    {3 * time.Second, time.Second},
		"a distant minute":   {time.Minute, 2 * time.Second},
		"hardly any is left": {200 * time.Millisecond, 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, db := newStore(t, nil)
				db.Inject(idemddbtest.LateReply)

				ctx, cancel := context.WithCancel(t.Context())
				if c.left > 0 {
					ctx, cancel = context.WithTimeout(t.Context(), c.left)
				}

				defer cancel()

				begun := time.Now()

				won, _, err := s.Claim(ctx, "k", nil)
				if err != nil {
					t.Fatal(err)
				}

				if won.Attempt() != 1 {
					t.Errorf("attempt %d, want its own earlier one", won.Attempt())
				}

				if took := time.Since(begun); took < c.want || took > c.want+25*time.Millisecond+1 {
					t.Errorf("took %v, want %v and a pause", took, c.want)
				}
			})
		})
	}
}

func TestACompletionThatNeverGetsThroughIsUnrecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var kinds []idemddb.Kind

		s, db := newStore(t, &idemddb.Options{Observe: func(_ context.Context, e idemddb.Event) {
			if e.Kind != idemddb.Retried {
				kinds = append(kinds, e.Kind)
			}
		}})
		c := claim(t, s, "k")

		db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault { return idemddbtest.LostRequest })

		if err := c.Complete(t.Context(), nil); !errors.Is(err, idemddb.ErrUnrecorded) {
			t.Errorf("got %v, want unrecorded", err)
		}

		if len(kinds) != 2 || kinds[0] != idemddb.Claimed || kinds[1] != idemddb.Unrecorded {
			t.Errorf("events: %v", kinds)
		}
	})
}

func TestDoReturnsTheValueOfUnrecordedWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, db := newStore(t, nil)

		got, err := idemddb.Do(t.Context(), s, "k", nil, func(context.Context) (string, error) {
			db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault { return idemddbtest.ServerError })

			return "paid", nil
		})
		if got != "paid" || !errors.Is(err, idemddb.ErrUnrecorded) {
			t.Errorf("got %q, %v, want the value and unrecorded", got, err)
		}
	})
}
