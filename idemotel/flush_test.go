package idemotel_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"go.opentelemetry.io/otel"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	nooptrace "go.opentelemetry.io/otel/trace/noop"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemotel"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// tracers and meters are providers whose flush is a function.
type (
	tracers struct {
		nooptrace.TracerProvider

		flush func(context.Context) error
	}
	meters struct {
		noopmetric.MeterProvider

		flush func(context.Context) error
	}
)

func (p tracers) ForceFlush(ctx context.Context) error { return p.flush(ctx) }
func (p meters) ForceFlush(ctx context.Context) error  { return p.flush(ctx) }

// exporter is one whose export is a function.
type exporter struct {
	export func(context.Context) error
}

func (e exporter) ExportSpans(ctx context.Context, _ []sdktrace.ReadOnlySpan) error {
	return e.export(ctx)
}
func (exporter) Shutdown(context.Context) error { return nil }

func must(t *testing.T, o *idemotel.Options) *idemotel.Telemetry {
	t.Helper()

	tel, err := idemotel.New(o)
	if err != nil {
		t.Fatal(err)
	}

	return tel
}

func TestFlushExportsSpansAndMetricsBeforeTheAnswer(t *testing.T) {
	t.Parallel()

	spans := tracetest.NewInMemoryExporter()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithBatcher(spans, sdktrace.WithBatchTimeout(time.Hour)))
	flushed := false
	s := newStation(t)
	tel := must(t, &idemotel.Options{TracerProvider: tracer, MeterProvider: meters{flush: func(context.Context) error {
		flushed = true

		return nil
	}}})
	function := idemotel.Flush(tel, lambdawrap.SQS(s.openBare(tel.StoreOptions(nil)), succeed, tel.MessageOptions(&s.opts)))

	if _, err := function(t.Context(), events.SQSEvent{Records: []events.SQSMessage{message("p-1"), message("p-2")}}); err != nil {
		t.Fatal(err)
	}

	if got := len(spans.GetSpans()); got != 2 || !flushed {
		t.Errorf("%d spans exported, want 2; metrics flushed: %t", got, flushed)
	}

	if err := tracer.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// The answer comes in time, and with what the handler did, however long an exporter hangs and whether it looks at its context or
// not.
func TestAnExporterThatHangsDoesNotHoldTheAnswer(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		timeout, deadline, work time.Duration
		want                    time.Duration // from the beginning to the answer
	}{
		"there is time enough":         {0, 30 * time.Second, 2 * time.Second, 3 * time.Second},
		"another limit":                {5 * time.Second, 30 * time.Second, 2 * time.Second, 7 * time.Second},
		"no deadline":                  {0, 0, 2 * time.Second, 3 * time.Second},
		"half of what is left is less": {0, 10 * time.Second, 9600 * time.Millisecond, 9800 * time.Millisecond},
		"a limit above the deadline":   {time.Hour, 10 * time.Second, 2 * time.Second, 6 * time.Second},
		"the deadline is over":         {0, 10 * time.Second, 11 * time.Second, 11 * time.Second},
	} {
		for which, options := range map[string]func(hang func(context.Context) error) *idemotel.Options{
			"spans": func(hang func(context.Context) error) *idemotel.Options {
				return &idemotel.Options{TracerProvider: tracers{flush: hang}}
			},
			"metrics": func(hang func(context.Context) error) *idemotel.Options {
				return &idemotel.Options{MeterProvider: meters{flush: hang}}
			},
			"both": func(hang func(context.Context) error) *idemotel.Options {
				return &idemotel.Options{TracerProvider: tracers{flush: hang}, MeterProvider: meters{flush: hang}}
			},
		} {
			t.Run(name+", "+which, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					never := newHang()
					defer never.end()

					opts := options(never.wait)
					opts.FlushTimeout = c.timeout

					ctx, cancel := context.WithCancel(t.Context())
					if c.deadline > 0 {
						ctx, cancel = context.WithTimeout(t.Context(), c.deadline)
					}
					defer cancel()

					begun := time.Now()
					answer, err := idemotel.Flush(must(t, opts), func(context.Context, string) (string, error) {
						time.Sleep(c.work)

						return "paid", nil
					})(ctx, "p-1")

					if took := time.Since(begun); answer != "paid" || err != nil || took != c.want {
						t.Errorf("answer %q, %v after %v, want it after %v", answer, err, took, c.want)
					}
				})
			})
		}
	}
}

// hang is an export that ends when the test does, whatever its context says.
type hang struct {
	over  chan struct{}
	calls atomic.Int64
}

func newHang() *hang { return &hang{over: make(chan struct{})} }

func (h *hang) end() { close(h.over) }

func (h *hang) wait(context.Context) error {
	h.calls.Add(1)
	<-h.over

	return nil
}

// With the providers that functions use, the whole way: the messages are answered in time and their records are written.
func TestAHandlerWithAnExporterThatHangsAnswersItsMessages(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		processor func(sdktrace.SpanExporter) sdktrace.TracerProviderOption
		messages  []string
	}{
		"exports in batches": {
			func(e sdktrace.SpanExporter) sdktrace.TracerProviderOption { return sdktrace.WithBatcher(e) }, []string{"p-1", "p-2", "p-3"},
		},
		// One message, because the others would wait for a mutex, and no time passes in a bubble meanwhile.
		"exports at the end of each span": {sdktrace.WithSyncer, []string{"p-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, never := newStation(t), newHang()
				tracer := sdktrace.NewTracerProvider(c.processor(exporter{never.wait}))
				tel := must(t, &idemotel.Options{TracerProvider: tracer, MeterProvider: metric.NewMeterProvider()})
				function := idemotel.Flush(tel, lambdawrap.SQS(s.openBare(tel.StoreOptions(nil)), succeed, tel.MessageOptions(&s.opts)))

				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()

				var event events.SQSEvent
				for _, body := range c.messages {
					event.Records = append(event.Records, message(body))
				}

				response, err := function(ctx, event)
				if err != nil || len(response.BatchItemFailures) > 0 || ctx.Err() != nil {
					t.Errorf("got %v, %v; the deadline is over: %v", response, err, ctx.Err())
				}

				if never.calls.Load() == 0 {
					t.Error("nothing was exported, so nothing hung")
				}

				never.end()

				if err := tracer.Shutdown(context.WithoutCancel(ctx)); err != nil {
					t.Error(err)
				}

				for _, body := range c.messages {
					if _, rec, err := s.openBare(&idemddb.Options{}).Claim(t.Context(), body, nil); rec == nil {
						t.Errorf("%s is not completed: %v", body, err)
					}
				}
			})
		})
	}
}

func TestAnExporterThatHangsForEverKeepsOneGoroutine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		never := newHang()
		tel := must(t, &idemotel.Options{TracerProvider: tracers{flush: never.wait}})

		for range 5 {
			begun := time.Now()
			if err := tel.ForceFlush(t.Context()); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "idemotel: flush of spans") {
				t.Errorf("got %v", err)
			}

			if took := time.Since(begun); took != time.Second {
				t.Errorf("a flush took %v", took)
			}
		}

		synctest.Wait()

		if got := never.calls.Load(); got != 1 {
			t.Errorf("%d flushes hang, want 1", got)
		}

		never.end()
		synctest.Wait()

		if err := tel.ForceFlush(t.Context()); err != nil || never.calls.Load() != 2 {
			t.Errorf("after it: got %v, %d calls, want 2", err, never.calls.Load())
		}
	})
}

// One process may serve several invocations at once. A flush that is under way may have passed over what a later one measured.
func TestFlushesAtTheSameTimeShareTheNextOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var running, most, calls atomic.Int64

		tel := must(t, &idemotel.Options{TracerProvider: tracers{flush: func(context.Context) error {
			calls.Add(1)
			most.Store(max(most.Load(), running.Add(1)))
			time.Sleep(100 * time.Millisecond)
			running.Add(-1)

			return nil
		}}})

		var flushes sync.WaitGroup

		begun := time.Now()

		for range 64 {
			flushes.Go(func() {
				if err := tel.ForceFlush(t.Context()); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}

		flushes.Wait()

		if took := time.Since(begun); took != 200*time.Millisecond || most.Load() != 1 || calls.Load() != 2 {
			t.Errorf("%v, %d flushes, %d at a time; want 200ms, 2, 1", took, calls.Load(), most.Load())
		}
	})
}

// The first of those that share a flush has the least time. Its end is no reason for the others to lose their spans, and the end
// of the last one ends a flush that hangs.
func TestACallWhoseTimeIsOverLeavesASharedFlushAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var calls, ended atomic.Int64

		tel := must(t, &idemotel.Options{TracerProvider: tracers{flush: func(ctx context.Context) error {
			limit := 500 * time.Millisecond
			if calls.Add(1) == 3 {
				limit = time.Hour
			}
			defer ended.Add(1)

			select {
			case <-time.After(limit):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}}})

		var flushes sync.WaitGroup

		flush := func(limit time.Duration, want error) {
			flushes.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 2*limit)
				defer cancel()

				if err := tel.ForceFlush(ctx); !errors.Is(err, want) {
					t.Errorf("with %v: got %v, want %v", limit, err, want)
				}
			})
			synctest.Wait()
		}

		flush(600*time.Millisecond, nil) // 0 to 500 ms, alone
		time.Sleep(490 * time.Millisecond)
		flush(100*time.Millisecond, context.DeadlineExceeded)
		flush(time.Second, nil) // shares the flush from 500 to 1000 ms, and the call before it leaves at 590 ms
		flushes.Wait()

		flush(100*time.Millisecond, context.DeadlineExceeded)
		flush(50*time.Millisecond, context.DeadlineExceeded) // waits for the next one, which never begins
		flushes.Wait()
		synctest.Wait()

		if calls.Load() != 3 || ended.Load() != 3 {
			t.Errorf("%d flushes, of which %d ended; want 3", calls.Load(), ended.Load())
		}
	})
}

func TestAnExporterThatFailsLeavesTheAnswerAsItIs(t *testing.T) {
	t.Parallel()

	for name, export := range map[string]func(context.Context) error{
		"it panics":            func(context.Context) error { panic("no route") },
		"it returns an error":  func(context.Context) error { return errors.New("no route") },
		"it ends its own code": func(context.Context) error { runtime.Goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStation(t)
				tracer := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter{export}))
				tel := must(t, &idemotel.Options{TracerProvider: tracer, MeterProvider: meters{flush: export}})
				store := s.openBare(tel.StoreOptions(nil))
				function := idemotel.Flush(tel, lambdawrap.SQS(store, succeed, tel.MessageOptions(&s.opts)))

				for range 2 {
					response, err := function(t.Context(), events.SQSEvent{Records: []events.SQSMessage{message("p-1"), message("p-2")}})
					if err != nil || len(response.BatchItemFailures) > 0 {
						t.Errorf("got %v, %v", response, err)
					}
				}

				if err := tel.ForceFlush(t.Context()); err == nil || !strings.Contains(err.Error(), "idemotel: flush of metrics: ") {
					t.Errorf("ForceFlush: got %v, want what went wrong", err)
				}
			})
		})
	}
}

// The process ends with a panic, and what was measured until then shows why.
func TestAHandlerThatPanicsIsFlushed(t *testing.T) {
	t.Parallel()

	flushes := 0
	tel := must(t, &idemotel.Options{TracerProvider: tracers{flush: func(context.Context) error { flushes++; return nil }}})

	defer func() {
		if v := recover(); v != "handler" || flushes != 1 {
			t.Errorf("panic %v after %d flushes", v, flushes)
		}
	}()

	_, _ = idemotel.Flush(tel, func(context.Context, int) (int, error) { panic("handler") })(t.Context(), 1)
}

// The invocation's context may have ended before its deadline: that is no reason to lose its spans.
func TestAContextThatEndedIsFlushedUntilItsDeadline(t *testing.T) {
	t.Parallel()

	tel := must(t, &idemotel.Options{TracerProvider: tracers{flush: func(ctx context.Context) error { return ctx.Err() }}})

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	cancel()

	if err := tel.ForceFlush(ctx); err != nil {
		t.Errorf("got %v", err)
	}
}

// Not parallel, and the only test that sets them: the global providers and the error handler belong to the process.
func TestWithoutProvidersTheGlobalOnesAreUsed(t *testing.T) {
	global := setGlobal()
	global.spans.Reset()

	s := newStation(t)
	s.tel, s.reader = global.tel, global.reader
	before := s.points("messaging.process.duration", "idemddb.outcome")["completed"]
	s.invoke(s.open(idemddb.Options{}), succeed, message("p-1"))

	flushes := global.flushes.Load()
	if err := errors.Join(global.err, global.tel.ForceFlush(t.Context())); err != nil || global.flushes.Load() != flushes+1 {
		t.Errorf("got %v and %d flushes, want 1", err, global.flushes.Load()-flushes)
	}

	if got := len(global.spans.GetSpans()); got != 1 {
		t.Errorf("%d spans, want 1", got)
	}

	if got := s.points("messaging.process.duration", "idemddb.outcome")["completed"] - before; got != 1 {
		t.Errorf("%d messages counted, want 1", got)
	}

	t.Run("an error handler that panics leaves the answer as it is", func(t *testing.T) {
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) { panic("no log") }))
		defer otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))

		tel := must(t, &idemotel.Options{TracerProvider: tracers{flush: func(context.Context) error { return errBank }}})
		answer, err := idemotel.Flush(tel, func(context.Context, int) (int, error) { return 7, nil })(t.Context(), 1)

		if answer != 7 || err != nil {
			t.Errorf("got %d, %v", answer, err)
		}
	})
}

// global is a Telemetry of the global providers, and what they keep.
type global struct {
	*sdktrace.TracerProvider

	tel     *idemotel.Telemetry
	err     error // of its first flush, when no provider was set
	spans   *tracetest.InMemoryExporter
	flushes atomic.Int64 // of the spans
	reader  *metric.ManualReader
}

func (g *global) ForceFlush(context.Context) error {
	g.flushes.Add(1)

	return nil
}

// setGlobal sets the global providers after the Telemetry is made, as in a program that sets them later. It does that once in a
// process, because the providers that OpenTelemetry has before pass on to the first ones that are set.
var setGlobal = sync.OnceValue(func() *global {
	g := &global{spans: tracetest.NewInMemoryExporter(), reader: metric.NewManualReader()}

	if g.tel, g.err = idemotel.New(nil); g.err == nil {
		g.err = g.tel.ForceFlush(context.Background())
	}

	g.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSyncer(g.spans)) // a goroutine of a batcher would belong to no bubble

	otel.SetTracerProvider(g)
	otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(g.reader)))

	return g
})
