package lambdawrap_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// fakeQueue is a client of SQS that records for how long each message was hidden.
type fakeQueue struct {
	answer func(ctx context.Context, id string) error

	mu      sync.Mutex
	seconds map[string][]int32 // by message id
}

// hiding sets Options.Visibility to a client whose calls return what answer returns, or succeed if it is nil.
func (h *harness) hiding(answer func(ctx context.Context, id string) error) *fakeQueue {
	q := &fakeQueue{answer: answer, seconds: map[string][]int32{}}
	h.opts.Visibility = q

	return q
}

func (q *fakeQueue) ChangeMessageVisibility(
	ctx context.Context, in *sqs.ChangeMessageVisibilityInput, _ ...func(*sqs.Options),
) (*sqs.ChangeMessageVisibilityOutput, error) {
	id := strings.TrimPrefix(*in.ReceiptHandle, "receipt of ")

	q.mu.Lock()
	q.seconds[id] = append(q.seconds[id], in.VisibilityTimeout)
	q.mu.Unlock()

	if q.answer != nil {
		if err := q.answer(ctx, id); err != nil {
			return nil, err
		}
	}

	return &sqs.ChangeMessageVisibilityOutput{}, nil
}

func (q *fakeQueue) of(id string) []int32 {
	q.mu.Lock()
	defer q.mu.Unlock()

	return q.seconds[id]
}

// hidden demands that a message was hidden once, for so many seconds.
func (h *harness) hidden(q *fakeQueue, id string, from, to int32) {
	h.Helper()

	if got := q.of(id); len(got) != 1 || got[0] < from || got[0] > to {
		h.Errorf("%s is hidden for %v, want once, for %d to %d s", id, got, from, to)
	}
}

// A message whose key is held elsewhere comes back after the later of the lease and the pause that its receive count asks for.
func TestAMessageInProgressElsewhereComesBackAfterTheLeaseOrThePause(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		receives int
		from, to int32
	}{
		{1, 23, 23},    // this is 20 s of the lease, 1 s of skew for each of the two clocks, and the rest of the second
		{4, 23, 23},    // the pause is 8 to 16 s
		{10, 450, 900}, // the pause is longer than the lease
	} {
		each(t, strconv.Itoa(c.receives), everyWay, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
			queue := h.hiding(nil)
			claim(h, h.store, "k1") // the claim lasts 30 s
			time.Sleep(10 * time.Second)

			h.check(wrap(succeed), deliveredFor(numbered(3), c.receives), []string{"m1"}, []string{"m0", "m2"})
			h.hidden(queue, "m1", c.from, c.to)
			h.equal("others", len(queue.seconds), 1)

			time.Sleep(time.Duration(queue.of("m1")[0]) * time.Second)
			h.check(wrap(succeed), deliveredFor(batch("m1 k1"), c.receives+1), nil, []string{"m1"})
		})
	}
}

func TestAMessageThatFailedComesBackAfterAPauseByItsReceiveCount(t *testing.T) {
	t.Parallel()

	for count, pause := range map[int][2]int32{1: {1, 2}, 2: {2, 4}, 5: {16, 32}, 50: {450, 900}} {
		each(t, strconv.Itoa(count), everyWay, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
			queue := h.hiding(nil)
			h.opts.Key = keyless(errors.New("the customer cannot be looked up now"), "k2")
			h.check(wrap(failingWith(errBank, "k0")), deliveredFor(numbered(3), count), []string{"m0", "m2"}, []string{"m0", "m1"})
			h.hidden(queue, "m0", pause[0], pause[1])
			h.hidden(queue, "m2", pause[0], pause[1])
			h.equal("others", len(queue.seconds), 2)
		})
	}
}

func TestWhatIsBlockedInAFIFOGroupComesBackWithItsHead(t *testing.T) {
	everyMode(t, func(h *harness) {
		queue := h.hiding(nil)
		claim(h, h.store, "b1")

		event := deliveredFor(batch("m1 a1 a", "m2 b1 b", "m3 a2 a", "m4 b2 b", "m5 a3 a", "m6 c1 c"), 10)
		event.Records[1].Attributes["ApproximateReceiveCount"] = "1"
		event.Records[2].Attributes["ApproximateReceiveCount"] = "1"
		h.check(h.handle(failingWith(errBank, "a1")), event, []string{"m1", "m2", "m3", "m4", "m5"}, []string{"m1", "m6"})

		h.hidden(queue, "m1", 450, 900)
		head := queue.of("m1")[0]
		h.hidden(queue, "m3", head, head)
		h.hidden(queue, "m5", head, head)
		h.hidden(queue, "m2", 33, 33)
		h.hidden(queue, "m4", 33, 33)
		h.equal("others", len(queue.seconds), 5)

		// The same holds with Batch, here for a head whose key is held elsewhere.
		queue = h.hiding(nil)
		h.check(h.whole(succeed), deliveredFor(batch("m2 b1 b", "m4 b2 b", "m6 c1 c"), 1), []string{"m2", "m4"}, nil)
		h.hidden(queue, "m2", 33, 33)
		h.hidden(queue, "m4", 33, 33)
	})
}

// For a message that will never succeed another delivery brings nothing, so it goes back to the queue as the queue's own settings
// say.
func TestWhatWillNeverSucceedIsNotHidden(t *testing.T) {
	t.Parallel()

	for name, hook := range map[string]func(context.Context, events.SQSMessage, error) error{
		"with a hook that fails for one of them": hookOf(failingWith(errors.New("queue gone"), "k1")), "without a hook": nil,
	} {
		each(t, name, everyMode, func(h *harness) {
			queue := h.hiding(nil)
			h.opts.DeadLetter = hook
			h.opts.Key = keyless(lambdawrap.ErrNoKey, "k3")

			function := h.handle(failingWith(lambdawrap.Permanent(errBank), "k0", "k1", "k3"))
			failed := []string{"m1"}
			if hook == nil {
				failed = []string{"m0", "m1", "m3"}
			}

			for range 2 {
				h.answered(function, deliveredFor(numbered(4), 1), failed...)
			}

			h.equal("hidden", len(queue.seconds), 0)
		})
	}
}

func TestAVisibilityThatCanNotBeChangedIsOnlyLogged(t *testing.T) {
	t.Parallel()

	for name, meet := range map[string]func(context.Context, string) error{
		"error": func(context.Context, string) error { return errors.New("access denied") },
		"panic": func(context.Context, string) error { panic("access denied") },
		"exit":  func(context.Context, string) error { goexit(); return nil },
	} {
		each(t, name, everyWay, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
			h.hiding(meet)
			claim(h, h.store, "k1")
			h.check(wrap(failingWith(errBank, "k0")), deliveredFor(numbered(3), 1), []string{"m0", "m1"}, []string{"m0", "m2"})
			h.equal("lines", strings.Count(h.log.String(), "visibility time-out"), 2)
			h.equal("k2", h.state("k2"), "COMPLETED")
		})
	}
}

// A request to SQS that hangs concerns a message that has failed already. The others are worked on meanwhile.
func TestAVisibilityThatHangsCostsTheOthersNothing(t *testing.T) {
	t.Parallel()

	for name, event := range map[string]events.SQSEvent{
		"after a failure": batch("m0 fails", "m1 k1", "m2 k2"), "of a key in progress": batch("m0 held", "m1 k1", "m2 k2"),
		"of a key in progress, FIFO": batch("m0 held a", "m1 k1 b", "m2 k2 c"),
	} {
		for what, hangs := range map[string]func(context.Context){"until its end": untilItsEnd, "past its end": pastItsEnd} {
			each(t, name+", "+what, everyWay, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
				h.hiding(func(ctx context.Context, _ string) error { hangs(ctx); return ctx.Err() })
				claim(h, h.store, "held")
				h.answeredIn(time.Minute, wrap(failingWith(errBank, "fails")), deliveredFor(event, 1), "m0")
			})
		}
	}
}

func TestCallsToSQSAreBoundedWhenAllComesBackAtOnce(t *testing.T) {
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		var calls meter

		queue := h.hiding(func(context.Context, string) error { calls.takes(10 * time.Millisecond); return nil })

		// The reserve takes the whole time, so all messages fail.
		h.answeredIn(time.Second, wrap(succeed), deliveredFor(numbered(300), 1), messageIDs(300)...)
		h.equal("hidden", len(queue.seconds), 300)
		h.atMost("calls at once", int(calls.most.Load()), 110)
	})
}

func TestBackoffSaysHowLongAFailedMessageStaysHidden(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		backoff  func(int) time.Duration
		receives int
		want     int32
	}{
		"constant":                      {lambdawrap.ConstantBackoff(90 * time.Second), 7, 90},
		"rounded up":                    {lambdawrap.ConstantBackoff(1500 * time.Millisecond), 1, 2},
		"none is a second":              {lambdawrap.ConstantBackoff(0), 1, 1},
		"negative is a second":          {lambdawrap.ConstantBackoff(-1 << 63), 1, 1},
		"longer than SQS takes":         {lambdawrap.ConstantBackoff(1<<63 - 1), 1, 41400},
		"of the receives":               {func(receives int) time.Duration { return time.Duration(receives) * time.Minute }, 3, 180},
		"the default, as a function":    {func(receives int) time.Duration { return lambdawrap.ExponentialBackoff(receives) / 1000 }, 1, 1},
		"more than one default at most": {func(int) time.Duration { return min(lambdawrap.ExponentialBackoff(99), 450*time.Second) }, 1, 450},
	} {
		for _, wrap := range []func(*harness, lambdawrap.Handler) wrapped{(*harness).handle, (*harness).whole} {
			h := newHarness(t, nil)
			q := h.hiding(nil)
			h.opts.Backoff = c.backoff

			h.answered(wrap(h, failingWith(errBank, "k")), deliveredFor(batch("m1 k"), c.receives), "m1")
			h.equal(name, q.of("m1"), []int32{c.want})
		}
	}
}

func TestABackoffThatPanicsHasTheDefaultPause(t *testing.T) {
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		q := h.hiding(nil)
		h.opts.Backoff = func(int) time.Duration { panic("wrong") }

		h.answered(wrap(failingWith(errBank, "k")), deliveredFor(batch("m1 k"), 1), "m1")
		h.logs("Options.Backoff failed", "level=ERROR")
		h.hidden(q, "m1", 1, 2)
	})
}

// SQS counts the last request for a message, so there is one for all that stood in its envelope.
func TestAnEnvelopeStaysHiddenForAsLongAsOneOfItsMessagesNeeds(t *testing.T) {
	t.Parallel()

	for _, body := range []string{"held+fails", "fails+held", "held+done+fails"} {
		h := newHarness(t, nil)
		q := h.hiding(nil)
		h.opts.Envelope = split("+")
		claim(h, h.store, "held")

		h.answered(h.handle(failingWith(errBank, "fails", "held")), deliveredFor(batch("m1 "+body), 1), "m1")
		h.hidden(q, "m1", 20, 33) // until the lease of 30 s is over
	}
}
