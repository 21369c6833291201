package lambdawrap_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// heldElsewhere claims a key as another worker does, who completes it after some time; zero: never.
func (h *harness) heldElsewhere(key string, limit time.Duration) *idemddb.Claim {
	h.Helper()

	claim, _, err := h.open(h.db, nil).Claim(h.Context(), key, nil)
	if err != nil {
		h.Fatal(err)
	}

	if limit > 0 {
		time.AfterFunc(limit, func() {
			h.equal("the other's completion", claim.Complete(context.WithoutCancel(h.Context()), nil), nil)
		})
	}

	return claim
}

func TestAMessageWaitsForAKeyThatAnotherWorkerHoldsAndIsDoneWithIt(t *testing.T) {
	t.Parallel()
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		h.opts.Wait = 5 * time.Second
		h.heldElsewhere("k1", 2*time.Second)

		failed, took := h.within(30*time.Second, wrap(succeed), numbered(3))
		h.equal("failed", failed, []string(nil))
		h.ran("m0", "m2")

		if took < 2*time.Second || took > 3*time.Second {
			h.Errorf("it takes %v", took)
		}
	})
}

func TestAMessageWhoseKeyIsReleasedWhileItWaitsRuns(t *testing.T) {
	t.Parallel()
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		h.opts.Wait = 5 * time.Second
		claim := h.heldElsewhere("k1", 0)

		time.AfterFunc(2*time.Second, func() { claim.Release(context.WithoutCancel(h.Context()), nil) })

		failed, _ := h.within(30*time.Second, wrap(succeed), numbered(3))
		h.equal("failed", failed, []string(nil))
		h.ran("m0", "m1", "m2")
	})
}

func TestAMessageDoesNotWaitLongerThanItShould(t *testing.T) {
	t.Parallel()

	for _, wait := range []time.Duration{0, time.Millisecond, 1500 * time.Millisecond, 5 * time.Second} {
		t.Run(wait.String(), func(t *testing.T) {
			t.Parallel()
			everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
				h.opts.Wait = wait
				h.heldElsewhere("k1", 10*time.Second)

				failed, took := h.within(30*time.Second, wrap(succeed), numbered(3))
				h.equal("failed", failed, []string{"m1"})
				h.equal("lines", strings.Count(h.log.String(), "outcome=in_progress"), 1)

				if took < wait || took > wait+moment {
					h.Errorf("it takes %v", took)
				}
			})
		})
	}
}

func TestOtherMessagesGoOnWhileOneWaits(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		h.opts.Wait = time.Minute
		h.heldElsewhere("k0", 10*time.Second)

		begun := time.Now()

		var last time.Duration

		failed, took := h.within(time.Minute, h.handle(func(context.Context, events.SQSMessage) error {
			time.Sleep(100 * time.Millisecond)

			last = time.Since(begun)

			return nil
		}), numbered(60))
		h.equal("failed", failed, []string(nil))

		if last > 6*time.Second || took < 10*time.Second || took > 12*time.Second {
			h.Errorf("the last handler ends after %v, the invocation after %v", last, took)
		}
	})
}

func TestWaitingEndsWithTheTimeOfTheInvocation(t *testing.T) {
	t.Parallel()
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		h.opts.Wait = time.Minute
		h.heldElsewhere("k1", 0)

		failed, _ := h.within(10*time.Second, wrap(succeed), numbered(3))
		h.equal("failed", failed, []string{"m1"}) // the others are done
		h.ran("m0", "m2")
		h.idle()
	})
}

// theEnd collects what OnMessage is called with.
type theEnd struct {
	mu    sync.Mutex
	words map[string][]lambdawrap.Outcome // by message id
	got   []events.SQSMessage
}

func (e *theEnd) hook(_ context.Context, m events.SQSMessage, o lambdawrap.Outcome) {
	e.mu.Lock()
	defer e.mu.Unlock()

	if e.words == nil {
		e.words = map[string][]lambdawrap.Outcome{}
	}

	e.words[m.MessageId] = append(e.words[m.MessageId], o)
	e.got = append(e.got, m)
}

// are demands the outcomes of all messages, each once, in the order of their ids m0, m1 …
func (e *theEnd) are(h *harness, want ...lambdawrap.Outcome) {
	h.Helper()

	e.mu.Lock()
	defer e.mu.Unlock()

	all := map[string][]lambdawrap.Outcome{}
	for i, o := range want {
		all[fmt.Sprint("m", i)] = []lambdawrap.Outcome{o}
	}

	if diff := cmp.Diff(all, e.words); diff != "" {
		h.Errorf("outcomes (-want +got):\n%s", diff)
	}
}

func TestOnMessageIsGivenTheOutcomeOfEachMessage(t *testing.T) {
	t.Parallel()

	fail := func(err error) lambdawrap.Handler {
		return func(context.Context, events.SQSMessage) error { return err }
	}

	for name, c := range map[string]struct {
		set  func(h *harness) lambdawrap.Handler
		want lambdawrap.Outcome
	}{
		"completed": {func(*harness) lambdawrap.Handler { return succeed }, lambdawrap.OutcomeCompleted},
		"replayed": {func(h *harness) lambdawrap.Handler {
			h.heldElsewhere("k0", time.Nanosecond)
			time.Sleep(moment)

			return succeed
		}, lambdawrap.OutcomeReplayed},
		"unrecorded": {func(h *harness) lambdawrap.Handler {
			h.db.Intercept(faultFor(isCallOf(isCompletion), idemddbtest.Throttle))

			return succeed
		}, lambdawrap.OutcomeUnrecorded},
		"fenced": {func(h *harness) lambdawrap.Handler {
			return func(context.Context, events.SQSMessage) error {
				h.steal("k0")

				return nil
			}
		}, lambdawrap.OutcomeFenced},
		"permanent": {func(*harness) lambdawrap.Handler { return fail(lambdawrap.Permanent(errBank)) }, lambdawrap.OutcomePermanent},
		"refused": {func(h *harness) lambdawrap.Handler {
			h.equal("failed", h.heldElsewhere("k0", 0).Fail(h.Context(), errBank), nil)

			return succeed
		}, lambdawrap.OutcomeRefused},
		"mismatch": {func(h *harness) lambdawrap.Handler {
			claim, _, err := h.store.Claim(h.Context(), "k0", &idemddb.ClaimOptions{Fingerprint: "another"})
			h.equal("error", errors.Join(err, claim.Complete(h.Context(), nil)), nil)

			h.opts.Fingerprint = func(events.SQSMessage) (string, error) { return "this", nil }

			return succeed
		}, lambdawrap.OutcomeMismatch},
		"no key": {func(h *harness) lambdawrap.Handler {
			h.opts.Key = func(events.SQSMessage) (string, error) { return "", nil }

			return succeed
		}, lambdawrap.OutcomeNoKey},
		"a key function that fails": {func(h *harness) lambdawrap.Handler {
			h.opts.Key = func(events.SQSMessage) (string, error) { return "", errBank }

			return succeed
		}, lambdawrap.OutcomeFailed},
		"failed": {func(*harness) lambdawrap.Handler { return fail(errBank) }, lambdawrap.OutcomeFailed},
		"in progress": {func(h *harness) lambdawrap.Handler {
			h.heldElsewhere("k0", 0)

			return succeed
		}, lambdawrap.OutcomeInProgress},
		"unanswered": {func(h *harness) lambdawrap.Handler {
			h.db.Intercept(faultFor(isCallOf(isClaim), idemddbtest.Throttle))

			return succeed
		}, lambdawrap.OutcomeUnanswered},
		"corrupt": {func(h *harness) lambdawrap.Handler {
			_, err := h.db.PutItem(h.Context(), &dynamodb.PutItemInput{TableName: new("records"), Item: map[string]types.AttributeValue{
				"pk": &types.AttributeValueMemberS{Value: "payments#k0"}, "v": &types.AttributeValueMemberN{Value: "99"},
			}})
			h.equal("error", err, nil)

			return succeed
		}, lambdawrap.OutcomeCorrupt},
		"no time": {func(h *harness) lambdawrap.Handler {
			h.opts.Reserve = 20 * time.Second

			return succeed
		}, lambdawrap.OutcomeNoTime},
		"late": {func(*harness) lambdawrap.Handler { return slowly(time.Minute) }, lambdawrap.OutcomeLate},
	} {
		for _, w := range wraps {
			if w.name == "Batch" {
				w.wrap = (*harness).strict
			}

			t.Run(name+", "+w.name, func(t *testing.T) {
				t.Parallel()
				bothModes(t, func(h *harness) {
					var end theEnd

					h.opts.OnMessage, h.opts.Workers = end.hook, w.workers
					function := w.wrap(h, c.set(h))

					h.within(20*time.Second, function, numbered(1))
					end.are(h, c.want)
				})
			})
		}
	}
}

// strict is whole for a handler whose first error is that of the whole event.
func (h *harness) strict(work lambdawrap.Handler) wrapped {
	return h.event(&h.runs, func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
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

	claim, _, err := h.open(h.db, &idemddb.Options{Now: func() time.Time { return time.Now().Add(time.Hour) }}).Claim(h.Context(), key, nil)
	if err != nil {
		h.Fatal(err)
	}

	return claim
}

func TestOnMessageSaysReplayedForDuplicatesOnly(t *testing.T) {
	t.Parallel()
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		var end theEnd

		h.opts.OnMessage = end.hook
		function := wrap(succeed)

		h.within(time.Minute, function, batch("m0 a", "m1 a", "m2 b", "m3 a")) // one run for a and one for b
		end.are(h, lambdawrap.OutcomeCompleted, lambdawrap.OutcomeReplayed, lambdawrap.OutcomeCompleted, lambdawrap.OutcomeReplayed)
		h.ran("m0", "m2")

		end.words = nil
		h.within(time.Minute, function, batch("m0 a", "m1 a", "m2 b", "m3 c"))
		end.are(h, lambdawrap.OutcomeReplayed, lambdawrap.OutcomeReplayed, lambdawrap.OutcomeReplayed, lambdawrap.OutcomeCompleted)
	})
}

func TestOnMessageSaysWhatIsBlocked(t *testing.T) {
	t.Parallel()
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		var end theEnd

		h.opts.OnMessage = end.hook
		function := wrap(failing(always(), "a"))

		h.within(time.Minute, function, batch("m0 a g", "m1 b g", "m2 c other", "m3 d g"))
		end.are(h, lambdawrap.OutcomeFailed, lambdawrap.OutcomeBlocked, lambdawrap.OutcomeCompleted, lambdawrap.OutcomeBlocked)
	})
}

func TestAnOnMessageThatFailsChangesNothing(t *testing.T) {
	t.Parallel()

	for name, fail := range map[string]func(context.Context){
		"it panics":           func(context.Context) { panic("hook") },
		"it exits":            func(context.Context) { goexit() },
		"it panics with nil":  func(context.Context) { panic((*codeError)(nil)) },
		"it hangs for a time": func(context.Context) { time.Sleep(time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
				h.opts.OnMessage = func(ctx context.Context, _ events.SQSMessage, _ lambdawrap.Outcome) { fail(ctx) }
				function := wrap(failing(always(), "k1"))

				failed, _ := h.within(time.Minute, function, numbered(4))
				h.equal("failed", failed, []string{"m1"})

				for i, want := range []string{"COMPLETED", "INPROGRESS released", "COMPLETED", "COMPLETED"} {
					h.equal(fmt.Sprint("record ", i), h.state(fmt.Sprint("k", i)), want)
				}
			})
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
		var end theEnd

		h.opts.OnMessage = end.hook

		dead := 0
		h.opts.DeadLetter = func(_ context.Context, m events.SQSMessage, _ error) error {
			dead++

			if diff := cmp.Diff(attributed(), m); diff != "" {
				h.Errorf("the dead-letter hook's message (-want +got):\n%s", diff)
			}

			spoil(m) // OnMessage does not see that either

			return nil
		}
		key := h.opts.Key
		h.opts.Key = func(m events.SQSMessage) (string, error) {
			text, err := key(m)
			delete(m.MessageAttributes, "more") // what a key function changes does not reach the hooks

			return text, err
		}

		for range 2 { // permanent, then refused
			failed, _ := h.within(time.Minute, wrap(h, func(_ context.Context, m events.SQSMessage) error {
				spoil(m)

				return lambdawrap.Permanent(errBank)
			}), events.SQSEvent{Records: []events.SQSMessage{attributed()}})
			h.equal("failed", failed, []string(nil))
		}

		h.equal("calls of the hook", dead, 2)

		for _, m := range end.got {
			if diff := cmp.Diff(attributed(), m); diff != "" {
				h.Errorf("OnMessage's message (-want +got):\n%s", diff)
			}
		}
	}

	everyMode(t, func(h *harness) { test(h, (*harness).handle) })
	everyMode(t, func(h *harness) { test(h, (*harness).strict) })
}

func TestWhatTheKeyFunctionChangesReachesNoHookEither(t *testing.T) {
	t.Parallel()
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		h.opts.Key = func(m events.SQSMessage) (string, error) {
			spoil(m)

			return "", lambdawrap.Permanent(errBank)
		}
		h.opts.DeadLetter = func(_ context.Context, m events.SQSMessage, _ error) error {
			if diff := cmp.Diff(attributed(), m); diff != "" {
				h.Errorf("the dead-letter hook's message (-want +got):\n%s", diff)
			}

			return nil
		}

		failed, _ := h.within(time.Minute, wrap(succeed), events.SQSEvent{Records: []events.SQSMessage{attributed()}})
		h.equal("failed", failed, []string(nil))
	})
}

func TestAHandlerOfValuesCanReadItsMessage(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		h.opts.Key = lambdawrap.MessageID

		ids := map[string]int{}
		function := lambdawrap.SQS(h.store, lambdawrap.JSON(func(ctx context.Context, n int) error {
			m, ok := lambdawrap.MessageFrom(ctx)
			h.equal("found", ok, true)

			ids[m.MessageId] = n

			return nil
		}), h.opts)

		failed, _ := h.within(time.Minute, function, batch("m0 10", "m1 11"))
		h.equal("failed", failed, []string(nil))
		h.equal("messages", ids, map[string]int{"m0": 10, "m1": 11})

		_, ok := lambdawrap.MessageFrom(h.Context())
		h.equal("outside of a handler", ok, false)
	})
	everyMode(t, func(h *harness) {
		function := h.whole(func(ctx context.Context, _ events.SQSMessage) error {
			_, ok := lambdawrap.MessageFrom(ctx)
			h.equal("in Batch", ok, false)

			return nil
		})
		h.within(time.Minute, function, numbered(2))
	})
}

// codeError is an error that cannot be read through a nil pointer, as most of them are.
type codeError struct {
	code  int
	inner error
}

func (e *codeError) Error() string { return fmt.Sprint("code ", e.code) }
func (e *codeError) Unwrap() error { return e.inner }

// quietError can be read through a nil pointer, but not unwrapped.
type quietError struct{ inner error }

func (*quietError) Error() string   { return "quiet" }
func (e *quietError) Unwrap() error { return e.inner }

var badErrors = map[string]error{
	"a typed nil":                         (*codeError)(nil),
	"a typed nil in Permanent":            lambdawrap.Permanent((*codeError)(nil)),
	"a typed nil in errors.Join":          errors.Join(errBank, (*codeError)(nil)),
	"a typed nil that cannot unwrap":      (*quietError)(nil),
	"one that cannot unwrap in Permanent": lambdawrap.Permanent((*quietError)(nil)),
	"one that cannot unwrap in another":   fmt.Errorf("%w, and %w", errBank, (*quietError)(nil)),
}

func TestAnErrorThatCannotBeReadCostsItsOwnMessage(t *testing.T) {
	t.Parallel()

	for name, bad := range badErrors {
		for what, give := range map[string]func() error{"returned": func() error { return bad }, "panicked": func() error { panic(bad) }} {
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				everyMode(t, func(h *harness) {
					function := h.handle(func(_ context.Context, m events.SQSMessage) error {
						if m.Body == "k1" {
							return give()
						}

						return nil
					})

					failed, _ := h.within(time.Minute, function, numbered(4))
					h.equal("failed", failed, []string{"m1"})
					h.ran(messageIDs(4)...)
					h.equal("record", h.state("k1"), "INPROGRESS released")

					if text := h.log.String(); !strings.Contains(text, "level=ERROR") || !strings.Contains(text, "messageId=m1") || !strings.Contains(text, "stack=") {
						h.Errorf("log: %s", text)
					}
				})
				everyMode(t, func(h *harness) {
					function := h.whole(func(context.Context, events.SQSMessage) error { return nil })
					h.opts.Key = func(m events.SQSMessage) (string, error) {
						if m.Body == "k1" {
							return "", give()
						}

						return m.Body, nil
					}
					function = h.whole(succeed)

					failed, _ := h.within(time.Minute, function, numbered(4))
					h.equal("failed", failed, []string{"m1"})
					h.ran("m0", "m2", "m3")
				})
				everyMode(t, func(h *harness) {
					h.opts.DeadLetter = func(context.Context, events.SQSMessage, error) error { return give() }

					failed, _ := h.within(time.Minute, h.handle(func(_ context.Context, m events.SQSMessage) error {
						if m.Body == "k1" {
							return lambdawrap.Permanent(errBank)
						}

						return nil
					}), numbered(4))
					h.equal("failed", failed, []string{"m1"})
				})
				everyMode(t, func(h *harness) {
					h.hiding(func(context.Context, string) error { return give() })

					failed, _ := h.within(time.Minute, h.handle(failing(always(), "k1")), deliveredFor(numbered(4), 1))
					h.equal("failed", failed, []string{"m1"})
				})
				everyMode(t, func(h *harness) {
					function := h.event(&h.runs, func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
						return events.SQSEventResponse{}, give()
					})

					failed, _ := h.within(time.Minute, function, numbered(2))
					h.equal("failed", failed, messageIDs(2))
				})
			})
		}
	}
}

// The error of a nested Do is that of another key.
func TestTheErrorOfANestedKeyIsNotThatOfTheMessage(t *testing.T) {
	t.Parallel()

	nested := func(h *harness) map[string]func(ctx context.Context) error {
		return map[string]func(ctx context.Context) error{
			"in progress": func(ctx context.Context) error {
				_, err := idemddb.Do(ctx, h.store, "held", nil, func(context.Context) (int, error) { return 0, nil })

				return err
			},
			"fenced": func(ctx context.Context) error {
				_, err := idemddb.Do(ctx, h.store, "stolen", nil, func(context.Context) (int, error) {
					h.steal("stolen")

					return 0, nil
				})

				return err
			},
			"failed": func(ctx context.Context) error {
				_, err := idemddb.Do(ctx, h.store, "failed", nil, func(context.Context) (int, error) { return 0, nil })

				return err
			},
		}
	}

	for _, name := range []string{"in progress", "fenced", "failed"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyMode(t, func(h *harness) {
				h.heldElsewhere("held", 0)
				h.equal("failed", h.heldElsewhere("failed", 0).Fail(h.Context(), errBank), nil)

				var end theEnd

				h.opts.OnMessage = end.hook
				place := h.hiding(nil)
				failed, _ := h.within(time.Minute, h.handle(func(ctx context.Context, _ events.SQSMessage) error {
					err := nested(h)[name](ctx)
					if err == nil {
						h.Error("the nested key has no error")
					}

					return err
				}), deliveredFor(numbered(1), 1))
				h.equal("failed", failed, []string{"m0"})
				end.are(h, lambdawrap.OutcomeFailed)
				h.equal("record", h.state("k0"), "INPROGRESS released")
				h.hidden(place, "m0", 1, 2)

				if text := h.log.String(); strings.Contains(text, "holder=") {
					h.Errorf("log: %s", text)
				}
			})
		})
	}
}

func TestAHandlerMaySettleItsClaimItself(t *testing.T) {
	t.Parallel()

	const half = 16 * time.Second // more than half a lease

	for name, c := range map[string]struct {
		work   func(ctx context.Context, c *idemddb.Claim) error
		failed []string
		word   lambdawrap.Outcome
		state  string
		next   []string // what the next delivery runs
	}{
		"it completes and goes on": {func(ctx context.Context, c *idemddb.Claim) error {
			err := c.Complete(ctx, nil)
			time.Sleep(half)

			return errors.Join(err, ctx.Err())
		}, nil, lambdawrap.OutcomeCompleted, "COMPLETED", nil},
		"it completes and goes on for more than a lease": {func(ctx context.Context, c *idemddb.Claim) error {
			err := c.Complete(ctx, nil)
			time.Sleep(3 * half)

			return errors.Join(err, ctx.Err())
		}, nil, lambdawrap.OutcomeCompleted, "COMPLETED", nil},
		"it completes and fails": {func(ctx context.Context, c *idemddb.Claim) error {
			return errors.Join(c.Complete(ctx, nil), errBank)
		}, []string{"m0"}, lambdawrap.OutcomeFailed, "COMPLETED", nil},
		"it completes with a result that is too large": {func(ctx context.Context, c *idemddb.Claim) error {
			return c.Complete(ctx, make([]byte, 500<<10))
		}, []string{"m0"}, lambdawrap.OutcomeFailed, "COMPLETED", nil},
		"it completes with a large result": {func(ctx context.Context, c *idemddb.Claim) error {
			return c.Complete(ctx, make([]byte, 300<<10))
		}, nil, lambdawrap.OutcomeCompleted, "COMPLETED", nil},
		"it releases": {func(ctx context.Context, c *idemddb.Claim) error {
			return c.Release(ctx, nil)
		}, []string{"m0"}, lambdawrap.OutcomeFailed, "INPROGRESS released", []string{"m0"}},
		"it releases and goes on": {func(ctx context.Context, c *idemddb.Claim) error {
			err := c.Release(ctx, nil)
			time.Sleep(half)

			return errors.Join(err, ctx.Err())
		}, []string{"m0"}, lambdawrap.OutcomeFailed, "INPROGRESS released", []string{"m0"}},
		"it fails the key": {func(ctx context.Context, c *idemddb.Claim) error {
			return c.Fail(ctx, errBank)
		}, []string{"m0"}, lambdawrap.OutcomePermanent, "FAILED", nil},
		"it fails the key and goes on": {func(ctx context.Context, c *idemddb.Claim) error {
			err := c.Fail(ctx, errBank)
			time.Sleep(half)

			return errors.Join(err, ctx.Err())
		}, []string{"m0"}, lambdawrap.OutcomePermanent, "FAILED", nil},
		"it releases at its end, and completes before": {func(ctx context.Context, c *idemddb.Claim) error {
			defer c.Release(ctx, nil)

			return c.Complete(ctx, nil)
		}, nil, lambdawrap.OutcomeCompleted, "COMPLETED", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyMode(t, func(h *harness) {
				var end theEnd

				h.opts.OnMessage = end.hook
				function := h.handle(func(ctx context.Context, _ events.SQSMessage) error {
					claim, ok := idemddb.FromContext(ctx)
					h.equal("has a claim", ok, true)

					return c.work(ctx, claim)
				})

				failed, _ := h.within(2*time.Minute, function, numbered(1))
				h.equal("failed", failed, c.failed)
				h.equal("record", h.state("k0"), c.state)
				h.equal("fenced events", h.count(idemddb.Fenced), 0)
				end.are(h, c.word)
				h.idle()

				h.runs.clear()
				h.within(2*time.Minute, function, deliveredFor(numbered(1), 2))
				h.ran(c.next...)
			})
		})
	}
}

// A frozen process continues when the leases of the claims that wait for a worker are over.
func TestAClaimThatWasLostBeforeItsHandlerStartsIsNotBegun(t *testing.T) {
	t.Parallel()

	for _, taken := range []bool{false, true} {
		t.Run(fmt.Sprint("taken over: ", taken), func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(h *harness) {
				var frozen atomic.Int64 // how much the clock of the worker has jumped

				h.store = h.open(h.db, &idemddb.Options{Now: func() time.Time { return time.Now().Add(time.Duration(frozen.Load())) }})

				var end theEnd

				h.opts.OnMessage = end.hook
				function := h.handle(func(_ context.Context, m events.SQSMessage) error {
					if m.Body == "k0" {
						frozen.Store(int64(time.Minute))

						if taken {
							h.steal("k1")
						}
					}

					return nil
				})

				failed, _ := h.within(time.Minute, function, numbered(3))
				h.equal("failed", failed, []string{"m1", "m2"})
				h.ran("m0")

				end.mu.Lock()
				defer end.mu.Unlock()

				h.equal("m2", end.words["m2"], []lambdawrap.Outcome{lambdawrap.OutcomeFailed})
				h.equal("record", h.state("k2"), "INPROGRESS released")
				h.equal("attempts", h.attempts("k2"), "0")
			})
		})
	}
}

// A Batch of a FIFO queue calls the dead-letter hook before the handler, and meanwhile a claim may be lost.
func TestABatchThatLosesAClaimBeforeItsHandlerStartsIsGivenBack(t *testing.T) {
	t.Parallel()

	for _, single := range []bool{false, true} {
		t.Run(fmt.Sprint("single: ", single), func(t *testing.T) {
			t.Parallel()
			bubble(t, &idemddb.Options{Lease: 4 * time.Second, Single: single}, func(h *harness) {
				h.equal("failed", h.heldElsewhere("dead", 0).Fail(h.Context(), errBank), nil)

				h.opts.DeadLetter = func(context.Context, events.SQSMessage, error) error {
					time.Sleep(10 * time.Second)

					return nil
				}

				begun := time.Now()
				h.throttled("a", func() bool { return time.Since(begun) > time.Second && time.Since(begun) < 9*time.Second })

				function := h.whole(succeed)
				failed, _ := h.within(time.Minute, function, batch("m0 a g", "m1 dead other", "m2 a g", "m3 b third"))
				h.equal("failed", failed, []string{"m0", "m2", "m3"})
				h.ran()

				failed, _ = h.within(time.Minute, function, batch("m0 a g", "m2 a g", "m3 b third"))
				h.equal("failed", failed, []string(nil))
			})
		})
	}
}

func TestASuccessAfterAnothersGiveUpIsDone(t *testing.T) {
	t.Parallel()

	for name, opts := range map[string]*idemddb.Options{"no takeover": {NoTakeover: true}, "attempts": {MaxAttempts: 1}} {
		for _, w := range wraps {
			t.Run(name+", "+w.name, func(t *testing.T) {
				t.Parallel()
				bubble(t, opts, func(h *harness) {
					late := *opts
					late.Now = func() time.Time { return time.Now().Add(time.Hour) }
					other := h.open(h.db, &late)
					dead := 0
					h.opts.DeadLetter = func(context.Context, events.SQSMessage, error) error { dead++; return nil }

					var end theEnd

					h.opts.OnMessage, h.opts.Workers = end.hook, w.workers

					failed, _ := h.within(time.Minute, w.wrap(h, func(context.Context, events.SQSMessage) error {
						_, _, err := other.Claim(h.Context(), "k0", nil)
						h.equal("given up", errors.Is(err, idemddb.ErrFailed), true)

						return nil
					}), numbered(1))
					h.equal("failed", failed, []string(nil))
					h.equal("record", h.state("k0"), "FAILED")
					h.equal("dead letters", dead, 0)
					end.are(h, lambdawrap.OutcomeFenced)
				})
			})
		}
	}
}

func TestATakeoverIsAWarning(t *testing.T) {
	t.Parallel()
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		h.heldElsewhere("k1", 0)
		time.Sleep(time.Minute)

		failed, _ := h.within(time.Minute, wrap(succeed), numbered(3))
		h.equal("failed", failed, []string(nil))

		lines := strings.Split(strings.TrimSpace(h.log.String()), "\n")
		if len(lines) != 1 || !strings.Contains(lines[0], "level=WARN") || !strings.Contains(lines[0], "messageId=m1") || !strings.Contains(lines[0], "outcome=takeover") {
			h.Errorf("log: %v", lines)
		}
	})
}

func TestAThousandWorkersRunAThousandHandlersAtOnce(t *testing.T) {
	t.Parallel()
	bothModes(t, func(h *harness) {
		h.opts.Workers = 1000

		var running, most atomic.Int64

		h.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
			time.Sleep(10 * time.Millisecond)

			return idemddbtest.None
		})

		failed, took := h.within(time.Minute, h.handle(func(context.Context, events.SQSMessage) error {
			raise(&most, running.Add(1))
			defer running.Add(-1)

			time.Sleep(time.Second)

			return nil
		}), numbered(2000))
		h.equal("failed", failed, []string(nil))
		h.equal("at once", most.Load(), int64(1000))

		if took > 3*time.Second {
			h.Errorf("it takes %v", took)
		}
	})
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

func TestABatchOfAFIFOQueueCompletesNothingBehindAReportedMessage(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		function := h.event(&h.runs, reporting("m1"))
		event := deliveredFor(batch("m0 a g", "m1 b g", "m2 c g", "m3 d other"), 1)

		failed, _ := h.within(time.Minute, function, event)
		h.equal("failed", failed, []string{"m1", "m2"})
		h.equal("records", []string{h.state("a"), h.state("b"), h.state("c"), h.state("d")},
			[]string{"COMPLETED", "INPROGRESS released", "INPROGRESS released", "COMPLETED"})
		h.equal("blocked lines", strings.Count(h.log.String(), "outcome=blocked"), 1)
	})
}
