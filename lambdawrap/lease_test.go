package lambdawrap_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestALostClaimCancelsTheHandler(t *testing.T) {
	t.Parallel()
	bubble(t, &idemddb.Options{Lease: 10 * time.Second}, func(h *harness) {
		function := h.handle(func(ctx context.Context, _ events.SQSMessage) error {
			h.steal("k")
			<-ctx.Done()
			h.equal("it is fenced", errors.Is(context.Cause(ctx), idemddb.ErrFenced), true)

			return context.Cause(ctx)
		})
		h.expect(function, batch("m1 k"), []string{"m1"}, []string{"m1"})
	})
}

// competitor claims these keys again and again until ctx ends. It returns the number of claims that it got.
func (h *harness) competitor(ctx context.Context, keys int) *atomic.Int64 {
	var got atomic.Int64

	rival := h.open(h.db, &idemddb.Options{Single: true, Observe: func(context.Context, idemddb.Event) {}})

	go func() {
		for ctx.Err() == nil {
			for i := range keys {
				claim, _, _ := rival.Claim(ctx, fmt.Sprintf("k%d", i), nil)
				if claim != nil {
					got.Add(1)
				}
			}

			time.Sleep(7 * time.Second)
		}
	}()

	return &got
}

func TestClaimsThatWaitKeepTheirLeases(t *testing.T) {
	t.Parallel()

	for name, wrap := range map[string]func(*harness, lambdawrap.Handler) wrapped{"SQS": (*harness).handle, "Batch": (*harness).whole} {
		each(t, name, inBubble(nil), func(h *harness) {
			ctx, cancel := context.WithCancel(h.Context())

			var got *atomic.Int64

			function := wrap(h, func(_ context.Context, m events.SQSMessage) error {
				if m.MessageId == "m0" {
					got = h.competitor(ctx, 20)
				}

				time.Sleep(40 * time.Second)

				return nil
			})

			h.expect(function, numbered(20), nil, messageIDs(20))
			cancel()
			h.equal("taken over", got.Load(), int64(0))
			h.equal("fenced", h.count(idemddb.KindFenced), 0)

			renewals, inGroups := 0, 0

			for _, r := range h.db.Requests() {
				for _, part := range append(r.Items, r) {
					if strings.HasPrefix(part.Update, `SET "lease" = ?`) || strings.HasPrefix(part.Update, "SET lease = :lease") {
						renewals++
					}
				}

				if len(r.Items) > 0 {
					inGroups++
				}
			}

			// 20 claims are held for 40 s to 800 s and renewed every 15 s, with one request for all that wait.
			if renewals < 400 || inGroups > 120 {
				h.Errorf("%d renewals in %d groups", renewals, inGroups)
			}

			time.Sleep(2 * time.Second)
		})
	}
}

// A key that is throttled is claimed by further requests. That must not cost the others, which have their answers, their leases.
func TestClaimsOfAGroupThatWaitForAThrottledOneAreNotRunAfterATakeover(t *testing.T) {
	t.Parallel()

	for name, wrap := range map[string]func(*harness, lambdawrap.Handler) wrapped{"SQS": (*harness).handle, "Batch": (*harness).whole} {
		each(t, name, inBubble(nil), func(h *harness) {
			begun := time.Now()
			h.throttled("k1", func() bool { return time.Since(begun) < time.Minute })

			rival := h.open(h.db, &idemddb.Options{Single: true})

			var taken atomic.Int64

			time.AfterFunc(40*time.Second, func() { // this is later than the end of the lease
				if claim, _, _ := rival.Claim(context.Background(), "k0", nil); claim != nil {
					taken.Add(1) // it works on the message until the test has ended
				}
			})

			ctx, cancel := context.WithTimeout(h.Context(), 5*time.Minute)
			defer cancel()

			response, err := wrap(h, succeed)(ctx, numbered(2))
			h.equal("error", err, nil)

			for _, id := range h.runs.all() {
				if id == "m0" && taken.Load() > 0 {
					h.Errorf("run beside a taker; answered %v", ids(response))
				}
			}
		})
	}
}

// A renewal runs in a goroutine of its own. A panic there must not end the process, only the claim.
func TestAPanicInARenewalCostsNoMoreThanTheClaims(t *testing.T) {
	t.Parallel()

	for name, panics := range map[string]func(h *harness, on *atomic.Bool) *idemddb.Store{
		"of the client": func(h *harness, on *atomic.Bool) *idemddb.Store {
			return h.open(h.before(func() {
				if on.Load() {
					panic("client")
				}
			}), nil)
		},
		"of the observer": func(h *harness, on *atomic.Bool) *idemddb.Store {
			return h.open(h.db, &idemddb.Options{Observe: func(context.Context, idemddb.Event) {
				if on.Load() {
					panic("observer")
				}
			}})
		},
	} {
		for _, way := range ways {
			each(t, name+", "+way.name, inBubble(nil), func(h *harness) {
				var on atomic.Bool

				h.store = panics(h, &on)

				response, err := way.wrap(h, func(context.Context, events.SQSMessage) error {
					time.Sleep(time.Second) // all keys are claimed meanwhile
					on.Store(true)
					time.Sleep(20 * time.Second)
					on.Store(false)

					return nil
				})(h.Context(), numbered(3))
				h.equal("error", err, nil)

				for i := range 3 {
					h.equal("reported unless done", slices.Contains(ids(response), fmt.Sprint("m", i)), h.state(fmt.Sprint("k", i)) != "COMPLETED")
				}

				h.noRenewals()
				h.check(way.wrap(h, succeed), deliveredFor(numbered(3), 2), nil, ids(response))
			})
		}
	}
}
