package lambdawrap_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestAPanicCostsItsOwnMessage(t *testing.T) {
	t.Parallel()

	h := newHarness(t, nil)
	fail := true
	function := h.handle(func(_ context.Context, m events.SQSMessage) error {
		switch {
		case fail && m.Body == "k2":
			panic("nil map")
		case fail && m.Body == "k3":
			runtime.Goexit()
		}

		return nil
	})

	h.expect(function, batch("m1 k1", "m2 k2", "m3 k3", "m4 k4"), []string{"m2", "m3"}, []string{"m1", "m2", "m3", "m4"})

	for _, want := range []string{"handler panicked: nil map", "stack=", "ended its goroutine", "messageId=m2"} {
		if !strings.Contains(h.log.String(), want) {
			t.Errorf("the log lacks %q: %s", want, h.log)
		}
	}

	fail = false
	h.expect(function, batch("m2 k2", "m3 k3"), nil, []string{"m2", "m3"})
}

func TestThePanicOfTheWrapperIsAnInvocationError(t *testing.T) {
	t.Parallel()

	for _, workers := range []int{1, 3} {
		h := newHarness(t, &idemddb.Options{Observe: func(context.Context, idemddb.Event) { panic("observer") }})
		h.opts.Workers = workers

		response, err := h.handle(succeed)(t.Context(), batch("m1 k1", "m2 k2"))
		if err == nil || !strings.Contains(err.Error(), "wrapper panicked") || response.BatchItemFailures != nil {
			t.Errorf("got %v, %v, want an invocation error", response, err)
		}
	}
}

func TestAClientThatPanicsIsAnInvocationError(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		name  string
		mode  idemddb.Options
		calls int // that go well
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
			t.Run(c.name+", "+way.name, func(t *testing.T) {
				t.Parallel()
				bubble(t, nil, func(h *harness) {
					var calls atomic.Int64

					h.store = h.open(client{h.db, func(string) {
						if calls.Add(1) > int64(c.calls) {
							panic("client")
						}
					}}, &c.mode)

					response, err := way.wrap(h, func(context.Context, events.SQSMessage) error {
						time.Sleep(time.Second)

						return nil
					})(h.Context(), numbered(c.size))
					if err == nil || !strings.Contains(err.Error(), "wrapper panicked: ") || !strings.HasSuffix(err.Error(), "client") || response.BatchItemFailures != nil {
						t.Errorf("got %v, %v, want an invocation error", response, err)
					}

					calls.Store(-1 << 40) // well again
					h.noRenewals()
				})
			})
		}
	}
}

// As t.FailNow in somebody's fake client does.
func TestTheEndOfTheWrappersGoroutineIsAnInvocationError(t *testing.T) {
	t.Parallel()

	for _, calls := range []int64{0, 1} {
		for _, mode := range modes[:2] {
			t.Run(fmt.Sprint(mode.name, ", calls that go well: ", calls), func(t *testing.T) {
				t.Parallel()
				bubble(t, nil, func(h *harness) {
					var n atomic.Int64

					h.store = h.open(client{h.db, func(string) {
						if n.Add(1) > calls {
							goexit()
						}
					}}, &mode.opts)

					ctx, cancel := context.WithTimeout(h.Context(), time.Minute)
					defer cancel()

					response, err := h.handle(succeed)(ctx, numbered(3))
					if err == nil && len(response.BatchItemFailures) < 3-int(calls) {
						t.Errorf("got %v, %v", response, err)
					}

					h.equal("in time", ctx.Err(), nil)
				})
			})
		}
	}
}

func TestAPanicOfWhatTheWrapperCallsIsAnInvocationError(t *testing.T) {
	t.Parallel()
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		h.opts.Logger = panicking()
		function := wrap(failing(always(), "k1"))

		response, err := function(h.Context(), numbered(5))
		if err == nil || !strings.Contains(err.Error(), "wrapper panicked: ") || !strings.HasSuffix(err.Error(), "logger") || response.BatchItemFailures != nil {
			h.Errorf("got %v, %v, want an invocation error", response, err)
		}

		h.noRenewals()
	})
}

// panicking is a logger whose handler panics.
func panicking() *slog.Logger { return slog.New(panickingHandler{slog.DiscardHandler}) }

type panickingHandler struct{ slog.Handler }

func (panickingHandler) Enabled(context.Context, slog.Level) bool { return true }

func (panickingHandler) Handle(context.Context, slog.Record) error { panic("logger") }
