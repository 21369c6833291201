package idemotel

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
)

// Flush wraps the function for lambda.Start. After each invocation it exports what was measured, before Lambda freezes the
// process. It calls [Telemetry.ForceFlush], so a hanging exporter does not hold the answer beyond the invocation's deadline, and
// the error of an exporter goes to OpenTelemetry's error handler and leaves the answer as it is. Let it be the outermost wrapper,
// around one that makes a span for the invocation. Flush panics for a nil Telemetry or handler.
func Flush[In, Out any](t *Telemetry, h func(context.Context, In) (Out, error)) func(context.Context, In) (Out, error) {
	t.mustExist()

	if h == nil {
		panic("idemotel: handler: must not be nil")
	}

	return func(ctx context.Context, in In) (Out, error) {
		defer t.flushAnyway(ctx) // also if the handler panics, because the process ends then

		return h(ctx, in)
	}
}

// ForceFlush exports what was measured until now, spans and metrics at the same time. It returns when that is done, after
// Options.FlushTimeout, or when half of the time until ctx's deadline is over, whichever comes first, also if an exporter ignores
// its context. That ctx has ended is no reason to lose spans: only its deadline counts. The exporters' errors and panics are
// returned; what was measured may or may not have arrived then.
//
// Calls at the same time share flushes: those that come while one is under way wait for its end, and the next one serves them
// all. A call whose time is over leaves alone; the context of a shared flush ends when all of its calls have left. An exporter
// that never returns keeps one goroutine. Further calls wait for it in vain, within their time, and start none.
func (t *Telemetry) ForceFlush(ctx context.Context) error {
	t.mustExist()

	flushing, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.timeToFlush(ctx))
	defer cancel()

	errs := make([]error, len(t.flushers))

	var flushes sync.WaitGroup
	for i, f := range t.flushers {
		flushes.Go(func() { errs[i] = f.flush(flushing) })
	}

	flushes.Wait()

	return errors.Join(errs...)
}

// remainingPart is the part of the time left that a flush may take: the rest is for the answer.
const remainingPart = 2

func (t *Telemetry) timeToFlush(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return t.flushTimeout
	}

	return min(t.flushTimeout, time.Until(deadline)/remainingPart)
}

// flushAnyway flushes for an invocation whose answer stands, whatever becomes of the flush. The error handler is the user's code.
func (t *Telemetry) flushAnyway(ctx context.Context) {
	if err := t.ForceFlush(ctx); err != nil {
		_ = recovered(func() error {
			otel.Handle(err)

			return nil
		})
	}
}

// flusher flushes one provider. Invocations that want a flush while one is under way share the next one, because the one under
// way may have passed over what they measured.
type flusher struct {
	what     string
	provider func() any

	mu      sync.Mutex
	running *flight
	next    *flight // nil if nobody waits for it
}

// flight is one flush of a provider, and those that wait for it. It ends when the last of them leaves, so that the end of one
// caller's time ends nobody else's flush, and no flush that heeds its context outlives its callers.
type flight struct {
	export  func() error
	cancel  context.CancelFunc
	waiters int // of the flusher's mutex
	done    chan struct{}
	err     error // when done is closed
}

func newFlusher(what string, provider func() any) *flusher {
	return &flusher{what: what, provider: provider}
}

// flush returns when a flush of the provider that began after this call has ended, or when ctx has.
func (f *flusher) flush(ctx context.Context) error {
	provider, ok := f.provider().(forceFlusher)
	if !ok {
		return nil // a provider that keeps nothing back
	}

	shared := f.join(ctx, provider)
	defer f.leave(shared)

	var err error

	select {
	case <-shared.done:
		err = shared.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	}

	if err != nil {
		return fmt.Errorf("idemotel: flush of %s: %w", f.what, err)
	}

	return nil
}

// forceFlusher is a provider that keeps back what was measured.
type forceFlusher interface {
	ForceFlush(ctx context.Context) error
}

// join returns the flush that begins next, and begins it if none is under way.
func (f *flusher) join(ctx context.Context, provider forceFlusher) *flight {
	f.mu.Lock()
	defer f.mu.Unlock()

	if f.next == nil {
		exporting, cancel := context.WithCancel(context.WithoutCancel(ctx))
		f.next = &flight{
			export: func() error { return provider.ForceFlush(exporting) },
			cancel: cancel,
			done:   make(chan struct{}),
		}
	}

	shared := f.next
	shared.waiters++

	if f.running == nil {
		f.begin()
	}

	return shared
}

// leave ends a flush for which nobody waits any more. One that has not begun is forgotten.
func (f *flusher) leave(shared *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()

	if shared.waiters--; shared.waiters > 0 {
		return
	}

	shared.cancel()

	if f.next == shared {
		f.next = nil
	}
}

// begin begins the next flush in a goroutine of its own. At its end the flush after it begins, if somebody waits for that.
func (f *flusher) begin() {
	begun := f.next
	f.running, f.next = begun, nil

	go func() {
		begun.err = errExited

		defer func() { // also if the provider's code ends the goroutine
			close(begun.done)
			f.mu.Lock()
			defer f.mu.Unlock()

			if f.running = nil; f.next != nil {
				f.begin()
			}
		}()

		begun.err = recovered(begun.export)
	}()
}

var errExited = errors.New("the exporter ended its goroutine (runtime.Goexit)")

// recovered runs code of others and turns a panic into an error.
func recovered(code func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()

	return code()
}
