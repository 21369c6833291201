package idemddb_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// The context of a handler ends before the invocation does, and the lease should not.
func TestALeaseIsBoundByTheInvocationAndNotByTheContext(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct{ invocation, context, want time.Duration }{
		"an invocation that ends before the lease": {20 * time.Second, 10 * time.Second, 20 * time.Second},
		"an invocation that ends after the lease":  {time.Minute, 10 * time.Second, 30 * time.Second},
		"an invocation without an end":             {0, 10 * time.Second, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachWay(t, nil, func(f *fixture, claimKey claimer) {
				ctx := within(f, c.context)
				end := time.Time{}
				if c.invocation > 0 {
					end = time.Now().Add(c.invocation)
				}

				held := granted(f)(claimKey(idemddb.WithInvocation(ctx, end, time.Time{}), "k", nil))

				if left := time.Until(held.Deadline()); left > c.want || left < c.want-time.Millisecond {
					f.Errorf("a lease of %v, want %v", left, c.want)
				}
			})
		})
	}
}

func TestARenewedLeaseIsBoundByTheInvocation(t *testing.T) {
	t.Parallel()
	bubble(t, &idemddb.Options{Lease: 10 * time.Second}, func(f *fixture) {
		end := time.Now().Add(32 * time.Second)
		ctx := idemddb.WithInvocation(f.Context(), end, time.Time{})

		c := granted(f)(f.store.Claim(ctx, "k", nil))

		_, stop := c.Keep(ctx)
		<-time.After(31 * time.Second)
		stop()

		if over := end.Sub(c.Deadline()); over < 0 || over > time.Millisecond {
			f.Errorf("the lease ends %v before the invocation", over)
		}

		if n := len(f.requests()); n > 7 {
			f.Errorf("%d requests; a lease that lasts to the end is not renewed", n)
		}
	})
}

func TestASettlementIsSentUntilTheTimeThatTheWrapperSets(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct{ settleBy, context, want time.Duration }{
		"earlier than the context":    {3 * time.Second, 10 * time.Second, 3 * time.Second},
		"later than the context":      {10 * time.Second, time.Second, 10 * time.Second},
		"earlier than 2 s":            {500 * time.Millisecond, 10 * time.Second, 500 * time.Millisecond},
		"later than the lease":        {time.Minute, 10 * time.Second, time.Minute},
		"over already: for 2 s":       {-time.Second, 10 * time.Second, 2 * time.Second},
		"no such time: for one lease": {0, 10 * time.Second, 30 * time.Second},
	} {
		for _, shared := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				bubble(t, &idemddb.Options{Single: !shared}, func(f *fixture) {
					claims := f.claims(2)

					ctx := within(f, c.context)
					settleBy := time.Time{}
					if c.settleBy != 0 {
						settleBy = time.Now().Add(c.settleBy)
					}

					ctx = idemddb.WithInvocation(ctx, time.Time{}, settleBy)
					begun := time.Now()

					f.db.Intercept(always(idemddbtest.LostRequest))

					for _, err := range atOnce(claims, func(c *idemddb.Claim) error { return c.Complete(ctx, nil) }) {
						is(f, err, idemddb.ErrUnrecorded)
					}

					if took := time.Since(begun); took > c.want || took < c.want-5*time.Millisecond {
						f.Errorf("gave up after %v, want %v", took, c.want)
					}

					if len(f.requests()) == 0 {
						f.Error("no requests")
					}
				})
			})
		}
	}
}

func TestOnRetryIsCalledForEachRetryOfASettlement(t *testing.T) {
	t.Parallel()

	for verb, settle := range settlements {
		for name, c := range map[string]struct {
			opts   idemddb.Options
			writes int
		}{
			"a write that is alone": {idemddb.Options{}, 1},
			"a shared request":      {idemddb.Options{}, 3},
			"Options.Single":        {idemddb.Options{Single: true}, 1},
		} {
			t.Run(verb+", "+name, func(t *testing.T) {
				t.Parallel()
				bubble(t, &c.opts, func(f *fixture) {
					claims := f.claims(c.writes)
					f.db.Inject(idemddbtest.LostRequest, idemddbtest.Throttle, idemddbtest.LostReply)

					var calls atomic.Int64

					begun := time.Now()
					ctx := idemddb.OnRetry(f.Context(), func() {
						if took := time.Since(begun); calls.Add(1) <= int64(c.writes) && took != 0 {
							f.Errorf("called after %v, want before the first pause", took)
						}
					})
					f.succeed(claims, func(c *idemddb.Claim) error { return settle(ctx, c) })

					if got := calls.Load(); got != int64(3*c.writes) {
						f.Errorf("%d calls, want 3 for each of %d writes", got, c.writes)
					}
				})
			})
		}
	}
}
