package idemddb_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/around"
)

// tries records when requests arrive.
type tries []time.Time

// intercept returns an interceptor that records each request and gives it this fault.
func (tr *tries) intercept(fault idemddbtest.Fault) func(context.Context, idemddbtest.Request) idemddbtest.Fault {
	return func(context.Context, idemddbtest.Request) idemddbtest.Fault {
		*tr = append(*tr, time.Now())

		return fault
	}
}

// longest returns the longest pause between two tries.
func (tr *tries) longest() time.Duration {
	var longest time.Duration
	for i := 1; i < len(*tr); i++ {
		longest = max(longest, (*tr)[i].Sub((*tr)[i-1]))
	}

	return longest
}

// last returns when the last try arrived.
func (tr *tries) last() time.Time { return (*tr)[len(*tr)-1] }

// until demands that tries went on until this time: at most 5 ms are left.
func (tr *tries) until(t testing.TB, end time.Time) {
	t.Helper()

	if left := end.Sub(tr.last()); left < 0 || left > 5*time.Millisecond {
		t.Errorf("the last try was %v before the end", left)
	}
}

func TestAClaimThatIsNotAnsweredEndsWithItsRetryTime(t *testing.T) {
	t.Parallel()

	for _, fault := range []idemddbtest.Fault{
		idemddbtest.LostRequest, idemddbtest.Throttle, idemddbtest.ServerError, idemddbtest.TransactionConflict,
		idemddbtest.ReplicatedWriteConflict, idemddbtest.TruncatedBody, idemddbtest.EmptyAnswer,
	} {
		for name, c := range map[string]struct{ retryTime, deadline, want time.Duration }{
			"the default":           {0, 0, 5 * time.Second},
			"a distant deadline":    {0, 15 * time.Minute, 5 * time.Second},
			"a near deadline":       {0, 3 * time.Second, 3 * time.Second},
			"Options.ClaimPatience": {time.Second, 0, time.Second},
		} {
			t.Run(string(fault)+", "+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s, db, events := observed(t, &idemddb.Options{ClaimPatience: c.retryTime})

					ctx := t.Context()
					if c.deadline > 0 {
						ctx = within(t, c.deadline)
					}

					var sent tries

					db.Intercept(sent.intercept(fault))

					begun := time.Now()

					if won, rec, err := s.Claim(ctx, "k", nil); won != nil || rec != nil || err == nil {
						t.Fatalf("got %v, %v, %v, want an error", won, rec, err)
					}

					sent.until(t, begun.Add(c.want))
					events.want(t, idemddb.KindUnanswered)

					// The pauses double up to a second, so the tries of 5 s are few.
					if n := len(sent); n > 45 || events.count(idemddb.KindRetried) != n-1 {
						t.Errorf("%d requests, %d events %s", n, events.count(idemddb.KindRetried), idemddb.KindRetried)
					}

					if longest := sent.longest(); longest > time.Second {
						t.Errorf("a pause of %v, want at most 1s", longest)
					}
				})
			})
		}
	}
}

func TestAnOutageOfManyClaimsDoesNotHoldTheInvocation(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		opts     idemddb.Options
		longest  time.Duration
		requests int
	}{
		"shared requests": {idemddb.Options{}, 5*time.Second + 2*time.Second, 80},
		"Options.Single":  {idemddb.Options{Single: true}, 5*time.Second + 2*time.Second, 500},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, &c.opts, func(f *fixture) {
				f.db.Intercept(always(idemddbtest.LateReply))

				begun := time.Now()

				// Ten at once, and then ten more, one after another.
				for _, a := range f.claimAll(10, false) {
					if a.err == nil {
						f.Error("got no error")
					}
				}

				for _, key := range numbered(10) {
					if _, _, err := f.batch.Claim(f.Context(), "later "+key, nil); err == nil {
						f.Error("got no error")
					}
				}

				if took := time.Since(begun); took > c.longest {
					f.Errorf("took %v", took)
				}

				if n := len(f.requests()); n > c.requests {
					f.Errorf("%d requests", n)
				}
			})
		})
	}
}

func TestAnAnswerThatRefusesTheRequestIsFinalForAClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, db := newStore(t, nil)
		db.Inject(idemddbtest.AccessDenied)

		_, _, err := s.Claim(t.Context(), "k", nil)
		if err == nil || !strings.Contains(err.Error(), "the role needs dynamodb:UpdateItem") {
			t.Errorf("got %v, want what the role needs", err)
		}

		if n := len(db.Requests()); n != 1 {
			t.Errorf("%d requests, want 1", n)
		}
	})
}

func TestAReplyThatNeverComesLeavesTimeForAnotherTry(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct{ retryTime, left, want time.Duration }{
		"the default retry time": {0, 0, 5 * time.Second / 3},
		"a long retry time":      {time.Minute, 0, 2 * time.Second},
		"a near deadline":        {0, 3 * time.Second, time.Second},
		"a distant deadline":     {time.Minute, time.Minute, 2 * time.Second},
		"hardly any time left":   {0, 200 * time.Millisecond, 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, db := newStore(t, &idemddb.Options{ClaimPatience: c.retryTime})
				db.Inject(idemddbtest.LateReply)

				ctx := t.Context()
				if c.left > 0 {
					ctx = within(t, c.left)
				}

				begun := time.Now()

				won := granted(t)(s.Claim(ctx, "k", nil))

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

// settlements are the writes that settle finished work.
var settlements = map[string]func(context.Context, *idemddb.Claim) error{
	"complete": func(ctx context.Context, c *idemddb.Claim) error { return c.Complete(ctx, []byte("done")) },
	"release":  func(ctx context.Context, c *idemddb.Claim) error { return c.Release(ctx, nil) },
	"unused":   func(ctx context.Context, c *idemddb.Claim) error { return c.ReleaseUnused(ctx) },
	"fail":     func(ctx context.Context, c *idemddb.Claim) error { return c.Fail(ctx, nil) },
}

// An outage that ends within the time costs nothing then, and each long pause is a window for a crash.
func TestASettlementIsSentUntilTheEndOfItsTimeWithShortPauses(t *testing.T) {
	t.Parallel()

	for verb, settle := range settlements {
		for _, fault := range []idemddbtest.Fault{
			idemddbtest.LostRequest, idemddbtest.Throttle, idemddbtest.AccessDenied, idemddbtest.EmptyAnswer,
		} {
			for name, c := range map[string]struct{ deadline, want time.Duration }{
				"no deadline":       {0, 30 * time.Second}, // this is one Lease
				"a deadline":        {10 * time.Second, 10 * time.Second},
				"a near deadline":   {time.Second, 2 * time.Second},
				"a deadline so far": {2 * time.Second, 2 * time.Second},
			} {
				t.Run(verb+", "+string(fault)+", "+name, func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						s, db := newStore(t, nil)
						held := claim(t, s, "k")

						ctx := t.Context()
						if c.deadline > 0 {
							ctx = within(t, c.deadline)
						}

						var sent tries

						db.Intercept(sent.intercept(fault))

						begun := time.Now()

						if err := settle(ctx, held); err == nil {
							t.Error("got no error")
						}

						sent.until(t, begun.Add(c.want))

						if longest := sent.longest(); longest > 200*time.Millisecond+1 {
							t.Errorf("a pause of %v, want at most 200ms", longest)
						}
					})
				})
			}
		}
	}
}

// The first pauses are short, and they double: 25 ms, 50 ms, 100 ms, 200 ms at most.
func TestPausesDouble(t *testing.T) {
	t.Parallel()

	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			s, db := newStore(t, nil)
			held := claim(t, s, "k")

			var sent tries

			db.Intercept(sent.intercept(idemddbtest.LostRequest))
			is(t, held.Complete(t.Context(), nil), idemddb.ErrUnrecorded)

			for i, limit := range []time.Duration{
				25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 200 * time.Millisecond,
			} {
				if pause := sent[i+1].Sub(sent[i]); pause > limit+1 {
					t.Errorf("pause %d has %v, want at most %v", i, pause, limit)
				}
			}

			// Full jitter: on average half of 200 ms, so about 300 tries in 30 s.
			if n := len(sent); n < 200 || n > 450 {
				t.Errorf("%d tries in 30s", n)
			}
		})
	}
}

func TestACompletionThatIsDeniedIsSentForOneLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, db, events := observed(t, &idemddb.Options{Lease: 10 * time.Second})
		held := claim(t, s, "k")

		ctx := within(t, 5*time.Minute)
		var sent tries

		db.Intercept(sent.intercept(idemddbtest.AccessDenied))

		begun := time.Now()
		err := held.Complete(ctx, nil)
		is(t, err, idemddb.ErrUnrecorded)

		if took := time.Since(begun); took < 10*time.Second || took > 10*time.Second+200*time.Millisecond {
			t.Errorf("gave up after %v, want one lease", took)
		}

		if !strings.Contains(err.Error(), "access denied") {
			t.Errorf("got %v, want the last answer", err)
		}

		events.want(t, idemddb.KindClaimed, idemddb.KindUnrecorded)
	})
}

func TestACompletionThatIsDeniedForAMomentIsRecorded(t *testing.T) {
	t.Parallel()

	for name, opts := range map[string]*idemddb.Options{"shared requests": nil, "Options.Single": {Single: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, opts, func(f *fixture) {
				claims := f.claims(10)
				f.db.Intercept(faultUntil(5*time.Second, idemddbtest.AccessDenied, idemddbtest.AccessDenied))
				f.complete(claims...)
				f.replayed(10)
			})
		})
	}
}

var errInvalid = &smithy.GenericAPIError{Code: "ValidationException"}

func TestACompletionThatIsNotValidIsNotRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, db := newStore(t, nil)
		requests := 0 // the first one alone is valid
		client := &around.Client{DB: db, Do: around.Before(func(*dynamodb.UpdateItemInput) error {
			if requests++; requests > 1 {
				return errInvalid
			}

			return nil
		})}
		held := claim(t, storeOn(t, client, nil), "k")
		err := held.Complete(t.Context(), nil)
		is(t, err, idemddb.ErrUnrecorded)
		is(t, err, errInvalid)

		if requests != 2 {
			t.Errorf("%d requests, want 2", requests)
		}
	})
}
