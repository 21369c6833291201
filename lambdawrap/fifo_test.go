package lambdawrap_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
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
			each(t, fmt.Sprint(cause, " of ", workers, " workers"), inBubble(nil), func(h *harness) {
				h.opts.Workers = workers
				function := h.handle(only("m1", func(context.Context, events.SQSMessage) error {
					time.Sleep(time.Second) // m3 would meet its claim if it did not wait

					return cause
				}))
				h.check(function, batch("m1 x a", "m2 y b", "m3 x b", "m4 z a"), want[0], want[1])

				if cause == nil {
					h.ordered("m1", "m4")
				}
			})
		}
	}
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
				if begun.Add(1) == 1 {
					h.atMost("claimed when the first handler runs", h.held(), max(c.ahead, c.workers))
				}

				time.Sleep(time.Second) // no request is under way any more
				raise(&most, int64(len(h.db.Items("records")))-begun.Load())
				time.Sleep(time.Second)

				return nil
			})

			h.check(function, numbered(100), nil, messageIDs(100))
			h.atMost("claimed ahead", int(most.Load()), c.ahead)
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

// With StopAtFailure, the next handler does not start before it is known whether the hook takes what will never succeed.
func TestWhichMessagesAFailureStops(t *testing.T) {
	t.Parallel()

	every := func(set func(m *events.SQSMessage)) func(*harness, []events.SQSMessage) {
		return func(_ *harness, messages []events.SQSMessage) {
			for i := range messages {
				set(&messages[i])
			}
		}
	}
	stops := func(h *harness, _ []events.SQSMessage) { h.opts.StopAtFailure = true }
	parks := func(h *harness, _ []events.SQSMessage) { h.opts.StopAtFailure, _ = true, h.parking() }
	permanent := lambdawrap.Permanent(errBank)
	queue, other := ways, "arn:aws:sqs:us-east-1:123456789012:other.fifo"

	for name, c := range map[string]struct {
		ways         []way // with Batch, the user's handler decides what it runs after a failure
		set          func(h *harness, messages []events.SQSMessage)
		event        events.SQSEvent // the key "bad" fails
		cause        error
		failed, runs []string // no runs: any
	}{
		"a standard queue with message groups is standard": {queue, every(func(m *events.SQSMessage) {
			m.Attributes = map[string]string{"MessageGroupId": "tenant"}
		}), batch("m1 bad", "m2 k2", "m3 k3"), errBank, []string{"m1"}, []string{"m1", "m2", "m3"}},
		// SQS always names the group. An event that was built by hand may not.
		"messages of a FIFO queue without a group are one group": {queue[:2], every(func(m *events.SQSMessage) {
			delete(m.Attributes, "MessageGroupId")
		}), batch("m1 a0 a", "m2 bad a", "m3 a2 a"), errBank, []string{"m2", "m3"}, []string{"m1", "m2"}},
		"two FIFO queues with one group name are two groups": {queue, func(_ *harness, messages []events.SQSMessage) {
			messages[1].EventSourceARN, messages[3].EventSourceARN = other, other
		}, batch("m0 bad g", "m1 k1 g", "m2 k2 g", "m3 k3 g"), errBank, []string{"m0", "m2"}, nil},
		"StopAtFailure, and an error beside a hook": {
			queue[:1], parks, batch("m1 bad", "m2 b"), errBank, []string{"m1", "m2"}, []string{"m1"},
		},
		"StopAtFailure, and a permanent error without a hook": {
			queue[:1], stops, batch("m1 bad", "m2 b"), permanent, []string{"m1", "m2"}, []string{"m1"},
		},
		"StopAtFailure, and a permanent error for the hook": {queue[:1], parks, batch("m1 bad", "m2 b"), permanent, nil, []string{"m1", "m2"}},
		"StopAtFailure of a FIFO queue": { // a group stops by itself, and must not stop another one
			queue[:1], stops, batch("m1 bad a", "m2 a2 a", "m3 b1 b"), errBank, []string{"m1", "m2"}, []string{"m1", "m3"},
		},
	} {
		for _, way := range c.ways {
			each(t, name+", "+way.name, everyMode, func(h *harness) {
				event := deliveredFor(c.event, 1)
				c.set(h, event.Records)
				h.answeredIn(time.Minute, way.wrap(h, failingWith(c.cause, "bad")), event, c.failed...)

				for _, m := range event.Records {
					h.equal("done "+m.MessageId, h.state(m.Body) == "COMPLETED", m.Body != "bad" && !slices.Contains(c.failed, m.MessageId))
				}

				if strings.HasPrefix(name, "messages of") {
					h.ordered(c.runs...)
				}

				if c.runs != nil {
					h.ran(c.runs...)
				}
			})
		}
	}
}

// What runs already goes on, and its success counts.
func TestHandlersThatRunGoOnAfterTheFailureOfAnother(t *testing.T) {
	everyMode(t, func(h *harness) {
		h.opts.StopAtFailure, h.opts.Workers = true, 2

		runs, failed := make(chan struct{}), make(chan struct{})
		h.opts.OnMessage = func(_ context.Context, m events.SQSMessage, _ lambdawrap.Outcome) {
			if m.Body == "b" { // from here on the wrapper knows that it has failed
				close(failed)
			}
		}

		function := h.handle(byKey(map[string]lambdawrap.Handler{"a": does(func() error {
			close(runs)
			<-failed

			return nil
		})}, does(func() error {
			<-runs

			return errBank
		})))

		h.check(function, batch("m1 a", "m2 b", "m3 c"), []string{"m2", "m3"}, []string{"m1", "m2"})
		h.equal("a", h.state("a"), "COMPLETED")
	})
}
