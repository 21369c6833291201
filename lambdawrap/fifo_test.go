package lambdawrap_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestGroupsOfAFIFOQueueStopAtTheirFirstFailureAndOthersGoOn(t *testing.T) {
	t.Parallel()

	for _, way := range ways[:2] { // with Batch, the user's handler decides what it runs after a failure
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			everyMode(t, func(h *harness) {
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
		})
	}
}

// SQS always names the group. An event that was built by hand may not, and its messages are one group then.
func TestMessagesOfAFIFOQueueWithoutAGroupKeepTheirOrder(t *testing.T) {
	t.Parallel()

	for _, way := range ways[:2] {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			everyMode(t, func(h *harness) {
				h.opts.Workers = 10
				event := batch("m1 a0 a", "m2 a1 a", "m3 a2 a")

				for _, record := range event.Records {
					delete(record.Attributes, "MessageGroupId")
				}

				h.check(way.wrap(h, failing(always(), "a1")), event, []string{"m2", "m3"}, []string{"m1", "m2"})
				h.ordered("m1", "m2")
			})
		})
	}
}

func TestAFIFOHeadStopsItsGroupUnlessItIsDone(t *testing.T) {
	t.Parallel()
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		h.opts.Key = func(_ context.Context, m events.SQSMessage) (string, error) {
			if m.Body == "none" {
				return "", lambdawrap.ErrNoKey
			}

			return m.Body, nil
		}

		h.equal("error", claim(h, h.store, "a1").Complete(h.Context(), nil), nil)
		claim(h, h.store, "b1")

		function := wrap(succeed)
		h.check(function, batch("m1 a1 a", "m2 a2 a", "m3 b1 b", "m4 b2 b", "m5 none c", "m6 c2 c", "m7 a3 a", "m8 b3 b"),
			[]string{"m3", "m4", "m5", "m6", "m8"}, []string{"m1", "m2", "m7"}[1:])

		for _, key := range []string{"b2", "b3", "c2"} {
			if state := h.state(key); state != "none" && (state != "INPROGRESS released" || h.attempts(key) != "0") {
				h.Errorf("%s: %s, attempts %s", key, state, h.attempts(key))
			}
		}

		time.Sleep(time.Minute)
		h.check(function, deliveredFor(batch("m3 b1 b", "m4 b2 b", "m8 b3 b"), 2), nil, []string{"m3", "m4", "m8"})
		h.ordered("m3", "m4", "m8")
	})
}

func TestAFIFOHeadThatTheHookTakesDoesNotStopItsGroup(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		var dead []string

		gone := false
		h.opts.DeadLetter = func(_ context.Context, m events.SQSMessage, _ error) error {
			dead = append(dead, m.MessageId)

			if gone {
				return errors.New("queue gone")
			}

			return nil
		}
		function := h.handle(func(_ context.Context, m events.SQSMessage) error {
			if strings.HasPrefix(m.Body, "bad") {
				return lambdawrap.Permanent(errBank)
			}

			return nil
		})
		h.expect(function, batch("m1 bad1 a", "m2 a2 a", "m3 bad1 a"), nil, []string{"m1", "m2"})
		h.equal("dead letters", dead, []string{"m1", "m3"})

		gone = true
		h.expect(function, batch("m1 bad1 a", "m4 a4 a"), []string{"m1", "m4"}, nil)
	})
}

func TestOneKeyInTwoFIFOGroupsRunsOnce(t *testing.T) {
	t.Parallel()

	for _, workers := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			h := newHarness(t, nil)
			h.opts.Workers = workers
			function := h.handle(func(_ context.Context, m events.SQSMessage) error {
				if m.MessageId == "m1" {
					time.Sleep(time.Second) // m3 would meet its claim if it did not wait
				}

				return nil
			})
			h.check(function, batch("m1 x a", "m2 y b", "m3 x b", "m4 z a"), nil, []string{"m1", "m2", "m4"})
			h.ordered("m1", "m4")
		})
	}
}

// Both messages end as the work of the key does, which runs once, also if it fails: m3 is not work of its own.
func TestOneKeyInTwoFIFOGroupsFailsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, nil)
		h.opts.Workers = 4
		function := h.handle(func(_ context.Context, m events.SQSMessage) error {
			if m.MessageId == "m2" {
				return nil
			}

			time.Sleep(time.Second)

			return errBank
		})
		h.check(function, batch("m1 x a", "m2 y b", "m3 x b"), []string{"m1", "m3"}, []string{"m1", "m2"})
	})
}

func TestAStandardQueueWithMessageGroupsIsStandard(t *testing.T) {
	t.Parallel()
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		event := batch("m1 k1", "m2 k2", "m3 k3")
		for i := range event.Records {
			event.Records[i].Attributes = map[string]string{"MessageGroupId": "tenant"}
		}

		h.check(wrap(failing(always(), "k1")), event, []string{"m1"}, []string{"m1", "m2", "m3"})
	})
}

func TestOfAFIFOGroupOnlyTheNextMessageIsClaimed(t *testing.T) {
	t.Parallel()

	for _, workers := range []int{1, 5} {
		t.Run(strconv.Itoa(workers), func(t *testing.T) {
			t.Parallel()
			everyMode(t, func(h *harness) {
				h.opts.Workers = workers

				var texts []string
				for i := range 40 {
					texts = append(texts, fmt.Sprintf("m%d %c%d %c", i, 'a'+i%4, i/4, 'a'+i%4))
				}

				function := h.handle(func(_ context.Context, m events.SQSMessage) error {
					time.Sleep(time.Second)

					group, n := m.Body[:1], 0
					_, err := fmt.Sscan(m.Body[1:], &n)

					for later := n + 1; later < 10; later++ {
						h.equal(fmt.Sprint(group, later, " while ", m.Body, " runs"), h.state(fmt.Sprint(group, later)), "none")
					}

					if m.Body == "b4" {
						return errBank
					}

					return err
				})
				response, err := function(h.Context(), batch(texts...))
				h.equal("error", err, nil)
				h.equal("failed", ids(response), []string{"m17", "m21", "m25", "m29", "m33", "m37"})

				for later := 5; later < 10; later++ {
					h.equal("behind the failure", h.state(fmt.Sprint("b", later)), "none")
				}
			})
		})
	}
}

func TestTwoFIFOQueuesWithOneGroupNameDoNotBlockEachOther(t *testing.T) {
	t.Parallel()
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		event := batch("m0 k0 g", "m1 k1 g", "m2 k2 g", "m3 k3 g")
		for _, i := range []int{1, 3} {
			event.Records[i].EventSourceARN = "arn:aws:sqs:us-east-1:123456789012:other.fifo"
		}

		failed, _ := h.within(time.Minute, wrap(failing(always(), "k0")), event)
		h.equal("failed", failed, []string{"m0", "m2"})
		h.equal("records", []string{h.state("k1"), h.state("k3")}, []string{"COMPLETED", "COMPLETED"})
	})
}

func TestTheNextOfAFIFOGroupIsClaimedWhenTheOneBeforeIsRecorded(t *testing.T) {
	t.Parallel()
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

		failed, _ := h.within(time.Minute, h.handle(slowly(10*time.Millisecond)), batch("m0 a0 a", "m1 b0 b", "m2 a1 a", "m3 b1 b", "m4 a2 a", "m5 b2 b"))
		h.equal("failed", failed, []string(nil))

		for _, group := range []string{"a", "b"} {
			own := slices.DeleteFunc(slices.Clone(writes), func(w string) bool { return !strings.Contains(w, " "+group) })
			h.equal("writes of "+group, own, []string{
				"claim " + group + "0", "complete " + group + "0", "claim " + group + "1", "complete " + group + "1", "claim " + group + "2", "complete " + group + "2",
			})
		}
	})
}
