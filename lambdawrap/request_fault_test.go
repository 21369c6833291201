package lambdawrap_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestStatementsThatMeetAFaultInsideAnAnswerGoOutAgainAlone(t *testing.T) {
	t.Parallel()

	for _, fault := range []idemddbtest.Fault{
		idemddbtest.Throttle, idemddbtest.ThrottleAccount, idemddbtest.ServerError, idemddbtest.ServerErrorApplied, idemddbtest.TransactionConflict,
	} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(h *harness) {
				var met sync.Map

				h.db.InterceptStatements(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
					what := fmt.Sprint(keyOf(r), isClaim(r))
					if _, again := met.LoadOrStore(what, true); !again && slices.Contains([]string{"k2", "k5"}, keyOf(r)) {
						return fault
					}

					return idemddbtest.None
				})

				h.check(h.handle(succeed), numbered(10), nil, messageIDs(10))

				sizes, want := h.sizes(), 24
				if fault == idemddbtest.ServerErrorApplied { // the next INSERT finds its own record, and an UPDATE recognizes it
					want = 26
				}

				// The others do not wait for the two that failed. If the random pause before the second try is very short, all ten travel together.
				h.equal("first requests are 10 and 8", sizes[0] == 10 && slices.Contains([]int{8, 2, 10}, sizes[1]), true)
				h.equal("writes", sum(sizes), want)
				h.equal("fenced", h.count(idemddb.KindFenced)+h.count(idemddb.KindUnrecorded), 0)

				for i := range 10 {
					h.equal("record", h.state(fmt.Sprint("k", i)), "COMPLETED")
					h.equal("attempts", h.attempts(fmt.Sprint("k", i)), "1")
				}
			})
		})
	}
}

func TestDeniedGroupsAreOffForFiveMinutesAndTheMessagesAreDoneWithSingleRequests(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		name string
		deny func(r idemddbtest.Request) bool // which requests
		each func(r idemddbtest.Request) bool // which statements
	}{
		{"the call", func(r idemddbtest.Request) bool { return len(r.Items) > 0 }, nil},
		{"the claims' statements", nil, func(r idemddbtest.Request) bool { return r.Operation == "INSERT" }},
		{"the completions' statements", nil, func(r idemddbtest.Request) bool { return r.Operation == "UPDATE" }},
		{"the completions' call", func(r idemddbtest.Request) bool { return len(r.Items) > 0 && r.Items[0].Operation == "UPDATE" }, nil},
		{"one statement", nil, func(r idemddbtest.Request) bool { return keyOf(r) == "k3" }},
	} {
		for _, way := range ways {
			t.Run(c.name+", "+way.name, func(t *testing.T) {
				t.Parallel()
				bubble(t, nil, func(h *harness) {
					deny := func(is func(idemddbtest.Request) bool) func(context.Context, idemddbtest.Request) idemddbtest.Fault {
						return func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
							if is != nil && is(r) && r.Operation != "UpdateItem" {
								return idemddbtest.AccessDenied
							}

							return idemddbtest.None
						}
					}
					h.db.Intercept(deny(c.deny))
					h.db.InterceptStatements(deny(c.each))

					function := way.wrap(h, succeed)
					h.check(function, numbered(30), nil, messageIDs(30))
					h.equal("events", h.count(idemddb.KindUnshared), 1)
					h.equal("ahead", h.store.Engine().Ahead(), 0)
					h.equal("log", h.log.String(), "")

					for i := range 30 {
						h.equal("record", h.state(fmt.Sprint("k", i)), "COMPLETED")
					}

					h.db.ResetRequests()
					h.check(function, batch("n1 n1", "n2 n2", "m1 k1"), nil, []string{"n1", "n2"})
					h.equal("sizes", h.sizes(), []int{1, 1, 1, 1, 1})
					h.equal("events", h.count(idemddb.KindUnshared), 1)

					h.db.Intercept(nil)
					h.db.InterceptStatements(nil)
					time.Sleep(5*time.Minute + time.Second)
					h.db.ResetRequests()
					h.check(function, batch("n3 n3", "n4 n4", "n5 n5"), nil, []string{"n3", "n4", "n5"})
					h.equal("size of the first request after five minutes", h.sizes()[0], 3)
				})
			})
		}
	}
}

func TestWhateverHappensToARequestEachEffectIsOnce(t *testing.T) {
	t.Parallel()

	for _, fault := range []idemddbtest.Fault{
		idemddbtest.LostRequest, idemddbtest.LostReply, idemddbtest.LateRequest, idemddbtest.LateReply, idemddbtest.TruncatedBody,
		idemddbtest.ServerErrorApplied, idemddbtest.ServerError, idemddbtest.Throttle, idemddbtest.ThrottleAccount,
		idemddbtest.TransactionConflict, idemddbtest.ConditionWithoutItem,
	} {
		for name, is := range map[string]func(idemddbtest.Request) bool{"claim": isClaim, "completion": isCompletion} {
			for times := 1; times <= 2; times++ {
				t.Run(fmt.Sprint(fault, " of the ", name, ", times ", times), func(t *testing.T) {
					t.Parallel()
					everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
						failed, rest := h.broken(fault, isCallOf(is), times), deliveredFor(numbered(6), 1)

						ctx, cancel := context.WithTimeout(h.Context(), 2*time.Minute)
						defer cancel()

						response, err := wrap(succeed)(ctx, rest)
						h.equal("error", err, nil)
						h.equal("failed", ids(response), []string(nil))
						h.ran(messageIDs(6)...)
						h.equal("faults", failed.Load() > 0, true)
						h.equal("fenced", h.count(idemddb.KindFenced)+h.count(idemddb.KindUnrecorded), 0)
						h.settled(6)
					})
				})
			}
		}
	}
}

func TestAKeyThatIsThrottledForGoodCostsItsOwnMessage(t *testing.T) {
	t.Parallel()

	for _, size := range []int{10, 60} {
		t.Run(strconv.Itoa(size), func(t *testing.T) {
			t.Parallel()
			everyMode(t, func(h *harness) {
				h.opts.Workers = 10
				h.throttled("k7", func() bool { return true })

				ctx, cancel := context.WithTimeout(h.Context(), time.Minute)
				defer cancel()

				response, err := h.handle(slowly(5*time.Second))(ctx, numbered(size))
				h.equal("error", err, nil)
				h.equal("in time", ctx.Err(), nil)
				h.equal("failed", ids(response), []string{"m7"})
			})
		})
	}
}

func TestAKeyThatIsThrottledForGoodCostsABatchItsOwnMessage(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		h.throttled("k7", func() bool { return true })

		ctx, cancel := context.WithTimeout(h.Context(), time.Minute)
		defer cancel()

		response, err := h.whole(slowly(4*time.Second))(ctx, numbered(12))
		h.equal("error", err, nil)
		h.equal("in time", ctx.Err(), nil)
		h.equal("failed", ids(response), []string{"m7"})
	})
}
