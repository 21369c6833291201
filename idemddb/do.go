package idemddb

import (
	"context"
	"fmt"
	"reflect"

	"github.com/idemddb/go-idemddb/internal/strictjson"
)

// Do makes fn idempotent: it runs fn once for a key and answers every call with its value, which is stored as JSON. It is [Run]
// for work with a value.
//
// The first call runs fn and returns its value. Later calls return the stored value (for T = any, numbers are json.Number). While
// fn runs, its context carries the claim ([FromContext]) and the lease is renewed; the context is cancelled with ErrFenced as its
// cause if the claim is lost. If fn fails, panics or ends its goroutine, the claim is released, and the next call runs fn again.
// An error that is marked permanent, as by lambdawrap.Permanent, ends the key for good instead: later calls are ErrFailed.
//
// A value that JSON cannot carry is not kept: text that is not UTF-8, an io.Reader, or what an interface holds (any excepted).
// Fields that encoding/json leaves out, because they are unexported, have the tag `json:"-"` or share a name with another one,
// are zero in what later calls return. If the UnmarshalJSON of a type does not undo its MarshalJSON, later calls return another
// value than the first one.
//
// A caller that only writes `return err` never repeats finished work. If fn succeeded, the error is nil also if its value could
// not be kept, its completion did not get through, or its record was deleted meanwhile; an [Event] reports it. A later call then
// returns a zero value for a result that was not kept, or ErrResultOmitted with ClaimOptions.NeedResult. If another worker took
// the key over and completed it, its value is returned, also if fn failed.
//
// Errors: those of [Store.Claim], if fn did not run; that of ClaimOptions.OnReplay, if a record is the answer (the key stays
// completed); the error of fn, joined with that of the release or of the failure; ErrFenced, with the value of fn, if fn ran and
// another worker holds the key and has not completed it; ErrResultOmitted; ErrCorrupt also for a stored value that does not
// decode as T; ErrNotStaged, if fn ignored an error of [Stage].
//
// The context must not be that of the handler of a durable function, which is ErrMisuse before anything runs: the handler runs
// again with each invocation. Call Do in a step.
//
// fn must not call Run, Do or Claim for its own key. Such a call is ErrInProgress at once, without a request. Do panics for a nil
// s or fn.
//
// What fn stages with [Stage] is written in one transaction with the completion. Then fn succeeded only if that is committed: the
// errors are also ErrUncommitted, *EffectError or what Effects.Refused makes of it, and ErrUnsent; with ClaimOptions.Optimistic
// also the other ones of [Store.Commit].
func Do[T any](
	ctx context.Context, s *Store, key string, opts *ClaimOptions, fn func(context.Context) (T, error),
) (T, error) {
	var with ClaimOptions

	if fn == nil {
		panic("idemddb: fn: must not be nil")
	}

	if opts != nil {
		with = *opts
		with.SkipResult = false
	}

	t := task[T]{
		store: s, key: key, opts: &with, fn: func(ctx context.Context, _ *Work) (T, error) { return fn(ctx) }, encode: strictjson.Marshal[T],
	}

	value, rec, err := t.perform(ctx)
	if rec != nil && err == nil {
		return replay[T](rec, &with)
	}

	return value, err
}

// replay decodes the result of a record. It is a zero value if the record has none, because it was completed without one or
// because it was not kept.
func replay[T any](rec *Record, opts *ClaimOptions) (T, error) {
	var value T

	switch {
	case rec.ResultOmitted && rec.Result == nil && opts.NeedResult:
		return value, keyError("replay", rec.Key, ErrResultOmitted)
	case rec.Result == nil:
		return value, nil
	}

	if err := strictjson.Unmarshal(rec.Result, &value); err != nil {
		var zero T

		return zero, keyError("replay", rec.Key, fmt.Errorf("%w: its result is not a %v: %w", ErrCorrupt, reflect.TypeFor[T](), err))
	}

	return value, nil
}
