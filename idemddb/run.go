package idemddb

import (
	"context"
	"errors"
	"fmt"

	"github.com/idemddb/go-idemddb/internal/engine"
	"github.com/idemddb/go-idemddb/internal/panicerror"
	"github.com/idemddb/go-idemddb/internal/strictjson"
)

// Run claims a key, runs fn with the claim and settles it: the key is completed with the result of fn if its error is nil, ended
// for good if the error is marked permanent, as by lambdawrap.Permanent, and else released, so that the next call runs fn again.
// If the key was completed before, fn does not run, and Run returns the record. Run is the form to begin with; [Do] is Run for a
// value that is kept as JSON.
//
// The record is nil if fn ran, except where another worker took the key over and completed it: then its record is the answer,
// also if fn failed. The lease is renewed while fn runs. Its context carries the claim, ends with ctx, and is cancelled with
// ErrFenced as its cause if the claim is lost. If fn panics or ends its goroutine, the claim is released.
//
// A caller that ignores the record and only writes `return err` never repeats finished work. If fn succeeded, the error is nil
// also if its result could not be kept, its completion did not get through, or its record was deleted meanwhile; an [Event]
// reports it. A later call then returns a record without a result, or ErrResultOmitted with ClaimOptions.NeedResult.
//
// Errors: those of [Store.Claim], if fn did not run; that of ClaimOptions.OnReplay, if a record is the answer (the key stays
// completed); the error of fn, joined with that of the release or of the failure; ErrFenced, if fn ran and another worker holds
// the key and has not completed it; ErrResultOmitted. What fn stages with [Stage] is written in one transaction with the
// completion, and fn succeeded only if that is committed: the errors are also ErrUncommitted, *EffectError or what
// Effects.Refused makes of it, ErrNotStaged and ErrUnsent.
//
// The context must not be that of the handler of a durable function, which is ErrMisuse before anything runs: the handler runs
// again with each invocation. Call Run in a step.
//
// fn may settle the claim itself; then Run does not, and returns the error of fn. If that is only the error of [Claim.Complete],
// as of `return nil, claim.Complete(ctx, result)`, and the work is done by [Claim.IsDone], Run returns nil, and first sends a
// completion that is perhaps not recorded once more. fn must not call Run, Do or Claim for its own key. Such a call is
// ErrInProgress at once, without a request. ClaimOptions.Optimistic is ErrMisuse, because then there is no claim. Run panics for
// a nil s or fn.
func Run(
	ctx context.Context, s *Store, key string, opts *ClaimOptions, fn func(context.Context, *Claim) ([]byte, error),
) (*Record, error) {
	var with ClaimOptions

	if fn == nil {
		panic("idemddb: fn: must not be nil")
	}

	if opts != nil {
		with = *opts
	}

	s.mustExist()

	if with.Optimistic {
		return nil, keyError("run", key, errOptimistic)
	}

	t := task[[]byte]{
		store: s, key: key, opts: &with,
		fn:     func(ctx context.Context, w *Work) ([]byte, error) { return fn(ctx, w.Claim()) },
		encode: func(result []byte) ([]byte, error) { return result, nil },
	}

	_, rec, err := t.perform(ctx)

	if err != nil {
		return nil, err
	}

	if rec != nil && rec.ResultOmitted && rec.Result == nil && with.NeedResult {
		return nil, keyError("replay", rec.Key, ErrResultOmitted)
	}

	return rec, nil
}

var errDurable = fmt.Errorf("%w: its context is that of the handler of a durable function, which runs again with each invocation and would wait for "+
	"itself; nothing ran: call it in a step, with the context of the step and a key that the handler made (lambdawrap.DurableKey)", ErrMisuse)

// task is the work of a key, with a value of the type T.
type task[T any] struct {
	store  *Store
	key    string
	opts   *ClaimOptions
	fn     func(context.Context, *Work) (T, error)
	encode func(T) ([]byte, error)
}

// perform does the work, unless it is done: it claims the key, runs fn and settles the claim. A record that is not nil is the
// answer: another run of the work has completed the key.
func (t *task[T]) perform(ctx context.Context) (value T, rec *Record, err error) {
	if _, isDurable := engine.DurableExecution(ctx); isDurable {
		return value, nil, keyError("run", t.key, errDurable)
	}

	work, e := t.store.Begin(ctx, t.key, t.opts)
	if work != nil {
		value, e, err = t.run(ctx, work)
	} else {
		t.opts.ended(ctx, e)
	}

	switch {
	case e.BySelf:
		return value, nil, err
	case e.Record != nil:
		return value, e.Record, t.opts.replayed(ctx, e.Record)
	case e.Done:
		return value, nil, nil
	default:
		return value, nil, e.Err
	}
}

func (o *ClaimOptions) ended(ctx context.Context, e Ending) {
	if o.OnEnding != nil {
		o.OnEnding(ctx, e)
	}
}

// replayed calls OnReplay for a record that is the answer.
func (o *ClaimOptions) replayed(ctx context.Context, rec *Record) error {
	if o.OnReplay == nil {
		return nil
	}

	return panicerror.Readable(o.OnReplay(ctx, rec))
}

var (
	errExited     = errors.New("the work panicked or ended its goroutine")
	errNotEncoded = fmt.Errorf("%w: a method of it ended the goroutine", strictjson.ErrEncode)
)

// run runs fn, encodes its value and settles the work. If fn panics or ends its goroutine, the key is released. If a method of
// the value ends it, the work is done, and the key is completed without a result. Otherwise the lease would be renewed for ever.
func (t *task[T]) run(ctx context.Context, work *Work) (value T, e Ending, err error) {
	var result []byte

	cause := errExited

	defer func() {
		e = work.Settle(ctx, result, cause)
		t.opts.ended(ctx, e)
	}()

	if value, err = t.fn(work.Context(ctx), work); panicerror.Readable(err) != nil {
		cause = err

		return value, e, err
	}

	cause, work.omitted = nil, errNotEncoded
	result, work.omitted = t.encode(value)

	return value, e, err
}
