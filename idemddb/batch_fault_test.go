package idemddb_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/around"
)

func TestThrottledStatementsShareTheNextTry(t *testing.T) {
	t.Parallel()

	for _, fault := range []idemddbtest.Fault{
		idemddbtest.Throttle, idemddbtest.ThrottleAccount, idemddbtest.ServerError, idemddbtest.ServerErrorApplied, idemddbtest.TransactionConflict,
	} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(f *fixture) {
				oddKeysOnce := func() {
					failed := map[string]bool{}
					f.db.InterceptStatements(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
						key := textOf(r.Key, "pk")
						if n, err := strconv.Atoi(strings.TrimPrefix(key, "test#")); err != nil || n%2 == 0 || failed[key] {
							return idemddbtest.None
						}

						failed[key] = true

						return fault
					})
				}

				oddKeysOnce()

				claims := won(f.T, f.claimAll(10, false))

				if fault == idemddbtest.ServerErrorApplied { // the INSERTs find their own records
					f.want("INSERT×10", "INSERT×5", "UPDATE×5")
				} else {
					f.want("INSERT×10", "INSERT×5")
				}

				oddKeysOnce()
				f.complete(claims...)
				f.want("UPDATE×10", "UPDATE×5")

				if n := f.events.count(idemddb.KindRetried); n != 10 { // one for each write that was sent again
					f.Errorf("%d events %s, want 10", n, idemddb.KindRetried)
				}

				f.replayed(10)
				f.isIdle()
			})
		})
	}
}

var requestFaults = []idemddbtest.Fault{
	idemddbtest.LostRequest, idemddbtest.LostReply, idemddbtest.LateRequest, idemddbtest.LateReply, idemddbtest.TruncatedBody,
	idemddbtest.ServerError, idemddbtest.ServerErrorApplied, idemddbtest.Throttle, idemddbtest.ThrottleAccount,
	idemddbtest.TransactionConflict, idemddbtest.EmptyAnswer, idemddbtest.EmptyAnswerApplied, idemddbtest.MissingResponse,
}

func TestARequestThatHasAFaultIsSentAgain(t *testing.T) {
	t.Parallel()

	for _, fault := range requestFaults {
		for _, redelivered := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, redelivered %t", fault, redelivered), func(t *testing.T) {
				t.Parallel()
				bubble(t, nil, func(f *fixture) {
					if redelivered {
						f.succeed(f.claims(10), func(c *idemddb.Claim) error { return c.ReleaseUnused(f.Context()) })
					}

					f.db.Inject(fault)

					claims := won(f.T, f.claimAll(10, redelivered))

					for _, c := range claims {
						if c.Attempt() != 1 || c.Takeover() {
							f.Errorf("key %s: attempt %d, takeover %t", c.Key(), c.Attempt(), c.Takeover())
						}
					}

					f.nothingIsLate()
					f.db.Inject(fault)
					f.complete(claims...)
					f.nothingIsLate()
					f.replayed(10)

					if f.batch.Ahead() == 0 || f.events.count(idemddb.KindUnshared) > 0 {
						f.Error("requests are not shared any more")
					}

					f.isIdle()
				})
			})
		}
	}
}

// nothingIsLate delivers the late requests, and demands that they change nothing.
func (f *fixture) nothingIsLate() {
	f.Helper()

	before := f.db.Items("records")
	f.db.Deliver()

	for i, it := range f.db.Items("records") {
		if show(it) != show(before[i]) || textOf(it, "own") != textOf(before[i], "own") {
			f.Errorf("a late request made%s of%s", show(it), show(before[i]))
		}
	}
}

// settleWithin returns a context in which writes that settle a claim are sent for d.
func settleWithin(ctx context.Context, d time.Duration) context.Context {
	return idemddb.WithInvocation(ctx, time.Time{}, time.Now().Add(d))
}

func TestACallerThatGivesUpDoesNotEndTheRequestOfTheOthers(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		claims := f.claims(3)
		f.slow(10 * time.Millisecond)

		var all sync.WaitGroup

		all.Go(func() {
			f.takes(5*time.Millisecond, func() {
				is(f, claims[0].Complete(settleWithin(f.Context(), 5*time.Millisecond), []byte("done")), idemddb.ErrUnrecorded)
			})
		})
		all.Go(func() { f.takes(10*time.Millisecond, func() { f.complete(claims[1:]...) }) })
		all.Wait()
		f.want("UPDATE×3")
		f.replayed(3)
		f.isIdle()
	})
}

// Lambda freezes the process when the calls have returned, so the request must have ended before.
func TestTheLastCallerThatGivesUpCancelsTheRequestAndWaitsForItsEnd(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		claims := f.claims(3)

		var ended atomic.Bool

		f.db.Intercept(func(ctx context.Context, _ idemddbtest.Request) idemddbtest.Fault {
			<-ctx.Done()
			<-time.After(5 * time.Millisecond) // the client takes a while to return
			ended.Store(true)

			return idemddbtest.None
		})

		f.takes(95*time.Millisecond, func() {
			atOnce(claims, func(c *idemddb.Claim) error { return c.Complete(settleWithin(f.Context(), 90*time.Millisecond), nil) })
		})

		if !ended.Load() {
			f.Error("the calls have returned, and the request goes on")
		}

		f.db.Intercept(nil)
		f.complete(claims...)
		f.isIdle()
	})
}

// A request that is sent again leaves out what nobody waits for any more: a claim would keep its key from others without a
// worker.
func TestAClaimWhoseCallerHasLeftIsNotSentAgain(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		f.db.Inject(idemddbtest.LostRequest)

		var all sync.WaitGroup

		f.batch.Expect(3)

		for i, key := range numbered(3) {
			all.Go(func() {
				if i == 0 { // this writer leaves in the pause after the first try
					ctx, cancel := context.WithCancel(f.Context())

					_, _, err := f.batch.Claim(idemddb.OnRetry(ctx, cancel), key, nil)
					is(f, err, context.Canceled)

					return
				}

				if _, _, err := f.batch.Claim(f.Context(), key, nil); err != nil {
					f.Error(err)
				}
			})
		}

		all.Wait()
		f.want("INSERT×3", "INSERT×2")

		if f.record("0") != nil {
			f.Errorf("the key is claimed without a worker:%s", show(f.record("0")))
		}
	})
}

func TestTheLastCallerWithoutAnAnswerCancelsTheRequestOfCallersThatHaveTheirs(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		var (
			requests atomic.Int64
			ended    atomic.Bool
		)

		f.db.Intercept(func(ctx context.Context, _ idemddbtest.Request) idemddbtest.Fault {
			if requests.Add(1) == 2 { // this request has the throttled key alone
				<-ctx.Done()
				ended.Store(true)
			}

			return idemddbtest.None
		})
		f.db.InterceptStatements(forKey("1", idemddbtest.Throttle))

		ctx := within(f, 90*time.Millisecond)
		f.takes(90*time.Millisecond, func() { claimIn(ctx, f.batch, numbered(3), false) })

		if !ended.Load() || requests.Load() != 2 {
			f.Errorf("the calls have returned, and of %d requests the second goes on", requests.Load())
		}
	})
}

// A caller that leaves at the very moment of its answer, which asks for another try, must leave nothing behind that the batch
// waits for. The scheduler chooses who is first, so the test does it often.
func TestACallerThatLeavesAtTheMomentOfItsAnswerLeavesTheBatch(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		for i := range 200 {
			f.db.Inject(idemddbtest.None)

			claims := won(f.T, claimIn(f.Context(), f.batch, []string{fmt.Sprint(i, "a"), fmt.Sprint(i, "b")}, false))

			f.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
				<-time.After(50 * time.Millisecond)

				return idemddbtest.Throttle
			})

			atOnce(claims, func(c *idemddb.Claim) error { return c.Complete(settleWithin(f.Context(), 50*time.Millisecond), nil) })
			synctest.Wait()
		}

		f.isIdle()
	})
}

// The scheduler chooses whether the caller or the request goes on first, so the test does it often.
func TestAClaimWhoseAnswerComesWithTheEndOfItsContextHasOneAnswer(t *testing.T) {
	t.Parallel()

	var (
		requests atomic.Int64 // shared ones, by now
		leave    = func() {}  // ends the context of the callers
	)

	bubbleAround(t, nil, func(ctx context.Context, in any, send around.Send) (any, error) {
		if _, isShared := in.(*dynamodb.BatchExecuteStatementInput); isShared {
			requests.Add(1)

			defer func() { leave() }()
		}

		return send(ctx, in)
	}, func(f *fixture) {
		f.complete(f.claims(2)...)

		for i := range 1000 {
			ctx, cancel := context.WithCancel(f.Context())
			leave = cancel

			answers := claimIn(ctx, f.batch, []string{fmt.Sprint("new", i), strconv.Itoa(i % 2)}, true)
			sent := requests.Load()

			synctest.Wait()

			if requests.Load() != sent {
				f.Fatal("a request was sent when the callers had returned")
			}

			for _, a := range answers {
				answers := 0
				for _, is := range []bool{a.claim != nil, a.record != nil, a.err != nil} {
					if is {
						answers++
					}
				}

				if answers != 1 {
					f.Fatalf("got claim %v, record %v, error %v, want one of them", a.claim, a.record, a.err)
				}

				if a.claim != nil {
					must(f, a.claim.Complete(f.Context(), nil))
				}
			}
		}

		if n := f.events.count(idemddb.KindClaimed) - f.events.count(idemddb.KindCompleted); n != 0 {
			f.Errorf("%d claims were reported and not returned", n)
		}
	})
}

func TestClaimsOfABatchThatAreNotAnsweredEndWithTheirRetryTime(t *testing.T) {
	t.Parallel()

	for _, fault := range []idemddbtest.Fault{
		idemddbtest.LostRequest, idemddbtest.Throttle, idemddbtest.ServerError, idemddbtest.TruncatedBody, idemddbtest.LateReply,
	} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(f *fixture) {
				f.db.Intercept(always(fault))

				begun := time.Now()

				for _, a := range f.claimAll(10, false) {
					if a.err == nil {
						f.Errorf("got %+v, want an error", a)
					}
				}

				if took := time.Since(begun); took < 5*time.Second-5*time.Millisecond || took > 5*time.Second+100*time.Millisecond {
					f.Errorf("gave up after %v, want 5s", took)
				}

				if n := len(f.requests()); n > 50 {
					f.Errorf("%d requests, want at most 50 for all keys", n)
				}

				if n := f.events.count(idemddb.KindUnanswered); n != 10 {
					f.Errorf("%d events %s, want 10", n, idemddb.KindUnanswered)
				}

				// A claim that comes later does not wait again.
				begun = time.Now()

				if _, _, err := f.batch.Claim(f.Context(), "later", nil); err == nil {
					f.Error("got no error")
				}

				if took := time.Since(begun); took > 100*time.Millisecond+linger {
					f.Errorf("a later claim gave up after %v, want one try", took)
				}

				f.want("UpdateItem")

				// As soon as DynamoDB answers, all claims are sent again for their whole retry time.
				f.db.Intercept(nil)
				won(f, claimIn(f.Context(), f.batch, []string{"recovered"}, false))
				f.db.Inject(idemddbtest.LostRequest, idemddbtest.Throttle)
				won(f, claimIn(f.Context(), f.batch, []string{"after faults"}, false))
			})
		})
	}
}

func TestAKeyWhoseStatementsStayThrottledIsClaimedByASingleRequest(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		f.db.InterceptStatements(forKey("1", idemddbtest.Throttle))
		won(f.T, f.claimAll(3, false))
		f.want("INSERT×3", "UpdateItem")
	})
}

func TestAKeyThatStaysThrottledDoesNotTakeTheRetryTimeOfLaterClaims(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		f.db.InterceptStatements(forKey("1", idemddbtest.Throttle))
		f.db.Intercept(forKey("1", idemddbtest.Throttle))
		f.claimAll(3, false) // key 1 gives up, the others are claimed
		f.db.Intercept(nil)
		f.db.Inject(idemddbtest.LostRequest)
		won(f, claimIn(f.Context(), f.batch, []string{"later"}, false))
	})
}

func TestStatementsThatAreRefusedWithoutTheirItemAreSentABoundedNumberOfTimes(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		f.complete(f.claims(3)...)
		f.requests()
		f.db.InterceptStatements(always(idemddbtest.ConditionWithoutItem))

		for _, redelivered := range []bool{false, true} {
			for _, a := range f.claimAll(3, redelivered) {
				if a.record == nil {
					f.Errorf("got %+v, want the record", a)
				}
			}

			got := f.requests()
			if n := len(got); n > 5+3 || !slices.Equal(got[n-3:], []string{"UpdateItem", "UpdateItem", "UpdateItem"}) {
				f.Errorf("requests: %q, want at most 5 shared ones and then 3 single ones", got)
			}
		}
	})
}
