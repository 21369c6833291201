package lambdawrap_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestAHookThatFailsFailsItsMessage(t *testing.T) {
	t.Parallel()

	for name, hook := range map[string]func(context.Context, events.SQSMessage, error) error{
		"none":  nil,
		"error": hookOf(failWith(errors.New("queue gone"))),
		"panic": func(context.Context, events.SQSMessage, error) error { panic("hook") },
		"exit":  func(context.Context, events.SQSMessage, error) error { runtime.Goexit(); return nil },
	} {
		each(t, name, oneHarness, func(h *harness) {
			h.opts.DeadLetter = hook
			function := h.handle(failingWith(lambdawrap.Permanent(errors.New("no such account")), "bad"))
			h.check(function, batch("m1 bad", "m2 k"), []string{"m1"}, []string{"m1", "m2"})
			h.equal("record", h.state("bad"), "FAILED")
			h.expect(function, batch("m1 bad"), []string{"m1"}, nil)

			if hook != nil {
				h.logs(`level=ERROR msg="the message is reported failed, because the dead-letter hook failed"`)
			}
		})
	}
}

func TestHandlersAndHooksTogetherAreNeverMoreThanWorkers(t *testing.T) {
	t.Parallel()

	for _, workers := range []int{1, 4} {
		each(t, strconv.Itoa(workers), everyMode, func(h *harness) {
			h.opts.Workers = workers

			var (
				calls meter
				hooks atomic.Int64
			)

			takes := calls.slowly(time.Second)
			h.opts.DeadLetter = func(ctx context.Context, m events.SQSMessage, _ error) error {
				hooks.Add(1)

				return takes(ctx, m)
			}
			function := h.handle(func(ctx context.Context, m events.SQSMessage) error {
				if err := takes(ctx, m); err != nil || m.Body[len(m.Body)-1]%2 == 1 {
					return err
				}

				return lambdawrap.Permanent(errBank)
			})

			for range 2 { // in the second round the hook gets the messages whose keys failed for good in the first
				h.answered(function, numbered(60))
			}

			h.equal("hooks", hooks.Load(), int64(60))
			h.equal("runs", len(h.runs.all()), 60)
			h.equal("at once", calls.most.Load(), int64(workers))
		})
	}
}

func TestHooksAreNeverMoreThanWorkersInTheReserveEither(t *testing.T) {
	t.Parallel()

	for _, way := range []way{ways[0], ways[2]} {
		each(t, way.name, everyMode, func(h *harness) {
			h.opts.Workers, h.opts.Reserve = 2, 8*time.Second

			for i := range 20 {
				h.equal("error", claim(h, h.store, fmt.Sprint("k", i)).Fail(h.Context(), nil), nil)
			}

			var calls meter

			h.opts.DeadLetter = hookOf(calls.slowly(time.Second))

			failed, _ := h.within(10*time.Second, way.wrap(h, succeed), numbered(20)) // the handlers have 2 s, the hooks 8 s
			h.equal("at once", calls.most.Load(), int64(2))

			if done := 20 - len(failed); done < 4 || done > 16 {
				h.Errorf("%d are done", done)
			}
		})
	}
}

func TestBatchGivesEachMessageToTheHook(t *testing.T) {
	everyMode(t, func(h *harness) {
		var dead journal

		h.opts.DeadLetter = func(_ context.Context, m events.SQSMessage, err error) error {
			dead.add(m.MessageId)

			if m.MessageId == "m2" {
				return errors.New("queue gone")
			}

			if !errors.Is(err, errBank) && !errors.Is(err, idemddb.ErrFailed) {
				h.Errorf("got %v", err)
			}

			return nil
		}
		function := h.event(func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
			return events.SQSEventResponse{}, lambdawrap.Permanent(errBank)
		})
		h.expect(function, batch("m1 k1", "m2 k2", "m3 k1"), []string{"m2"}, []string{"m1 m2"})
		h.sorted("dead letters", &dead, "m1", "m2", "m3")
		h.logs(`msg="the message was given to the dead-letter hook"`)

		dead.clear()
		h.expect(function, batch("m1 k1", "m4 k2", "m3 k1"), nil, nil)
		h.sorted("dead letters", &dead, "m1", "m3", "m4")
	})
}

// refusing stands for an SQS that takes no message.
type refusing struct{ err error }

func (r refusing) SendMessage(context.Context, *sqs.SendMessageInput, ...func(*sqs.Options)) (*sqs.SendMessageOutput, error) {
	return nil, r.err
}

func TestErrorsOfADeadLetterQueueSayWhoseTheyAre(t *testing.T) {
	t.Parallel()

	denied := errors.New("denied")
	err := lambdawrap.DeadLetterQueue(refusing{denied}, "https://sqs.eu-west-1.amazonaws.com/111122223333/dead")(
		t.Context(), events.SQSMessage{MessageId: "m-1", Body: "b"}, errBank)

	if !errors.Is(err, denied) || err.Error() != "lambdawrap: dead-letter queue: denied" {
		t.Errorf("got %v", err)
	}
}

// Once a message is reported as a dead letter, an operator may delete it. So the record must say first that its key has ended.
func TestAPermanentFailureIsNotDeadLetteredUnlessItsKeyHasEnded(t *testing.T) {
	t.Parallel()

	for name, happens := range map[string]func(*harness){
		"another worker has taken the key over":       func(h *harness) { h.steal("k") },
		"the write that ends the key is denied":       func(h *harness) { h.meets(idemddbtest.AccessDenied) },
		"the write that ends the key is not answered": func(h *harness) { h.meets(idemddbtest.LateReply) },
	} {
		each(t, name, everyWay, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
			dead := h.parking()
			function := wrap(func(context.Context, events.SQSMessage) error {
				happens(h)

				return lambdawrap.Permanent(errors.New("no such account"))
			})

			h.answeredIn(10*time.Second, function, batch("m k"), "m")
			h.equal("dead letters", dead.all(), []string(nil))
		})
	}
}

// No delivery of such a message will have a key. Left in its queue, it would block its message group until its receives are used
// up.
func TestAMessageWithoutAKeyIsForTheDeadLetterHook(t *testing.T) {
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		taken := h.parkingBecauseOf(lambdawrap.ErrNoKey)
		h.opts.Key, _ = lambdawrap.Body("id")
		h.check(wrap(succeed), batch("m1 "+`{"id":`, "m2 "+`{"id":null}`, "m3 "+`{"id":"k"}`), nil, []string{"m3"})

		h.sorted("dead letters", taken, "m1 true", "m2 true")
	})
}

// A poller of the user's own has no deadline, and cancels its context to end.
func TestWithoutADeadlineAHookHasOneLease(t *testing.T) {
	t.Parallel()

	hangs := slowly(5 * time.Minute)

	for name, c := range map[string]struct {
		deadLetter, onMessage lambdawrap.Handler
		failed                []string
	}{
		"DeadLetter":                           {hangs, succeed, []string{"m1"}},
		"DeadLetter that looks at its context": {obeying, succeed, []string{"m1"}},
		"OnMessage":                            {succeed, hangs, nil},
	} {
		each(t, name, sqsAndBatch(&idemddb.Options{Lease: 20 * time.Second}), func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
			h.equal("error", claim(h, h.store, "bad").Fail(h.Context(), nil), nil)

			h.opts.DeadLetter = hookOf(c.deadLetter)
			h.opts.OnMessage = func(ctx context.Context, m events.SQSMessage, _ lambdawrap.Outcome) { _ = c.onMessage(ctx, m) }

			ctx, cancel := context.WithCancel(h.Context())
			time.AfterFunc(time.Second, cancel)

			begun := time.Now()
			response, err := wrap(succeed)(ctx, batch("m1 bad"))

			h.equal("error", err, nil)
			h.equal("failed", ids(response), c.failed)
			h.lasts(time.Since(begun), 20*time.Second, 20*time.Second+moment)
		})
	}
}
