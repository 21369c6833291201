package lambdawrap_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// modes are the options that decide how the store sends its requests, and how many keys the wrapper claims ahead.
var modes = []struct {
	name string
	opts idemddb.Options
}{
	{"groups", idemddb.Options{}},
	{"single", idemddb.Options{Single: true}},
	{"claims count", idemddb.Options{MaxAttempts: 5}},
	{"single, claims count", idemddb.Options{Single: true, MaxAttempts: 5}},
}

type way struct {
	name string
	wrap func(*harness, lambdawrap.Handler) wrapped
}

// ways wrap the same handler in each way that the package has.
var ways = []way{
	{"SQS", (*harness).handle},
	{"SQS, 4 workers", func(h *harness, work lambdawrap.Handler) wrapped { h.opts.Workers = 4; return h.handle(work) }},
	{"Batch", (*harness).whole},
}

// waysAndOptimistic are ways, and one without claims at first deliveries. Its handlers stage their effect.
var waysAndOptimistic = append(slices.Clone(ways), way{"SQS, optimistic", (*harness).optimistic})

// everyMode runs a test once for each mode, and under -short with two modes that have each value of each option. It and all other
// functions of its kind run the test in parallel.
func everyMode(t *testing.T, test func(*harness)) {
	t.Helper()
	t.Parallel()

	for i, mode := range modes {
		if testing.Short() && i != 0 && i != len(modes)-1 {
			continue
		}

		each(t, mode.name, inBubble(&mode.opts), test)
	}
}

// everyWay runs a test once for each mode and wrapper.
func everyWay(t *testing.T, test func(h *harness, wrap func(lambdawrap.Handler) wrapped)) {
	t.Helper()
	everyWayOf(t, ways, test)
}

// sqsAndBatch runs a test with both wrappers of a queue, in a bubble and with these options.
func sqsAndBatch(opts *idemddb.Options) func(*testing.T, func(h *harness, wrap func(lambdawrap.Handler) wrapped)) {
	return func(t *testing.T, test func(h *harness, wrap func(lambdawrap.Handler) wrapped)) {
		t.Helper()
		t.Parallel()

		for name, wrap := range map[string]func(*harness, lambdawrap.Handler) wrapped{"SQS": (*harness).handle, "Batch": (*harness).whole} {
			each(t, name, inBubble(opts), func(h *harness) {
				test(h, func(work lambdawrap.Handler) wrapped { return wrap(h, work) })
			})
		}
	}
}

// everyWayAndOptimistic is everyWay, and runs the test with Optimistic, too.
func everyWayAndOptimistic(t *testing.T, test func(h *harness, wrap func(lambdawrap.Handler) wrapped)) {
	t.Helper()
	everyWayOf(t, waysAndOptimistic, test)
}

func everyWayOf(t *testing.T, ways []way, test func(h *harness, wrap func(lambdawrap.Handler) wrapped)) {
	t.Helper()
	t.Parallel()

	for i, way := range ways {
		every := everyMode
		if testing.Short() { // each way has a mode, and each mode a way
			every = inBubble(&modes[i%len(modes)].opts)
		}

		each(t, way.name, every, func(h *harness) { test(h, func(work lambdawrap.Handler) wrapped { return way.wrap(h, work) }) })
	}
}

// bubble runs a test in a synctest bubble. The goroutines that the test leaves behind must end within ten minutes.
func bubble(t *testing.T, opts *idemddb.Options, test func(*harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		defer time.Sleep(10 * time.Minute)

		test(newHarness(t, opts))
	})
}

// each runs a test as one of several cases, in each way that every stands for.
func each[T any](t *testing.T, name string, every func(*testing.T, T), test T) {
	t.Helper()
	t.Run(name, func(t *testing.T) { every(t, test) })
}

// inBubble is bubble with these options, for each.
func inBubble(opts *idemddb.Options) func(*testing.T, func(*harness)) {
	return func(t *testing.T, test func(*harness)) {
		t.Helper()
		t.Parallel()
		bubble(t, opts, test)
	}
}

// oneHarness runs a test outside of a bubble.
func oneHarness(t *testing.T, test func(*harness)) {
	t.Helper()
	test(parallelHarness(t))
}

// parallelHarness is the harness of a test that runs beside others, outside of a bubble.
func parallelHarness(t *testing.T) *harness {
	t.Helper()
	t.Parallel()

	return newHarness(t, nil)
}

// errBank is the error of a handler that another delivery can mend.
var errBank = errors.New("bank closed")

func succeed(context.Context, events.SQSMessage) error { return nil }

// failing returns a handler that fails for these keys while on is true.
func failing(on *atomic.Bool, keys ...string) lambdawrap.Handler {
	fails := failingWith(errBank, keys...)

	return func(ctx context.Context, m events.SQSMessage) error {
		if on.Load() {
			return fails(ctx, m)
		}

		return nil
	}
}

// failingWith returns a handler that fails with this error for these keys.
func failingWith(err error, keys ...string) lambdawrap.Handler {
	return func(_ context.Context, m events.SQSMessage) error {
		if slices.Contains(keys, m.Body) {
			return err
		}

		return nil
	}
}

func failWith(err error) lambdawrap.Handler {
	return func(context.Context, events.SQSMessage) error { return err }
}

// does makes a handler of a function.
func does(work func() error) lambdawrap.Handler {
	return func(context.Context, events.SQSMessage) error { return work() }
}

// byKey returns a handler that does what is said for the body or the id of its message, and otherwise the rest.
func byKey(work map[string]lambdawrap.Handler, rest lambdawrap.Handler) lambdawrap.Handler {
	return func(ctx context.Context, m events.SQSMessage) error {
		for _, which := range []string{m.Body, m.MessageId} {
			if own, ok := work[which]; ok {
				return own(ctx, m)
			}
		}

		return rest(ctx, m)
	}
}

// only returns a handler that does this for the messages with this body, or id, and succeeds for all others.
func only(which string, work lambdawrap.Handler) lambdawrap.Handler {
	return byKey(map[string]lambdawrap.Handler{which: work}, succeed)
}

// hookOf makes a dead-letter hook of a handler.
func hookOf(work lambdawrap.Handler) func(context.Context, events.SQSMessage, error) error {
	return func(ctx context.Context, m events.SQSMessage, _ error) error { return work(ctx, m) }
}

// keyless is a key function that fails with this error for these bodies, and takes any other as the key.
func keyless(err error, bodies ...string) lambdawrap.KeyFunc {
	return finding(failingWith(err, bodies...))
}

// finding is a key function that does this first, and takes the body as the key.
func finding(first lambdawrap.Handler) lambdawrap.KeyFunc {
	return func(ctx context.Context, m events.SQSMessage) (string, error) {
		if err := first(ctx, m); err != nil {
			return "", err
		}

		return m.Body, nil
	}
}

// always returns a switch that is on.
func always() *atomic.Bool {
	on := &atomic.Bool{}
	on.Store(true)

	return on
}

// slowly returns a handler that takes a time and ignores its context.
func slowly(d time.Duration) lambdawrap.Handler {
	return func(context.Context, events.SQSMessage) error {
		time.Sleep(d)

		return nil
	}
}

// meter knows the most calls that took their time at once.
type meter struct{ now, most atomic.Int64 }

func (m *meter) takes(d time.Duration) {
	raise(&m.most, m.now.Add(1))
	defer m.now.Add(-1)

	time.Sleep(d)
}

// slowly is a handler that takes a time.
func (m *meter) slowly(d time.Duration) lambdawrap.Handler {
	return func(context.Context, events.SQSMessage) error {
		m.takes(d)

		return nil
	}
}

// rounds returns a tenth of n with -short.
func rounds(n int) int {
	if testing.Short() {
		return n / 10
	}

	return n
}

// goexit ends the goroutine, as t.FailNow does.
func goexit() { runtime.Goexit() }

// moment is how late an answer may come in a bubble, where only timers take time.
const moment = 2 * time.Millisecond

// within makes one invocation with a time limit. The answer must come when a quarter of the reserve is left, and without an
// error.
func (h *harness) within(limit time.Duration, function wrapped, event events.SQSEvent) (failed []string, took time.Duration) {
	h.Helper()

	reserve := h.opts.Reserve
	if reserve == 0 {
		reserve = time.Second
	}

	ctx, cancel := context.WithTimeout(h.Context(), limit)
	defer cancel()

	begun := time.Now()
	response, err := function(ctx, event)
	took = time.Since(begun)

	h.equal("error", err, nil)

	if took > limit-reserve/4+moment {
		h.Errorf("the answer comes after %v of %v, with a reserve of %v", took, limit, reserve)
	}

	return ids(response), took
}

// answeredIn is answered with a time limit. It returns how long the answer took.
func (h *harness) answeredIn(limit time.Duration, function wrapped, event events.SQSEvent, failed ...string) (took time.Duration) {
	h.Helper()

	got, took := h.within(limit, function, event)
	h.equal("failed", got, failed)

	return took
}

// atMost demands a number that is not above a limit.
func (h *harness) atMost(what string, got, limit int) {
	h.Helper()

	if got > limit {
		h.Errorf("%s: %d, want at most %d", what, got, limit)
	}
}

// lasts demands that something took so long.
func (h *harness) lasts(took, from, to time.Duration) {
	h.Helper()

	if took < from || took > to {
		h.Errorf("it takes %v, want %v to %v", took, from, to)
	}
}

// bothModes runs a test with shared and with single requests, without a limit of attempts.
func bothModes(t *testing.T, test func(*harness)) {
	t.Helper()
	t.Parallel()

	for _, single := range []bool{false, true} {
		each(t, fmt.Sprint("single: ", single), inBubble(&idemddb.Options{Single: single}), test)
	}
}

// claimedAndOptimistic runs a test with a claim, and Optimistic, each in both modes or in every one.
func claimedAndOptimistic(modes func(*testing.T, func(*harness))) func(*testing.T, func(*harness)) {
	return func(t *testing.T, test func(*harness)) {
		t.Helper()
		t.Parallel()

		for name, optimistic := range map[string]bool{"claimed": false, "optimistic": true} {
			each(t, name, modes, func(h *harness) {
				h.opts.Optimistic = optimistic
				test(h)
			})
		}
	}
}

// meets gives all requests from now on a fault.
func (h *harness) meets(fault idemddbtest.Fault) {
	h.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault { return fault })
}

// faultFor is an interceptor that gives some requests a fault.
func faultFor(is func(idemddbtest.Request) bool, fault idemddbtest.Fault) func(context.Context, idemddbtest.Request) idemddbtest.Fault {
	return func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
		if is(r) {
			return fault
		}

		return idemddbtest.None
	}
}

// idle demands that no goroutine of the library is left in the bubble. User code that was abandoned may go on: it runs in a
// goroutine whose only function of the library is that of background.
func (h *harness) idle() {
	h.Helper()

	time.Sleep(moment) // goroutines that the end of the invocation has woken may end

	// To look takes milliseconds, because it writes the stacks of all tests that wait for their turn, too. So one call in four
	// looks: there are hundreds of calls, in another order each time, and a goroutine that is left is seen by some of them.
	if looks.Add(1)%4 != 0 {
		return
	}

	all := strings.Split(allStacks(), "\n\n")
	own := bubbleOf(all[0]) // the first stack is that of the caller

	for _, stack := range all[1:] {
		if bubbleOf(stack) != own || strings.Contains(stack, "lambdawrap.background") {
			continue
		}

		for _, name := range []string{"go-idemddb/lambdawrap.", "go-idemddb/idemddb.", "go-idemddb/internal/engine."} {
			if strings.Contains(stack, name) {
				h.Errorf("a goroutine is left after the call:\n%s", stack)

				return
			}
		}
	}
}

// looks counts the calls of idle.
var looks atomic.Int64

// stackBytes is the size that the stacks of all goroutines had last. To write them costs much, so it should happen once.
var stackBytes atomic.Int64

// allStacks returns the stacks of all goroutines, that of the caller first.
func allStacks() string {
	for size := max(1<<20, 2*stackBytes.Load()); ; size *= 2 {
		stacks := make([]byte, size)
		if n := runtime.Stack(stacks, true); n < len(stacks) {
			stackBytes.Store(int64(n))

			return strings.TrimSpace(string(stacks[:n]))
		}
	}
}

// bubbleOf returns the part of a goroutine's stack that names its bubble.
func bubbleOf(stack string) string {
	head, _, _ := strings.Cut(stack, "\n")
	_, name, _ := strings.Cut(head, "synctest bubble ")

	return strings.TrimRight(name, "]:")
}
