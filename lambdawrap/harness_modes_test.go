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

// modes are the ways in which a store makes its requests.
var modes = []struct {
	name string
	opts idemddb.Options
}{
	{"groups", idemddb.Options{}},
	{"single", idemddb.Options{Single: true}},
	{"claims count", idemddb.Options{MaxAttempts: 5}},
	{"single, claims count", idemddb.Options{Single: true, MaxAttempts: 5}},
}

// ways are the wrappers of the package, for the same work.
var ways = []struct {
	name string
	wrap func(*harness, lambdawrap.Handler) wrapped
}{
	{"SQS", (*harness).handle},
	{"SQS, 4 workers", func(h *harness, work lambdawrap.Handler) wrapped { h.opts.Workers = 4; return h.handle(work) }},
	{"Batch", (*harness).whole},
}

// everyMode runs a test for each mode, everyWay for each mode and wrapper.
func everyMode(t *testing.T, test func(*harness)) {
	t.Helper()

	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, &mode.opts, test)
		})
	}
}

func everyWay(t *testing.T, test func(h *harness, wrap func(lambdawrap.Handler) wrapped)) {
	t.Helper()

	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			everyMode(t, func(h *harness) { test(h, func(work lambdawrap.Handler) wrapped { return way.wrap(h, work) }) })
		})
	}
}

// bubble runs a test with a time of its own. What is left at its end must end by itself.
func bubble(t *testing.T, opts *idemddb.Options, test func(*harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		defer time.Sleep(10 * time.Minute)

		test(newHarness(t, opts))
	})
}

var errBank = errors.New("bank closed")

func succeed(context.Context, events.SQSMessage) error { return nil }

// failing is work that fails for these keys, as long as it is told to.
func failing(on *atomic.Bool, keys ...string) lambdawrap.Handler {
	return func(_ context.Context, m events.SQSMessage) error {
		if on.Load() && slices.Contains(keys, m.Body) {
			return errBank
		}

		return nil
	}
}

func always() *atomic.Bool {
	on := &atomic.Bool{}
	on.Store(true)

	return on
}

func slowly(d time.Duration) lambdawrap.Handler {
	return func(context.Context, events.SQSMessage) error {
		time.Sleep(d)

		return nil
	}
}

func goexit() { runtime.Goexit() }

// raise sets a number to a higher one.
func raise(n *atomic.Int64, to int64) {
	for {
		now := n.Load()
		if to <= now || n.CompareAndSwap(now, to) {
			return
		}
	}
}
