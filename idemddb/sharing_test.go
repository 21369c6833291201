package idemddb_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

type tenant struct{}

// The tenant, the trace and the credentials of one caller must not travel with the writes of another one. Those of a request of
// its own are there, also when its context has ended.
func TestARequestOfSeveralCallersHasNoContextOfTheirs(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		claims := f.claims(3)

		f.db.Intercept(func(ctx context.Context, r idemddbtest.Request) idemddbtest.Fault {
			if isShared, has := len(r.Items) > 0, ctx.Value(tenant{}) != nil; isShared == has {
				f.Errorf("%s of %d writes, with a tenant: %t", r.Operation, len(r.Items), has)
			}

			return idemddbtest.None
		})

		ctx, cancel := context.WithCancel(context.WithValue(f.Context(), tenant{}, "a"))
		cancel()

		for _, err := range atOnce(claims[:2], func(c *idemddb.Claim) error { return c.Release(ctx, nil) }) {
			must(f, err)
		}

		f.db.ResetRequests()
		must(f, claims[2].Complete(ctx, nil))
		f.want("UpdateItem")
	})
}

// Eight requests at most are under way, and one that takes longer than 100 ms does not count.
func TestRequestsThatHangHoldUpOthersForAMomentOnly(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		f.db.Intercept(func(ctx context.Context, r idemddbtest.Request) idemddbtest.Fault {
			for _, part := range append(r.Items, r) {
				if strings.HasPrefix(textOf(part.Key, "pk"), "test#h") {
					<-ctx.Done()

					return idemddbtest.LostRequest
				}
			}

			return idemddbtest.None
		})

		ctx, cancel := context.WithTimeout(f.Context(), time.Second)
		defer cancel()

		var all sync.WaitGroup

		for i := range 20 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * 15 * time.Millisecond) //nolint:forbidigo // this moves the bubble's clock

				if _, _, err := f.store.Claim(ctx, fmt.Sprint("h", i), nil); err == nil {
					f.Error("a request that hangs is a claim")
				}
			})
		}

		first := time.Now().Add(7 * time.Millisecond)

		for i := range 18 {
			time.Sleep(time.Until(first.Add(time.Duration(i) * 15 * time.Millisecond))) //nolint:forbidigo // between two of those that hang

			begun := time.Now()
			claim(f, f.store, fmt.Sprint("k", i))

			if took := time.Since(begun); took > 3*time.Millisecond {
				f.Errorf("claim %d has waited for %v", i, took)
			}
		}

		cancel()
		all.Wait()
	})
}

// Each caller leaves at another moment: before its write is sent, while it is under way, and while it waits for its next try.
func TestCallersMayLeaveAtAnyMoment(t *testing.T) {
	t.Parallel()

	for after := range 30 {
		bubble(t, nil, func(f *fixture) {
			f.slow(3 * time.Millisecond)
			f.db.Inject(idemddbtest.None, idemddbtest.Throttle, idemddbtest.LostReply, idemddbtest.Throttle)

			ctx := within(f, time.Duration(after)*500*time.Microsecond)
			var all sync.WaitGroup

			for i := range 6 {
				all.Go(func() {
					time.Sleep(time.Duration(i) * 700 * time.Microsecond) //nolint:forbidigo // this moves the bubble's clock

					with := ctx
					if i%2 == 1 {
						with = f.Context()
					}

					claim, _, err := f.store.Claim(with, fmt.Sprint(i), nil)
					if (claim == nil) == (err == nil) || i%2 == 1 && err != nil {
						f.Errorf("caller %d: %v, %v", i, claim, err)
					}
				})
			}

			all.Wait()
			f.db.Intercept(nil)
			f.db.ResetRequests()
			f.takes(0, func() { claim(f, f.store, "afterwards") })
			f.want("UpdateItem")
		})
	}
}
