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

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// slowKeys gives these bodies, or all if there are none, a key function that takes a time and ignores its context. A body is a
// key and, behind a comma, what is not part of the key. It returns the most of these functions that ran at a time.
func (h *harness) slowKeys(takes time.Duration, bodies ...string) (most *atomic.Int64) {
	var now atomic.Int64

	most = &atomic.Int64{}
	h.opts.Key = func(_ context.Context, m events.SQSMessage) (string, error) {
		raise(most, now.Add(1))
		defer now.Add(-1)

		if len(bodies) == 0 || slices.Contains(bodies, m.Body) {
			time.Sleep(takes)
		}

		key, _, _ := strings.Cut(m.Body, ",")

		return key, nil
	}

	return most
}

// outcomes sets a hook that notes the outcome of each message.
func (h *harness) outcomes() *journal {
	ends := &journal{}
	h.opts.OnMessage = func(_ context.Context, m events.SQSMessage, o lambdawrap.Outcome) {
		ends.add(m.MessageId + " " + string(o))
	}

	return ends
}

// keyWays are all wrappers whose key functions run side by side. With envelopes, what is to be a key function is the
// EnvelopeFunc.
var keyWays = []way{
	{"SQS", (*harness).handle},
	{"SQS, optimistic", func(h *harness, work lambdawrap.Handler) wrapped {
		h.opts.Optimistic = true

		return h.handle(func(ctx context.Context, m events.SQSMessage) error { return errors.Join(work(ctx, m), staged(ctx, m)) })
	}},
	{"Batch", (*harness).whole},
	{"Kinesis", (*harness).kinesis},
	{"DynamoDBStream", (*harness).dynamoDBStream},
	{"SQS, in envelopes", func(h *harness, work lambdawrap.Handler) wrapped {
		find := h.opts.Key
		h.opts.Key = keyless(nil)
		h.opts.Envelope = func(ctx context.Context, m events.SQSMessage) ([]lambdawrap.Enveloped, error) {
			if _, err := find(ctx, m); err != nil {
				return nil, err
			}

			return []lambdawrap.Enveloped{{Message: m}}, nil
		}

		return h.handle(work)
	}},
}

func everyKeyWay(t *testing.T, test func(h *harness, wrap func(lambdawrap.Handler) wrapped)) {
	t.Helper()
	everyWayOf(t, keyWays, test)
}

// groups are n messages with the ids 100, 101 and so on and the keys k0, k1 and so on, each of which is alone in its FIFO group.
func groups(n int) events.SQSEvent {
	var texts []string
	for i := range n {
		texts = append(texts, fmt.Sprintf("%d k%d g%d", 100+i, i, i))
	}

	return batch(texts...)
}

func TestSlowKeyFunctionsRunSideBySideAndTheAnswerIsSentInTime(t *testing.T) {
	everyKeyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		h.opts.Workers = 10
		most := h.slowKeys(400 * time.Millisecond)

		took := h.answeredIn(3*time.Second, wrap(succeed), groups(10))
		h.equal("took less than half a second", took < 500*time.Millisecond, true)
		h.equal("at a time", most.Load(), int64(10))
	})
}

func TestWhatHasNoKeyInTimeIsNoTime(t *testing.T) {
	t.Parallel()

	for _, way := range keyWays[:3] { // a stream reports the lowest number only
		each(t, way.name, everyMode, func(h *harness) {
			ends := h.outcomes()
			most := h.slowKeys(400 * time.Millisecond)

			failed, took := h.within(3*time.Second, way.wrap(h, succeed), numbered(10))

			if way.name != "Batch" { // where half of the time for keys is less than what one takes
				h.equal("at a time", most.Load(), int64(1))
			}

			h.equal("answered in time", took <= 2*time.Second+10*time.Millisecond, true)
			h.equal("some are done, and the rest is not", len(failed) > 0 && len(failed) < 10, true)
			h.logs("outcome=no_time")

			for _, end := range ends.all() {
				id, outcome, _ := strings.Cut(end, " ")
				h.equal("failed "+id, slices.Contains(failed, id), outcome == "no_time")
			}

			h.equal("ends", len(ends.all()), 10)
			h.equal("records", len(h.db.Items("records")), 10-len(failed))
		})
	}
}

func TestAKeyFunctionThatHangsCostsItsOwnMessage(t *testing.T) {
	t.Parallel()

	for _, workers := range []int{1, 4} {
		each(t, fmt.Sprint(workers), everyKeyWay, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
			h.opts.Workers = workers
			h.slowKeys(6*time.Second, "k1")

			ends := h.outcomes()

			took := h.answeredIn(3*time.Second, wrap(succeed), groups(5), "101")
			h.equal("answered in time", took <= 2*time.Second+10*time.Millisecond, true)
			h.ran("100", "102", "103", "104")
			h.equal("outcome", slices.Contains(ends.all(), "101 no_time"), true)

			time.Sleep(10 * time.Second) // the late answer of the key function
			h.equal("its record", h.state("k1"), "none")
			h.equal("ends", len(ends.all()), 5)
		})
	}
}

// In Batch all messages wait for the last key, and must still be claimed and worked on.
func TestBatchHasTimeForItsHandlerAfterAKeyFunctionThatHangs(t *testing.T) {
	everyMode(t, func(h *harness) {
		h.opts.Workers = 2
		h.slowKeys(6*time.Second, "k1")
		h.slowRequests(200 * time.Millisecond)

		h.answeredIn(3*time.Second, h.whole(succeed), numbered(3), "m1")
		h.ran("m0", "m2")
	})
}

func TestAKeyThatIsKnownLateJoinsTheMessageThatHasIt(t *testing.T) {
	t.Parallel()

	done := []string{"m1 replayed", "m2 completed", "m3 replayed"}
	failed := []string{"m1 released", "m2 released", "m3 released"}

	for name, c := range map[string]struct {
		lookup, work time.Duration
		cause        error
		outcomes     []string
	}{
		"that is done":     {5 * time.Second, time.Second, nil, done},
		"that is at work":  {time.Second, 5 * time.Second, nil, done},
		"that has failed":  {5 * time.Second, time.Second, errBank, failed},
		"that then failed": {time.Second, 5 * time.Second, errBank, failed},
	} {
		for _, way := range keyWays[:2] {
			each(t, name+", "+way.name, everyMode, func(h *harness) {
				ends := h.outcomes()
				h.opts.Workers = 4
				h.slowKeys(c.lookup, "k,slow")

				find := h.opts.Key
				h.opts.Key = func(ctx context.Context, m events.SQSMessage) (string, error) {
					if m.MessageId == "m3" {
						time.Sleep(time.Millisecond) // the key of m2 is known first
					}

					return find(ctx, m)
				}

				got, _ := h.within(time.Minute, way.wrap(h, does(func() error {
					time.Sleep(c.work)

					return c.cause
				})), batch("m1 k,slow", "m2 k", "m3 k"))
				h.equal("failed", len(got), map[error]int{nil: 0, errBank: 3}[c.cause])
				h.ran("m2")
				h.sorted("ends", ends, c.outcomes...)
			})
		}
	}
}

func TestOfAFIFOGroupTheKeysAreFoundSideBySideAndTheOrderHolds(t *testing.T) {
	t.Parallel()

	for _, way := range []way{keyWays[0], keyWays[2], keyWays[3], keyWays[4]} {
		each(t, way.name, everyMode, func(h *harness) {
			h.opts.Workers = 4
			h.slowKeys(time.Second, "a1", "b2")

			begun := time.Now()
			took := h.answeredIn(time.Minute, way.wrap(h, func(_ context.Context, m events.SQSMessage) error {
				if m.Body == "b1" && way.name != "Batch" && time.Since(begun) > 100*time.Millisecond {
					h.Errorf("b1 began after %v", time.Since(begun))
				}

				return nil
			}), batch("1 a1 a", "2 b1 b", "3 a2 a", "4 b2 b", "5 a3 a"))
			h.equal("side by side", took < 2*time.Second, true)
			h.ordered("1", "3", "5")
			h.ordered("2", "4")
		})
	}
}

func TestAHangingKeyFunctionBlocksItsFIFOGroupAndNoOther(t *testing.T) {
	t.Parallel()

	for _, way := range keyWays[:3] {
		each(t, way.name, everyMode, func(h *harness) {
			ends := h.outcomes()
			h.opts.Workers = 2
			h.slowKeys(6*time.Second, "a2")

			took := h.answeredIn(3*time.Second, way.wrap(h, succeed), batch("m1 a1 a", "m2 a2 a", "m3 b1 b", "m4 a3 a", "m5 b2 b"), "m2", "m4")
			h.equal("answered in time", took <= 2*time.Second+10*time.Millisecond, true)
			h.sorted("ends", ends, "m1 completed", "m2 no_time", "m3 completed", "m4 blocked", "m5 completed")

			if way.name != "Batch" { // which claims all at once, and gives back what it does not need
				h.equal("behind it", h.state("a3"), "none")
			}

			// No handler runs before it, so nothing is known of the time that one takes, and half of it must be left.
			took = h.answeredIn(3*time.Second, way.wrap(h, succeed), deliveredFor(batch("m1 a1 a", "m2 a2 a"), 2), "m2")
			h.equal("answered in half of the time", took <= time.Second+10*time.Millisecond, true)
		})
	}
}

func TestNothingWaitsForAKeyThatIsOfNoUseAnyMore(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		workers int
		event   events.SQSEvent
		failed  []string
		took    time.Duration
	}{
		"behind a failed message of its group":         {2, batch("m1 bad a", "m2 slow a", "m3 k b"), []string{"m1", "m2"}, 20 * time.Millisecond},
		"when the only worker is kept by one too late": {1, batch("m1 hung", "m2 slow", "m3 k"), []string{"m1", "m2", "m3"}, 1520 * time.Millisecond},
	} {
		each(t, name, inBubble(nil), func(h *harness) {
			h.opts.Timeout, h.opts.Workers = time.Second, c.workers
			h.slowKeys(30*time.Second, "slow")

			work := byKey(map[string]lambdawrap.Handler{"bad": failWith(errBank), "hung": slowly(20 * time.Second)}, succeed)
			took := h.answeredIn(time.Minute, h.handle(work), c.event, c.failed...)
			h.equal(fmt.Sprint("the answer comes at once, and not after ", took), took <= c.took, true)
		})
	}
}

// A key function can tell how much time it has, and whose invocation it works for.
func TestTheContextOfAKeyFunctionIsThatOfItsMessageAndEndsWithTheTime(t *testing.T) {
	t.Parallel()

	for name, way := range map[string]way{"SQS": keyWays[0], "Batch": keyWays[2], "Kinesis": keyWays[3], "envelopes": keyWays[5]} {
		each(t, name, everyMode, func(h *harness) {
			h.owned(&journal{})

			type invocation struct{}

			var calls, told journal

			look := func(what string) lambdawrap.KeyFunc {
				return finding(func(ctx context.Context, m events.SQSMessage) error {
					calls.add(fmt.Sprint(what, " ", owner(ctx), " ", ctx.Value(invocation{})))

					if m.Body != "slow" {
						return nil
					}

					begun := time.Now()
					<-ctx.Done()
					told.add(fmt.Sprint(time.Since(begun) <= 9*time.Second))

					return ctx.Err()
				})
			}
			h.opts.Workers = 2
			h.opts.Key = look("key")

			if name != "Kinesis" {
				h.opts.Fingerprint = look("fingerprint")
			}

			ctx := context.WithValue(h.limited(10*time.Second), invocation{}, "request")
			response, err := way.wrap(h, succeed)(ctx, batch("1 fast a", "2 slow b"))
			h.equal("error", err, nil)
			h.equal("failed", ids(response), []string{"2"})

			want := []string{"fingerprint 1 request", "key 1 request", "key 2 request"}
			if name == "Kinesis" {
				want = want[1:]
			}

			h.sorted("calls", &calls, want...)
			time.Sleep(time.Minute)
			h.equal("told to end in time", told.all(), []string{"true"})
		})
	}
}

func TestAKeyFunctionThatEndsItsGoroutineCostsItsOwnMessage(t *testing.T) {
	everyKeyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		h.opts.Key = finding(only("k1", does(func() error { goexit(); return nil })))

		took := h.answeredIn(time.Minute, wrap(succeed), groups(4), "101")
		h.equal("at once", took < time.Second, true)
		h.ran("100", "102", "103")
		h.logs("runtime.Goexit", "outcome=released")
	})
}

// A MessageContext that hangs is like a key function that does.
func TestAMessageContextThatHangsCostsItsOwnMessage(t *testing.T) {
	everyKeyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		h.opts.Workers = 2
		h.opts.MessageContext = func(ctx context.Context, m events.SQSMessage) context.Context {
			_ = only("k1", slowly(6*time.Second))(ctx, m)

			return ctx
		}

		took := h.answeredIn(3*time.Second, wrap(succeed), groups(4), "101")
		h.equal("answered in time", took <= 2*time.Second+10*time.Millisecond, true)
	})
}

func TestAKeyFunctionOfFuncThatHangsIsAnErrorInTime(t *testing.T) {
	everyFunc(t, func(f *funcHarness) {
		f.opts.Key = func(_ context.Context, o order) (string, error) {
			time.Sleep(time.Hour)

			return o.ID, nil
		}

		_, took, err := f.within(10*time.Second, settleOrder)
		f.equal("refused for want of time", err != nil && strings.Contains(err.Error(), "had not answered"), true)
		f.lasts(took, 0, 9*time.Second)
		time.Sleep(2 * time.Hour)
		f.equal("records", len(f.db.Items("records")), 0)
	})
}
