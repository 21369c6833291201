package lambdawrap_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
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
	t.Parallel()
	test(newHarness(t, nil))
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

// only returns a handler that does this for the messages with this body, or id, and succeeds for all others.
func only(which string, work lambdawrap.Handler) lambdawrap.Handler {
	return func(ctx context.Context, m events.SQSMessage) error {
		if m.Body == which || m.MessageId == which {
			return work(ctx, m)
		}

		return nil
	}
}

// hookOf makes a dead-letter hook of a handler.
func hookOf(work lambdawrap.Handler) func(context.Context, events.SQSMessage, error) error {
	return func(ctx context.Context, m events.SQSMessage, _ error) error { return work(ctx, m) }
}

// keyless is a key function that fails with this error for these bodies, and takes any other as the key.
func keyless(err error, bodies ...string) lambdawrap.KeyFunc {
	return func(_ context.Context, m events.SQSMessage) (string, error) {
		if slices.Contains(bodies, m.Body) {
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
