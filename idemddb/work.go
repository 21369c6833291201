package idemddb

import (
	"context"
	"errors"
	"fmt"

	"github.com/idemddb/go-idemddb/internal/exactjson"
)

// Work is the work of one key without a claim: it has no effect but what it stages, and is committed when it has succeeded. It is for
// wrappers.
type Work struct {
	staging staging
}

// NewWork begins the work of a key without a claim. It makes no request. It returns a record from Options.Cache if the key was completed
// before, and an error for a key or a Store with which the work could not be committed.
func (s *Store) NewWork(ctx context.Context, key string, opts *ClaimOptions) (*Work, *Record, error) {
	c, err := s.newCommit(ctx, key, opts, Effects{})
	if err != nil {
		return nil, nil, err
	}

	if !s.disabled && c.cached() {
		c.useRecord(ctx, nil)
		s.opts.Observe(ctx, c.event())

		return nil, c.record, c.err
	}

	return &Work{staging{store: s, key: key, partition: c.partition}}, nil, nil
}

// Context returns the context for the work, in which it can stage effects.
func (w *Work) Context(ctx context.Context) context.Context {
	return context.WithValue(ctx, workKey{}, &w.staging)
}

// Effects ends the staging and returns what was staged. It returns false if Stage was not called, or if it refused something: then the work
// is not done, and StageErr says why.
func (w *Work) Effects() (Effects, bool) { return w.staging.take() }

// Fits reports whether a result fits into the record and into the transaction, beside what is staged.
func (w *Work) Fits(result []byte) bool { return w.staging.fits(result) }

// ErrNotStaged says that work returned no error although what it has to write is not staged: [Stage] refused it and the error was
// ignored; or the work ran without a claim and did not call Stage, not even as Stage(ctx, Effects{}), which means that there is nothing to
// write. This is a bug of the work: its effect would be lost. Nothing is completed, and the key is released, with one attempt more.
var ErrNotStaged = errors.New("the work succeeded, but what it has to write is not staged")

var errNoStage = fmt.Errorf("%w: it ran without a claim and did not call Stage", ErrNotStaged)

// StageErr ends the staging, and says why work is not done although it returned no error: ErrNotStaged, because Stage was not called, or
// because it refused something. It says the latter once: after that the work may be committed without it. It is for wrappers, which
// decide what such an error means.
func (w *Work) StageErr() error {
	if err := w.staging.takeFailure(); err != nil {
		return err
	}

	if _, staged := w.Effects(); !staged {
		return errNoStage
	}

	return nil
}

// doOptimistic is Do without a claim.
func doOptimistic[T any](
	ctx context.Context, s *Store, key string, opts *ClaimOptions, fn func(context.Context) (T, error),
) (T, error) {
	var zero T

	work, rec, err := s.NewWork(ctx, key, opts)

	switch {
	case err != nil:
		return zero, err
	case rec != nil:
		return answerOf[T](rec, opts)
	}

	value, rec, err := runUnclaimed(ctx, s, key, opts, work, fn)

	switch {
	case rec != nil:
		return answerOf[T](rec, opts)
	case err != nil:
		return value, err
	}

	return commitValue(ctx, work, opts, value)
}

// commitValue commits work with its value and its effects, and returns what Do returns.
func commitValue[T any](ctx context.Context, work *Work, opts *ClaimOptions, value T) (T, error) {
	s, key := work.staging.store, work.staging.key
	effects, _ := work.Effects()

	result, omitted := exactjson.Marshal(value)

	rec, err := s.commit(ctx, nil, key, opts, result, omitted, effects)()
	if effect, ok := errors.AsType[*EffectError](err); ok {
		rec, err = s.reject(ctx, key, opts, effect.Meaning())
	}

	switch {
	case rec != nil:
		return answerOf[T](rec, opts)
	case errors.Is(err, ErrTooLarge), errors.Is(err, exactjson.ErrEncode):
		return value, nil
	default:
		return value, err
	}
}

// runUnclaimed runs fn. A run that does not end well is written down, also if fn panics or ends its goroutine. If the key was completed
// meanwhile, it returns that record: the run may have failed because of it.
func runUnclaimed[T any](
	ctx context.Context, s *Store, key string, opts *ClaimOptions, work *Work, fn func(context.Context) (T, error),
) (value T, rec *Record, err error) {
	returned := false

	defer func() {
		work.staging.end()

		switch {
		case !returned:
			_, _ = s.Reject(ctx, key, opts, errors.New("the work panicked or ended its goroutine"), false)
		case err != nil:
			rec, err = s.reject(ctx, key, opts, err)
		}
	}()

	value, err = fn(work.Context(ctx))
	returned = true

	if err != nil {
		return value, nil, err
	}

	if err = work.StageErr(); err != nil {
		err = keyError("commit", key, err)
	}

	return value, nil, err
}

// reject writes down that work did not succeed, or that its commit was refused because of an effect. It returns the cause, joined with
// what else went wrong, or the record of a completed key: that of an earlier try which was applied, or of another worker.
func (s *Store) reject(ctx context.Context, key string, opts *ClaimOptions, cause error) (*Record, error) {
	rec, err := s.Reject(ctx, key, opts, cause, isPermanent(cause))
	if rec != nil {
		return rec, nil
	}

	return nil, errors.Join(cause, err)
}

// answerOf is the answer of a record to Do.
func answerOf[T any](rec *Record, opts *ClaimOptions) (T, error) {
	if rec.ResultOmitted && opts != nil && opts.NeedResult {
		var zero T

		return zero, keyError("replay", rec.Key, ErrResultOmitted)
	}

	return replay[T](rec)
}
