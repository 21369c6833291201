package idemddb

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Do does the work of a key once and answers every call with its result, kept as JSON.
//
// The first call runs fn and returns its value; later ones return the value decoded from the record (for T = any, numbers as
// json.Number). fn runs with the claim in its context ([FromContext]) and its lease renewed; the context is cancelled with
// ErrFenced as its cause when the claim is lost. If fn fails, panics or ends its goroutine, the claim is released, and the
// next call runs it again. A result that is too large or not encodable is not kept: this call returns it, later ones
// ErrResultOmitted. If another worker took over and completed, its result is the answer.
//
// Errors: those of [Store.Claim], with fn not run; fn's own, joined by that of the release; ErrFenced (fn ran, another worker
// has the key and has not completed it) and ErrUnrecorded (fn ran, its record perhaps not written), both with fn's value;
// ErrResultOmitted; ErrCorrupt also for a result that does not decode as T.
func Do[T any](
	ctx context.Context, s *Store, key string, opts *ClaimOptions, fn func(context.Context) (T, error),
) (T, error) {
	var zero T

	claim, rec, err := s.Claim(ctx, key, opts)

	switch {
	case err != nil:
		return zero, err
	case rec != nil:
		return replay[T](rec)
	}

	value, err := run(ctx, claim, fn)
	if err != nil || claim.Settled() != "" {
		return value, err
	}

	err = claim.record(ctx, value)
	if fenced, ok := errors.AsType[*FencedError](err); ok && fenced.Record != nil {
		return replay[T](fenced.Record)
	}

	return value, err
}

type contextKey struct{}

// NewContext returns a context that carries the claim, for a wrapper that runs work on its own.
func NewContext(ctx context.Context, c *Claim) context.Context {
	return context.WithValue(ctx, contextKey{}, c)
}

// FromContext returns the claim whose work runs with this context: for its Fence, or to settle it from inside.
func FromContext(ctx context.Context) (*Claim, bool) {
	c, ok := ctx.Value(contextKey{}).(*Claim)

	return c, ok
}

// settleTime is what a write after the work has at least, whatever became of the work's context.
const settleTime = 2 * time.Second

// settleContext returns the context for settling a claim after its work: ctx with its values and its deadline, but alive for
// at least 2 s even if ctx was cancelled or its deadline is near. Without a deadline it has none.
func settleContext(ctx context.Context) (context.Context, context.CancelFunc) {
	alive := context.WithoutCancel(ctx)

	deadline, ok := ctx.Deadline()
	if !ok && ctx.Err() == nil {
		return alive, func() {}
	}

	if soon := time.Now().Add(settleTime); soon.After(deadline) {
		deadline = soon
	}

	return context.WithDeadline(alive, deadline)
}

// run does the work under a kept lease. Work that did not end well gives the claim back: also when fn panics or ends its
// goroutine, both of which go on after it.
func run[T any](ctx context.Context, claim *Claim, fn func(context.Context) (T, error)) (value T, err error) {
	work, stop := claim.Keep(ctx)
	returned := false

	defer func() {
		stop()

		if returned && err == nil || claim.Settled() != "" {
			return
		}

		cause := err
		if !returned {
			cause = errors.New("the work panicked or ended its goroutine")
		}

		settle, cancel := settleContext(ctx)
		defer cancel()

		if released := claim.Release(settle, cause); released != nil {
			err = errors.Join(err, released)
		}
	}()

	value, err = fn(work)
	returned = true

	return value, err
}

// record completes the claim with a value: without it, if it can't be kept.
func (c *Claim) record(ctx context.Context, value any) error {
	settle, cancel := settleContext(ctx)
	defer cancel()

	result, err := json.Marshal(value)
	if err != nil {
		return c.completeOmitted(settle)
	}

	if err = c.Complete(settle, result); errors.Is(err, ErrTooLarge) {
		return c.completeOmitted(settle)
	}

	return err
}

// replay decodes the result of a record. A record without one, completed by a wrapper or by Complete(ctx, nil), is a zero.
func replay[T any](rec *Record) (T, error) {
	var value T

	if rec.ResultOmitted {
		return value, keyError("replay", rec.Key, ErrResultOmitted)
	}

	if rec.Result == nil {
		return value, nil
	}

	decoder := json.NewDecoder(bytes.NewReader(rec.Result))
	decoder.UseNumber()

	if err := decoder.Decode(&value); err != nil {
		var zero T

		return zero, keyError("replay", rec.Key, fmt.Errorf("%w: its result is not a %T: %w", ErrCorrupt, zero, err))
	}

	return value, nil
}
