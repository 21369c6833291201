package lambdawrap_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/record"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestAPanicCostsItsOwnMessage(t *testing.T) {
	h := parallelHarness(t)
	function := h.handle(byKey(map[string]lambdawrap.Handler{
		"k2": does(func() error { panic("nil map") }), "k3": does(func() error { goexit(); return nil }),
	}, succeed))

	h.check(function, batch("m1 k1", "m2 k2", "m3 k3", "m4 k4"), []string{"m2", "m3"}, []string{"m1", "m2", "m3", "m4"})
	h.logs("panic: nil map", "stack=", "ended its goroutine", `level=ERROR msg="the message is reported failed" messageId=m2`)
	h.check(h.handle(succeed), batch("m2 k2", "m3 k3"), nil, []string{"m2", "m3"})
}

// The text has no stack, which stands in the log beside it.
func TestAPanicErrorShowsAndWrapsItsValue(t *testing.T) {
	t.Parallel()

	err := &lambdawrap.PanicError{Value: errBank, Stack: []byte("bank.go:7")}
	if got, want := err.Error(), "lambdawrap: panic: bank closed"; got != want || !errors.Is(err, errBank) {
		t.Errorf("got %q, want %q and the value in it", got, want)
	}
}

func TestAPanicOfEffectsRefusedCostsItsOwnMessage(t *testing.T) {
	claimedAndOptimistic(bothModes)(t, func(h *harness) {
		h.opts.Workers = 3

		work := func(ctx context.Context, m events.SQSMessage) error {
			if m.Body == "k1" {
				return stageRefused(ctx, func(*idemddb.EffectError) error { panic("no balance") })
			}

			return counting(ctx, m)
		}

		h.check(h.handle(work), numbered(4), []string{"m1"}, messageIDs(4))
		h.equal("record", h.state("k1"), "INPROGRESS released")
		h.equal("lines", strings.Count(h.log.String(), "\n"), 1)
		h.logs("level=ERROR", "messageId=m1", "key="+record.KeyHash("k1"), "outcome=released", "Effects.Refused panicked: no balance",
			"stack=", "panic_test.go")
	})
}

// stageRefused stages an item whose condition is false, and what that means.
func stageRefused(ctx context.Context, refused func(*idemddb.EffectError) error) error {
	return idemddb.Stage(ctx, idemddb.Effects{Refused: refused, Items: []types.TransactWriteItem{{Put: &types.Put{
		TableName: new("records"), Item: recordKey("never"), ConditionExpression: new("attribute_exists(pk)"),
	}}}})
}

func TestAnObserverThatPanicsIsAnInvocationError(t *testing.T) {
	t.Parallel()

	for _, workers := range []int{1, 3} {
		h := newHarness(t, &idemddb.Options{Observe: func(context.Context, idemddb.Event) { panic("observer") }})
		h.opts.Workers = workers

		h.failsWhole(h.handle(succeed), batch("m1 k1", "m2 k2"), "observer")
		h.logs("level=ERROR", "stack=")
	}
}

func TestAClientThatPanicsIsAnInvocationError(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		name  string
		mode  idemddb.Options
		calls int // requests before the first one that panics
		size  int
	}{
		{"claims in a group", idemddb.Options{}, 0, 5},
		{"completions in a group", idemddb.Options{}, 1, 5},
		{"the second group of claims", idemddb.Options{}, 2, 60},
		{"the completion of one message", idemddb.Options{}, 1, 1},
		{"the claim of one message", idemddb.Options{}, 0, 1},
		{"single claims", idemddb.Options{Single: true}, 0, 5},
		{"single completions", idemddb.Options{Single: true}, 1, 5},
	} {
		for _, way := range ways {
			each(t, c.name+", "+way.name, inBubble(nil), func(h *harness) {
				var calls atomic.Int64

				h.store = h.open(h.before(func() {
					if calls.Add(1) > int64(c.calls) {
						panic("client")
					}
				}), &c.mode)

				h.failsWhole(way.wrap(h, slowly(time.Second)), numbered(c.size), "client")
				h.logs("level=ERROR", "stack=", "panic_test.go") // the stack of the client, not only that of the wrapper

				calls.Store(-1 << 40) // the client is well again
				h.noRenewals()
			})
		}
	}
}

func TestAClientThatPanicsIsAnInvocationErrorAlsoWhileAKeyFunctionHangs(t *testing.T) {
	everyMode(t, func(h *harness) {
		ends := h.outcomes()
		h.slowKeys(time.Minute, "hangs")
		h.opts.Workers = 2
		h.store = h.open(h.before(func() { panic("client") }), nil)

		begun := time.Now()
		h.failsWhole(h.handle(succeed), batch("m0 k", "m1 hangs", "m2 k"), "client")
		h.equal("at once", time.Since(begun) < time.Second, true)
		h.sorted("ends", ends, "m1 no_time", "m2 released")
	})
}

// A user's fake client that calls t.FailNow ends the goroutine that called it.
func TestAClientThatEndsItsGoroutineLosesNoMessage(t *testing.T) {
	t.Parallel()

	for _, calls := range []int64{0, 1} {
		for _, mode := range modes[:2] {
			each(t, fmt.Sprint(mode.name, ", calls that go well: ", calls), inBubble(nil), func(h *harness) {
				var n atomic.Int64

				h.store = h.open(h.before(func() {
					if n.Add(1) > calls {
						goexit()
					}
				}), &mode.opts)

				ctx := h.limited(time.Minute)
				response, err := h.handle(succeed)(ctx, numbered(3))
				if err == nil && len(response.BatchItemFailures) < 3-int(calls) || ctx.Err() != nil {
					h.Errorf("got %v, %v, in time: %v", response, err, ctx.Err())
				}
			})
		}
	}
}

// failsWhole demands that the invocation ends with an error that ends with this text, so that the whole batch comes back.
func (h *harness) failsWhole(function wrapped, event events.SQSEvent, cause string) {
	h.Helper()

	response, err := function(h.Context(), event)
	if err == nil || !strings.Contains(err.Error(), "so the whole batch comes back: ") || !strings.HasSuffix(err.Error(), "panic: "+cause) &&
		!strings.HasSuffix(err.Error(), "the client panicked: "+cause) || response.BatchItemFailures != nil {
		h.Errorf("got %v, %v, want an invocation error of %s", response, err, cause)
	}
}

// The warning about records that do not get through is written beside the handlers.
func TestALoggerThatPanicsWhileRecordsAreSlowIsAnInvocationError(t *testing.T) {
	t.Parallel()

	for _, fault := range []idemddbtest.Fault{idemddbtest.None, idemddbtest.Throttle} {
		each(t, string(fault), everyMode, func(h *harness) {
			h.opts.Logger = panicking()
			h.db.Intercept(faultFor(func(r idemddbtest.Request) bool {
				isSlow := isCallOf(isCompletion)(r)
				if isSlow {
					time.Sleep(300 * time.Millisecond)
				}

				return isSlow
			}, fault))

			h.errs("the invocation", errorOf(h.handle(succeed)(h.limited(10*time.Second), numbered(3))), "logger")
			h.idle()
		})
	}
}

// panicking returns a logger whose handler panics.
func panicking() *slog.Logger { return slog.New(panickingHandler{slog.DiscardHandler}) }

type panickingHandler struct{ slog.Handler }

func (panickingHandler) Enabled(context.Context, slog.Level) bool { return true }

func (panickingHandler) Handle(context.Context, slog.Record) error { panic("logger") }

// A logger that panics ends the invocation. Where nothing has a deadline, a claim that was renewed from then on would keep its
// key for as long as the process lives: each delivery of the message would find it held, until its queue gives it up.
func TestAClaimIsNotRenewedAfterAPanicOfTheLogger(t *testing.T) {
	t.Parallel()

	for name, isOver := range map[string]bool{"of the line about a takeover": true, "of the line about another message": false} {
		each(t, name, everyWay, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
			held := h.heldElsewhere("k1", 0)
			if isOver {
				time.Sleep(time.Minute)
			}

			quiet := h.opts.Logger
			h.opts.Logger = panicking()
			h.failsWhole(wrap(succeed), batch("m1 k1 g", "m2 k2 h"), "logger")

			h.noRenewals()
			h.equal("the other worker holds its key", held.Held(), false)

			h.opts.Logger = quiet
			h.answered(wrap(succeed), batch("m1 k1 g", "m2 k2 h"))
		})
	}
}
