package idemddb

import (
	"context"
	"errors"
	"fmt"

	"github.com/idemddb/go-idemddb/internal/exactjson"
)

// Do makes fn idempotent: it runs fn once for a key and answers every call with its value, which is stored as JSON.
//
// The first call runs fn and returns its value. Later calls return the stored value (for T = any, numbers are json.Number). While fn
// runs, its context carries the claim ([FromContext]) and the lease is renewed; the context is cancelled with ErrFenced as its cause
// if the claim is lost. If fn fails, panics or ends its goroutine, the claim is released, and the next call runs fn again. An error that
// is marked permanent, as by lambdawrap.Permanent, ends the key for good instead: later calls are ErrFailed.
//
// A value that JSON cannot carry, such as one with text that is not UTF-8, is not kept, and never replayed as another one.
//
// A caller that only writes `return err` never repeats finished work. If fn succeeded, the error is nil also if its value could not
// be kept, its completion did not get through, or its record was deleted meanwhile; an [Event] tells. A later call then returns a
// zero value for a result that was not kept, or ErrResultOmitted with ClaimOptions.NeedResult. If another worker took the key over
// and completed it, its value is returned.
//
// Errors: those of [Store.Claim], if fn did not run; the error of fn, joined with that of the release; ErrFenced, with the value of
// fn, if fn ran and another worker holds the key and has not completed it; ErrResultOmitted; ErrCorrupt also for a stored value that
// does not decode as T.
//
// What fn stages with [Stage] is written in one transaction with the completion. Then fn succeeded only if that is committed: the
// errors are also ErrUncommitted, *EffectError or what Effects.Refused makes of it, and ErrUnsent.
func Do[T any](
	ctx context.Context, s *Store, key string, opts *ClaimOptions, fn func(context.Context) (T, error),
) (T, error) {
	if opts != nil {
		needed := *opts
		needed.SkipResult = false
		opts = &needed
	}

	if opts != nil && opts.Optimistic {
		return doOptimistic(ctx, s, key, opts, fn)
	}

	var zero T

	claim, rec, err := s.Claim(ctx, key, opts)

	switch {
	case err != nil:
		return zero, err
	case rec != nil:
		return answerOf[T](rec, opts)
	}

	value, err := run(ctx, claim, fn)
	if err != nil || claim.Settled() != "" {
		return value, err
	}

	return completeValue(ctx, claim, value)
}

// completeValue completes the claim with the value of its work, and returns what Do returns.
func completeValue[T any](ctx context.Context, claim *Claim, value T) (T, error) {
	result, omitted := exactjson.Marshal(value)

	err := claim.record(ctx, result, omitted)
	if effect, ok := errors.AsType[*EffectError](err); ok {
		meaning, failed := claim.Refuse(ctx, effect)

		return value, errors.Join(meaning, failed)
	}

	if IsDone(err) {
		return valueOfDone(value, err)
	}

	return value, err
}

// valueOfDone is what Do returns for work that is done: the worker's own value, or that of the record of another worker, who was first.
func valueOfDone[T any](own T, err error) (T, error) {
	fenced, ok := errors.AsType[*FencedError](err)

	switch {
	case !ok || fenced.Record == nil || fenced.Current == fenced.Held:
		return own, nil
	case fenced.unread != nil:
		var zero T

		return zero, fenced.unread
	default:
		return replay[T](fenced.Record)
	}
}

// workKey is the context key for the innermost work: its *Claim, or the *staging of work that has no claim.
type workKey struct{}

// FromContext returns the claim whose work runs with this context, for its fencing token or to settle it from inside.
func FromContext(ctx context.Context) (*Claim, bool) {
	c, ok := ctx.Value(workKey{}).(*Claim)

	return c, ok
}

// run runs fn while the lease is renewed. If fn does not end well, the claim is released, also if fn panics or ends its goroutine; or it
// is failed, if the error is permanent.
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

		settle := claim.Release
		if isPermanent(cause) {
			settle = claim.Fail
		}

		if settled := settle(ctx, cause); settled != nil {
			err = errors.Join(err, settled)
		}
	}()

	value, err = fn(work)
	returned = true

	if err == nil {
		err = claim.StageErr()
	}

	return value, err
}

// record completes the claim with a result, or without it if it was omitted for a reason.
func (c *Claim) record(ctx context.Context, result []byte, omitted error) error {
	if omitted != nil {
		return c.completeOmitted(ctx, omitted)
	}

	return c.Complete(ctx, result)
}

// replay decodes the result of a record. It is a zero value if the record has none, because it was completed without one or because it
// was not kept.
func replay[T any](rec *Record) (T, error) {
	var value T

	if rec.Result == nil {
		return value, nil
	}

	if err := exactjson.Unmarshal(rec.Result, &value); err != nil {
		var zero T

		return zero, keyError("replay", rec.Key, fmt.Errorf("%w: its result is not a %T: %w", ErrCorrupt, zero, err))
	}

	return value, nil
}
