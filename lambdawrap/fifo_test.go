package lambdawrap_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestGroupsOfAFIFOQueueStopAtTheirFirstFailureAndOthersGoOn(t *testing.T) {
	t.Parallel()

	for _, way := range ways[:2] { // with Batch, the user's handler decides what it runs after a failure
		each(t, way.name, everyMode, func(h *harness) {
			closed := always()
			function := way.wrap(h, failing(closed, "a1"))
			event := batch("m1 a0 a", "m2 b1 b", "m3 a1 a", "m4 b2 b", "m5 a2 a", "m6 c1 c", "m7 a3 a")

			h.check(function, event, []string{"m3", "m5", "m7"}, []string{"m1", "m2", "m3", "m4", "m6"})
			h.ordered("m1", "m3")
			h.ordered("m2", "m4")

			for _, key := range []string{"a2", "a3"} {
				h.equal(key, h.state(key), "none")
			}

			closed.Store(false)
			h.check(function, deliveredFor(batch("m3 a1 a", "m5 a2 a", "m7 a3 a"), 2), nil, []string{"m3", "m5", "m7"})
			h.ordered("m3", "m5", "m7")
		})
	}
}

// SQS always names the group. An event that was built by hand may not, and its messages are one group then.
func TestMessagesOfAFIFOQueueWithoutAGroupKeepTheirOrder(t *testing.T) {
	t.Parallel()

	for _, way := range ways[:2] {
		each(t, way.name, everyMode, func(h *harness) {
			h.opts.Workers = 10
			event := batch("m1 a0 a", "m2 a1 a", "m3 a2 a")

			for _, record := range event.Records {
				delete(record.Attributes, "MessageGroupId")
			}

			h.check(way.wrap(h, failingWith(errBank, "a1")), event, []string{"m2", "m3"}, []string{"m1", "m2"})
			h.ordered("m1", "m2")
		})
	}
}

func TestAFIFOHeadThatTheHookTakesDoesNotStopItsGroup(t *testing.T) {
	everyMode(t, func(h *harness) {
		dead := h.parking()
		function := h.handle(failingWith(lambdawrap.Permanent(errBank), "bad1"))
		h.expect(function, batch("m1 bad1 a", "m2 a2 a", "m3 bad1 a"), nil, []string{"m1", "m2"})
		h.equal("dead letters", dead.all(), []string{"m1", "m3"})

		h.opts.DeadLetter = hookOf(failWith(errBank))
		h.expect(h.handle(succeed), batch("m1 bad1 a", "m4 a4 a"), []string{"m1", "m4"}, nil)
	})
}

// Both messages end as the work of the key does, which runs once, also if it fails: m3 is not work of its own.
func TestOneKeyInTwoFIFOGroupsFailsOnce(t *testing.T) {
	t.Parallel()

	for cause, want := range map[error][2][]string{ // what fails, and what runs
		nil: {nil, {"m1", "m2", "m4"}}, errBank: {{"m1", "m3", "m4"}, {"m1", "m2"}},
	} {
		for _, workers := range []int{1, 4} {
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t, nil)
				h.opts.Workers = workers
				function := h.handle(func(_ context.Context, m events.SQSMessage) error {
					if m.MessageId != "m1" {
						return nil
					}

					time.Sleep(time.Second) // m3 would meet its claim if it did not wait

					return cause
				})
				h.check(function, batch("m1 x a", "m2 y b", "m3 x b", "m4 z a"), want[0], want[1])

				if cause == nil {
					h.ordered("m1", "m4")
				}
			})
		}
	}
}

func TestAStandardQueueWithMessageGroupsIsStandard(t *testing.T) {
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		event := batch("m1 k1", "m2 k2", "m3 k3")
		for i := range event.Records {
			event.Records[i].Attributes = map[string]string{"MessageGroupId": "tenant"}
		}

		h.check(wrap(failingWith(errBank, "k1")), event, []string{"m1"}, []string{"m1", "m2", "m3"})
	})
}

func TestTwoFIFOQueuesWithOneGroupNameDoNotBlockEachOther(t *testing.T) {
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		event := batch("m0 k0 g", "m1 k1 g", "m2 k2 g", "m3 k3 g")
		for _, i := range []int{1, 3} {
			event.Records[i].EventSourceARN = "arn:aws:sqs:us-east-1:123456789012:other.fifo"
		}

		h.answeredIn(time.Minute, wrap(failingWith(errBank, "k0")), event, "m0", "m2")
		h.equal("records", []string{h.state("k1"), h.state("k3")}, []string{"COMPLETED", "COMPLETED"})
	})
}

func TestTheNextOfAFIFOGroupIsClaimedWhenTheOneBeforeIsRecorded(t *testing.T) {
	everyMode(t, func(h *harness) {
		h.opts.Workers = 4

		var (
			mu     sync.Mutex
			writes []string
		)

		h.db.Intercept(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
			time.Sleep(50 * time.Millisecond)
			mu.Lock()
			defer mu.Unlock()

			for _, part := range append([]idemddbtest.Request{r}, r.Items...) {
				if isClaim(part) {
					writes = append(writes, "claim "+keyOf(part))
				}

				if isCompletion(part) {
					writes = append(writes, "complete "+keyOf(part))
				}
			}

			return idemddbtest.None
		})

		h.answeredIn(time.Minute, h.handle(slowly(10*time.Millisecond)), batch("m0 a0 a", "m1 b0 b", "m2 a1 a", "m3 b1 b", "m4 a2 a", "m5 b2 b"))

		for _, group := range []string{"a", "b"} {
			own := slices.DeleteFunc(slices.Clone(writes), func(w string) bool { return !strings.Contains(w, " "+group) })
			h.equal("writes of "+group, own, []string{
				"claim " + group + "0", "complete " + group + "0", "claim " + group + "1", "complete " + group + "1", "claim " + group + "2", "complete " + group + "2",
			})
		}
	})
}

func TestClaimsRunAtMostOneGroupAhead(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		name    string
		opts    idemddb.Options
		workers int
		ahead   int // claims whose work has not begun, at most
	}{
		{"groups", idemddb.Options{}, 1, 25},
		{"groups, 10 workers", idemddb.Options{}, 10, 25},
		{"claims count", idemddb.Options{MaxAttempts: 3}, 1, 0},
		{"no takeover", idemddb.Options{NoTakeover: true}, 1, 0},
		{"claims count, 10 workers", idemddb.Options{MaxAttempts: 3}, 10, 0},
		{"single", idemddb.Options{Single: true}, 1, 0},
		{"single, 10 workers", idemddb.Options{Single: true}, 10, 0},
	} {
		each(t, c.name, inBubble(&c.opts), func(h *harness) {
			h.opts.Workers = c.workers

			var begun, most atomic.Int64

			function := h.handle(func(context.Context, events.SQSMessage) error {
				if begun.Add(1) == 1 && h.held() > max(c.ahead, c.workers) {
					h.Errorf("%d claimed when the first handler runs", h.held())
				}

				time.Sleep(time.Second) // no request is under way any more
				raise(&most, int64(len(h.db.Items("records")))-begun.Load())
				time.Sleep(time.Second)

				return nil
			})

			h.check(function, numbered(100), nil, messageIDs(100))

			if most.Load() > int64(c.ahead) {
				h.Errorf("%d claimed ahead, want at most %d", most.Load(), c.ahead)
			}
		})
	}
}

// Nothing of the rest began, so no attempt counts, no key is held, and its next delivery works on it.
func TestAfterTheFirstFailureTheRestOfABatchIsReportedUnstarted(t *testing.T) {
	claimedAndOptimistic(everyMode)(t, func(h *harness) {
		ends := h.outcomes()
		h.opts.StopAtFailure = true
		closed := always()
		function := h.handle(h.staging(failing(closed, "b")))

		h.check(function, batch("m1 a", "m2 b", "m3 c", "m4 d", "m5 a"), []string{"m2", "m3", "m4"}, []string{"m1", "m2"})
		h.sorted("ends", ends, "m1 completed", "m2 released", "m3 blocked", "m4 blocked", "m5 replayed")
		h.logs("outcome=blocked", "Options.StopAtFailure is set")

		for _, key := range []string{"c", "d"} {
			if state := h.state(key); state != "none" && state != "INPROGRESS released" || h.attempts(key) != "" && h.attempts(key) != "0" {
				h.Errorf("%s: %s with %s attempts", key, state, h.attempts(key))
			}
		}

		closed.Store(false)
		h.check(function, deliveredFor(batch("m2 b", "m3 c", "m4 d"), 2), nil, []string{"m2", "m3", "m4"})
	})
}

// The next handler does not start before it is known whether the hook takes what will never succeed.
func TestAFailureThatTheDeadLetterHookTakesDoesNotStopABatch(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		cause        error
		hook         bool
		failed, runs []string
	}{
		"an error, beside a hook":              {errBank, true, []string{"m1", "m2"}, []string{"m1"}},
		"a permanent error, without a hook":    {lambdawrap.Permanent(errBank), false, []string{"m1", "m2"}, []string{"m1"}},
		"a permanent error, and a hook for it": {lambdawrap.Permanent(errBank), true, nil, []string{"m1", "m2"}},
	} {
		each(t, name, everyMode, func(h *harness) {
			if h.opts.StopAtFailure = true; c.hook {
				h.parking()
			}

			h.check(h.handle(failingWith(c.cause, "a")), batch("m1 a", "m2 b"), c.failed, c.runs)
		})
	}
}

// What runs already goes on, and its success counts.
func TestHandlersThatRunGoOnAfterTheFailureOfAnother(t *testing.T) {
	everyMode(t, func(h *harness) {
		h.opts.StopAtFailure, h.opts.Workers = true, 2

		var began atomic.Int32

		runs, failed := make(chan struct{}), make(chan struct{})
		h.opts.OnMessage = func(_ context.Context, m events.SQSMessage, _ lambdawrap.Outcome) {
			if m.Body == "b" { // from here on the wrapper knows that it has failed
				close(failed)
			}
		}

		function := h.handle(func(_ context.Context, m events.SQSMessage) error {
			if began.Add(1); m.Body == "a" {
				close(runs)
				<-failed

				return nil
			}

			<-runs

			return errBank
		})

		h.answered(function, batch("m1 a", "m2 b", "m3 c"), "m2", "m3")
		h.equal("handlers", began.Load(), int32(2))
		h.equal("a", h.state("a"), "COMPLETED")
	})
}

// A group stops by itself, and must not stop another one.
func TestAFIFOQueueIgnoresStopAtFailure(t *testing.T) {
	everyMode(t, func(h *harness) {
		h.opts.StopAtFailure = true

		h.check(h.handle(failingWith(errBank, "a1")), batch("m1 a1 a", "m2 a2 a", "m3 b1 b"), []string{"m1", "m2"}, []string{"m1", "m3"})
	})
}
