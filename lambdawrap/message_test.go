package lambdawrap_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

type ownKey struct{}

// owner names the message whose context ctx is.
func owner(ctx context.Context) string { return fmt.Sprint(ctx.Value(ownKey{})) }

// owned gives each message a context that names it. calls gets the ids of the messages.
func (h *harness) owned(calls *journal) {
	h.opts.MessageContext = func(ctx context.Context, m events.SQSMessage) context.Context {
		calls.add(m.MessageId)

		return context.WithValue(ctx, ownKey{}, m.MessageId)
	}
}

// owners collects for each hook which message it was called with, and which message its context names.
type owners struct{ calls, claims, handlers, hooks, ends journal }

// watch sets the hooks of the harness. A batch of the keys a, a, b and poison has the ids 1 to 4.
func (o *owners) watch(h *harness) {
	h.owned(&o.calls)
	h.opts.DeadLetter = func(ctx context.Context, m events.SQSMessage, _ error) error {
		o.hooks.add(m.MessageId + " " + owner(ctx))

		return nil
	}
	h.opts.OnMessage = func(ctx context.Context, m events.SQSMessage, _ lambdawrap.Outcome) {
		o.ends.add(m.MessageId + " " + owner(ctx))
	}
	h.store = h.open(h.db, &idemddb.Options{
		Trace: func(ctx context.Context) string {
			o.claims.add(owner(ctx))

			return ""
		},
		Observe: func(ctx context.Context, e idemddb.Event) {
			if e.Kind == idemddb.KindClaimed || e.Kind == idemddb.KindReplayed {
				h.equal("context of the event "+string(e.Kind), owner(ctx), map[string]string{"a": "1", "b": "3", "poison": "4"}[e.Key])
			}
		},
	})
}

// sorted demands the entries of a journal, in any order.
func (h *harness) sorted(what string, j *journal, want ...string) {
	h.Helper()

	h.equal(what, slices.Sorted(slices.Values(j.all())), want)
}

func TestEachMessageHasOneContextOfItsOwn(t *testing.T) {
	t.Parallel()

	for _, way := range keyWays[:5] {
		each(t, way.name, bothModes, func(h *harness) {
			var o owners

			o.watch(h)

			isBatch := way.name == "Batch" // whose handler does not have the context of a message
			function := way.wrap(h, func(ctx context.Context, m events.SQSMessage) error {
				o.handlers.add(m.MessageId + " " + owner(ctx))

				if m.Body == "poison" && !isBatch {
					return lambdawrap.Permanent(errBank)
				}

				return nil
			})

			h.within(time.Minute, function, batch("1 a", "2 a", "3 b", "4 poison")) // 2 is a duplicate of 1
			h.sorted("calls of MessageContext", &o.calls, "1", "2", "3", "4")
			h.sorted("ends", &o.ends, "1 1", "2 2", "3 3", "4 4")

			if !isBatch {
				h.sorted("handlers", &o.handlers, "1 1", "3 3", "4 4")
				h.sorted("dead letters", &o.hooks, "4 4")
			}

			h.sorted("claims and commits", &o.claims, "1", "3", "4")
		})
	}
}

// A handler sees the time of the invocation through the context of its message.
func TestTheContextOfAMessageEndsWithTheWork(t *testing.T) {
	bothModes(t, func(h *harness) {
		h.owned(&journal{})

		took := h.answeredIn(10*time.Second, h.handle(obeying), numbered(1), "m0")
		h.equal("took", took.Round(time.Second), 9*time.Second) // the reserve begins then
	})
}

// A message that comes too late to start has its context, too, so that what measures it begins and ends.
func TestAMessageWithoutTimeHasItsContext(t *testing.T) {
	bothModes(t, func(h *harness) {
		var ends journal

		h.owned(&journal{})
		h.opts.OnMessage = func(ctx context.Context, _ events.SQSMessage, o lambdawrap.Outcome) {
			ends.add(owner(ctx) + " " + string(o))
		}

		h.within(10*time.Second, h.handle(slowly(9*time.Second+100*time.Millisecond)), numbered(2))
		h.sorted("ends", &ends, "m0 completed", "m1 no_time")

		h.slowKeys(time.Minute, "hangs") // so no key function is called for m4
		h.within(10*time.Second, h.handle(failingWith(errBank, "bad")), batch("m2 bad g", "m3 hangs other", "m4 k g"))
		h.sorted("ends", &ends, "m0 completed", "m1 no_time", "m2 released", "m3 no_time", "m4 blocked")

		h.opts.Reserve = 20 * time.Second // nor one for these
		h.within(10*time.Second, h.handle(succeed), batch("m5 k"))
		h.sorted("ends", &ends, "m0 completed", "m1 no_time", "m2 released", "m3 no_time", "m4 blocked", "m5 no_time")

		h.opts.MessageContext = nil
		h.within(10*time.Second, h.handle(succeed), batch("m6 k"))
		h.equal("the log has a failure of the hook", strings.Contains(h.log.String(), "the hook"), false)
	})
}

func TestAMessageWhoseContextHasEndedIsNoOutageOfDynamoDB(t *testing.T) {
	claimedAndOptimistic(bothModes)(t, func(h *harness) {
		h.opts.FailOnOutage = true
		h.opts.MessageContext = func(ctx context.Context, _ events.SQSMessage) context.Context {
			ctx, cancel := context.WithCancel(ctx)
			cancel()

			return ctx
		}

		h.check(h.handle(counting), batch("m1 k"), []string{"m1"}, nil)
		h.logs("outcome=no_time")
		h.equal("requests and claims that DynamoDB did not answer", []int{len(h.db.Requests()), h.count(idemddb.KindUnanswered)}, []int{0, 0})
	})
}

func TestAHookThatFailsChangesNothing(t *testing.T) {
	t.Parallel()

	const noContext = "the hook returned no context"

	failed := "level=ERROR msg=\"the hook for a message's context failed; the message has the context of the invocation"

	for name, c := range map[string]struct {
		messageContext func() context.Context // nil for one that goes well
		onMessage      func()
		log            []string // nil for no line of the hook
	}{
		"MessageContext panics":           {func() context.Context { panic("the hook is at fault") }, nil, []string{failed, "the hook is at fault"}},
		"MessageContext exits":            {func() context.Context { goexit(); return nil }, nil, []string{failed, "runtime.Goexit"}},
		"MessageContext returns nil":      {func() context.Context { return nil }, nil, []string{failed, noContext}},
		"MessageContext hangs for a time": {func() context.Context { time.Sleep(time.Second); return nil }, nil, []string{failed, noContext}},
		"OnMessage panics":                {nil, func() { panic("hook") }, []string{"the hook for ended messages failed"}},
		"OnMessage exits":                 {nil, goexit, []string{"the hook for ended messages failed"}},
		"OnMessage panics with nil":       {nil, func() { panic((*codeError)(nil)) }, []string{"the hook for ended messages failed"}},
		"OnMessage hangs for a time":      {nil, func() { time.Sleep(time.Second) }, nil},
	} {
		each(t, name, everyWay, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
			if c.onMessage == nil {
				h.opts.MessageContext = func(context.Context, events.SQSMessage) context.Context { return c.messageContext() }
			} else {
				h.opts.OnMessage = func(context.Context, events.SQSMessage, lambdawrap.Outcome) { c.onMessage() }
			}

			h.answeredIn(time.Minute, wrap(failingWith(errBank, "k1")), numbered(4), "m1")
			h.logs(c.log...)
			h.equal("it is logged", strings.Contains(h.log.String(), "the hook"), c.log != nil)

			for i, want := range []string{"COMPLETED", "INPROGRESS released", "COMPLETED", "COMPLETED"} {
				h.equal(fmt.Sprint("record ", i), h.state(fmt.Sprint("k", i)), want)
			}
		})
	}
}

// attributed is a message with everything that it may share with a copy of itself.
func attributed() events.SQSMessage {
	m := deliveredFor(numbered(1), 3).Records[0]
	m.MessageAttributes = map[string]events.SQSMessageAttribute{
		"text": {StringValue: new("as it was"), DataType: "String"}, "bytes": {BinaryValue: []byte("as it was"), DataType: "Binary"},
	}

	return m
}

// spoil changes everything that a message shares with its copies.
func spoil(m events.SQSMessage) {
	m.Attributes["ApproximateReceiveCount"] = "99"
	delete(m.Attributes, "MessageGroupId")

	*m.MessageAttributes["text"].StringValue = "changed"
	copy(m.MessageAttributes["bytes"].BinaryValue, "changed")
	m.MessageAttributes["more"] = events.SQSMessageAttribute{}
}

func TestHooksGetTheMessageAsItArrived(t *testing.T) {
	t.Parallel()

	test := func(h *harness, wrap func(*harness, lambdawrap.Handler) wrapped) {
		h.opts.OnMessage = func(_ context.Context, m events.SQSMessage, _ lambdawrap.Outcome) {
			h.equal("OnMessage's message", m, attributed())
		}

		dead := 0
		h.opts.DeadLetter = func(_ context.Context, m events.SQSMessage, _ error) error {
			dead++

			h.equal("the dead-letter hook's message", m, attributed())

			spoil(m) // OnMessage does not see that either

			return nil
		}
		key := h.opts.Key
		h.opts.Key = func(ctx context.Context, m events.SQSMessage) (string, error) {
			text, err := key(ctx, m)
			delete(m.MessageAttributes, "more") // what a key function changes does not reach the hooks

			return text, err
		}

		for range 2 { // the first delivery fails for good, and the second is refused
			h.answeredIn(time.Minute, wrap(h, func(_ context.Context, m events.SQSMessage) error {
				spoil(m)

				return lambdawrap.Permanent(errBank)
			}), events.SQSEvent{Records: []events.SQSMessage{attributed()}})
		}

		h.equal("calls of the hook", dead, 2)
	}

	each(t, "SQS", everyMode, func(h *harness) { test(h, (*harness).handle) })
	each(t, "Batch", everyMode, func(h *harness) { test(h, (*harness).strict) })
}

func TestWhatTheKeyFunctionChangesReachesNoHookEither(t *testing.T) {
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		h.opts.Key = func(_ context.Context, m events.SQSMessage) (string, error) {
			spoil(m)

			return "", lambdawrap.Permanent(errBank)
		}

		var got events.SQSMessage // as the hook has it afterwards

		for name, set := range map[string]func(){
			"DeadLetter": func() {
				h.opts.DeadLetter = func(_ context.Context, m events.SQSMessage, _ error) error { got = m; return nil }
			},
			"OnMessage": func() {
				h.opts.OnMessage = func(_ context.Context, m events.SQSMessage, _ lambdawrap.Outcome) { got = m }
			},
			"MessageContext": func() {
				h.opts.MessageContext = func(ctx context.Context, m events.SQSMessage) context.Context { got = m; return ctx }
			},
		} {
			h.opts.DeadLetter, h.opts.OnMessage, h.opts.MessageContext = nil, nil, nil
			set()
			h.within(time.Minute, wrap(succeed), events.SQSEvent{Records: []events.SQSMessage{attributed()}})

			h.equal(fmt.Sprintf("the message of %s alone", name), got, attributed())
		}
	})
}

func TestOutsideOfAHandlerOfOneThereIsNoMessage(t *testing.T) {
	everyMode(t, func(h *harness) {
		_, ok := lambdawrap.MessageFrom(h.Context())
		h.equal("outside of a handler", ok, false)

		function := h.whole(func(ctx context.Context, _ events.SQSMessage) error {
			_, ok := lambdawrap.MessageFrom(ctx)
			h.equal("in Batch", ok, false)

			return nil
		})
		h.within(time.Minute, function, numbered(2))
	})
}

// outcomeCase is a message and its handler. want is the outcome that OnMessage is given.
type outcomeCase struct {
	set  func(h *harness)   // nil for nothing
	work lambdawrap.Handler // nil for one whose key another worker takes over
	want lambdawrap.Outcome
}

func TestOnMessageIsGivenTheOutcomeOfItsMessage(t *testing.T) {
	t.Parallel()

	keyOfAll := func(key string, err error) func(*harness) {
		return func(h *harness) {
			h.opts.Key = func(context.Context, events.SQSMessage) (string, error) { return key, err }
		}
	}
	faults := func(is func(idemddbtest.Request) bool) func(*harness) {
		return func(h *harness) { h.db.Intercept(faultFor(isCallOf(is), idemddbtest.Throttle)) }
	}

	for name, c := range map[string]outcomeCase{
		"completed": {nil, succeed, lambdawrap.OutcomeCompleted},
		"replayed": {func(h *harness) {
			h.equal("completed", h.heldElsewhere("k0", 0).Complete(h.Context(), nil), nil)
		}, succeed, lambdawrap.OutcomeReplayed},
		"unrecorded": {faults(isCompletion), succeed, lambdawrap.OutcomeUnrecorded},
		"fenced":     {nil, nil, lambdawrap.OutcomeFenced},
		"failed":     {nil, failWith(lambdawrap.Permanent(errBank)), lambdawrap.OutcomeFailed},
		"refused": {func(h *harness) {
			h.equal("failed", h.heldElsewhere("k0", 0).Fail(h.Context(), errBank), nil)
		}, succeed, lambdawrap.OutcomeRefused},
		"mismatch": {func(h *harness) {
			another, record, err := h.store.Claim(h.Context(), "k0", &idemddb.ClaimOptions{Fingerprint: "another"})
			if another == nil {
				h.Fatalf("got record %v, error %v, want a claim", record, err)
			}

			h.equal("error", another.Complete(h.Context(), nil), nil)

			h.opts.Fingerprint = func(context.Context, events.SQSMessage) (string, error) { return "this", nil }
		}, succeed, lambdawrap.OutcomeMismatch},
		"no key": {keyOfAll("", nil), succeed, lambdawrap.OutcomeNoKey},
		"corrupt": {func(h *harness) {
			h.put(map[string]types.AttributeValue{
				"pk": &types.AttributeValueMemberS{Value: "payments#k0"}, "v": &types.AttributeValueMemberN{Value: "99"},
			})
		}, succeed, lambdawrap.OutcomeCorrupt},
		"a key function that fails": {keyOfAll("", errBank), succeed, lambdawrap.OutcomeReleased},
		"released":                  {nil, failWith(errBank), lambdawrap.OutcomeReleased},
		"in progress":               {func(h *harness) { h.heldElsewhere("k0", 0) }, succeed, lambdawrap.OutcomeInProgress},
		"unanswered":                {faults(isClaim), succeed, lambdawrap.OutcomeUnanswered},
		"no time":                   {func(h *harness) { h.opts.Reserve = 20 * time.Second }, succeed, lambdawrap.OutcomeNoTime},
		"late":                      {nil, slowly(time.Minute), lambdawrap.OutcomeLate},
	} {
		for _, w := range ways {
			if w.name == "Batch" {
				w.wrap = (*harness).strict
			}

			each(t, name+", "+w.name, bothModes, func(h *harness) {
				ends := h.outcomes()

				if c.set != nil {
					c.set(h)
				}

				work := c.work
				if work == nil {
					work = does(func() error { h.steal("k0"); return nil })
				}

				h.within(20*time.Second, w.wrap(h, work), numbered(1))
				h.sorted("ends", ends, "m0 "+string(c.want))
			})
		}
	}
}

// strict is whole for a handler whose first error is that of the whole event.
func (h *harness) strict(work lambdawrap.Handler) wrapped {
	return h.event(func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		for _, m := range event.Records {
			if err := work(ctx, m); err != nil {
				return events.SQSEventResponse{}, err
			}
		}

		return events.SQSEventResponse{}, nil
	})
}

// steal takes a key over, however long its lease is, and leaves it in progress.
func (h *harness) steal(key string) *idemddb.Claim {
	h.Helper()

	return claim(h, h.open(h.db, &idemddb.Options{Now: func() time.Time { return time.Now().Add(time.Hour) }}), key)
}

func TestOnMessageSaysReplayedForDuplicatesOnly(t *testing.T) {
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		ends := h.outcomes()
		function := wrap(succeed)

		h.within(time.Minute, function, batch("m0 a", "m1 a", "m2 b", "m3 a")) // a runs once, and so does b
		h.sorted("ends", ends, "m0 completed", "m1 replayed", "m2 completed", "m3 replayed")
		h.ran("m0", "m2")

		ends.clear()
		h.within(time.Minute, function, batch("m0 a", "m1 a", "m2 b", "m3 c"))
		h.sorted("ends", ends, "m0 replayed", "m1 replayed", "m2 replayed", "m3 completed")
	})
}

// What waits for the work of a message does not wait for its hook.
func TestAnOnMessageThatTakesLongDelaysNoOtherMessage(t *testing.T) {
	everyMode(t, func(h *harness) {
		h.opts.OnMessage = func(context.Context, events.SQSMessage, lambdawrap.Outcome) { time.Sleep(time.Second) }

		took := h.answeredIn(time.Minute, h.handle(succeed), batch("m0 a", "m1 a", "m2 b"))
		h.equal("the hooks run side by side", took < time.Second+10*moment, true)
	})
}

// A completion without an answer is tried for as long as there is time. A program counts such messages in OnMessage, so time is
// left for this call: it ends before the answer, and is not taken for a hook that hangs.
func TestOnMessageIsCalledBeforeTheAnswerForAMessageWhoseCompletionHasNone(t *testing.T) {
	bothModes(t, func(h *harness) {
		ends := h.outcomes()
		h.opts.Workers = 10
		h.db.Intercept(faultFor(isCallOf(isCompletion), idemddbtest.LateReply))

		h.answeredIn(3*time.Second, h.handle(succeed), numbered(5))
		h.sorted("ends", ends, "m0 unrecorded", "m1 unrecorded", "m2 unrecorded", "m3 unrecorded", "m4 unrecorded")
		h.equal("lines of the hook", strings.Count(h.log.String(), "the hook for ended messages"), 0)
	})
}

// Batch gives back the claims of what its handler does not get, and that is tried for as long.
func TestOnMessageIsCalledBeforeTheAnswerForAMessageWhoseClaimIsGivenBack(t *testing.T) {
	bothModes(t, func(h *harness) {
		ends := h.outcomes()
		h.heldElsewhere("k0", 0)
		h.db.Intercept(faultFor(func(r idemddbtest.Request) bool { return !isCallOf(isClaim)(r) }, idemddbtest.LateReply))

		h.answeredIn(3*time.Second, h.whole(succeed), batch("m0 k0 g", "m1 k1 g", "m2 k2 g"), "m0", "m1", "m2")
		h.sorted("ends", ends, "m0 in_progress", "m1 blocked", "m2 blocked")
		h.equal("lines of the hook", strings.Count(h.log.String(), "the hook for ended messages"), 0)
	})
}
