package idemotel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel"
)

// Flush wraps the function for lambda.Start. After each invocation it exports what was measured, before Lambda freezes the process. It calls
// [Telemetry.ForceFlush], so a hanging exporter does not hold the answer beyond the invocation's deadline, and the error of an exporter goes
// to OpenTelemetry's error handler and leaves the answer as it is. Let it be the outermost wrapper, around one that makes a span for the
// invocation. Flush panics for a nil Telemetry or handler.
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
// Options.FlushTimeout, or when half of the time until ctx's deadline is over, whichever comes first, also if an exporter ignores its context.
// That ctx has ended is no reason to lose spans: only its deadline counts. The exporters' errors and panics are returned; what was measured may
// or may not have arrived then.
//
// An exporter that never returns keeps one goroutine. Further flushes wait for it in vain, within their time, and start none.
func (t *Telemetry) ForceFlush(ctx context.Context) error {
	t.mustExist()

	flushing, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.timeToFlush(ctx))
	defer cancel()

	answers := make([]<-chan error, len(t.flushers))
	for i, f := range t.flushers {
		answers[i] = f.start(flushing)
	}

	errs := make([]error, len(t.flushers))
	for i, f := range t.flushers {
		errs[i] = f.await(flushing, answers[i])
	}

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

// flusher flushes one provider.
type flusher struct {
	what     string
	provider func() any
	busy     chan struct{} // holds one token while the provider flushes
}

func newFlusher(what string, provider func() any) *flusher {
	return &flusher{what: what, provider: provider, busy: make(chan struct{}, 1)}
}

// start flushes the provider in a goroutine of its own, when an earlier flush of it has ended. The channel gives the error, once.
func (f *flusher) start(ctx context.Context) <-chan error {
	answer := make(chan error, 1)

	provider, ok := f.provider().(interface {
		ForceFlush(ctx context.Context) error
	})
	if !ok {
		answer <- nil // a provider that keeps nothing back

		return answer
	}

	go func() {
		select {
		case f.busy <- struct{}{}:
			defer func() { <-f.busy }()
		case <-ctx.Done():
			return
		}

		answer <- recovered(func() error { return provider.ForceFlush(ctx) })
	}()

	return answer
}

// await waits for the answer until ctx ends.
func (f *flusher) await(ctx context.Context, answer <-chan error) error {
	var err error

	select {
	case err = <-answer:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}

	if err != nil {
		return fmt.Errorf("idemotel: flush of %s: %w", f.what, err)
	}

	return nil
}

// recovered runs code of others and turns a panic into an error.
func recovered(code func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()

	return code()
}
