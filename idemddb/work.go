package idemddb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/idemddb/go-idemddb/internal/engine"
	"github.com/idemddb/go-idemddb/internal/panicerror"
)

// Work is one run of the work of a key, under a claim or, with ClaimOptions.Optimistic, without one. It is for wrappers, which
// run the code of others: Begin, Context, the code, Settle. [Do] is made of it. Its methods must not be called concurrently. The
// methods of a nil Work panic: Store.Begin returns nil if the work does not begin, and then its Ending is the answer.
type Work struct {
	*staging

	store  *Store
	claim  *Claim        // nil without a claim
	caller engine.Caller // that began it
	commit *committing
	opts   *ClaimOptions
	stop   func() // ends the renewal of the claim's lease

	omitted error // why there is no result, if the code returned one
}

// Begin begins the work of a key: it claims the key as [Store.Claim] does. With ClaimOptions.Optimistic it makes no request,
// unless a cached record has its result elsewhere: the work has no effect but what it stages, and Settle commits it. If the work
// does not begin, the Ending says why.
func (s *Store) Begin(ctx context.Context, key string, opts *ClaimOptions) (*Work, Ending) {
	w := &Work{store: s, opts: opts, stop: func() {}}
	if opts != nil && opts.Optimistic && !s.Disabled() {
		return w.beginCommit(ctx, key)
	}

	c, rec, err := s.Claim(ctx, key, opts)
	if c == nil {
		return nil, notBegun(rec, err)
	}

	w.claim, w.staging, w.caller = c, &c.staging, c.caller

	return w, Ending{}
}

// Claim returns the claim of the work, or nil if it has none.
func (w *Work) Claim() *Claim { w.mustExist(); return w.claim }

// Context returns the context for the code that does the work: the code can stage effects with it, and finds its claim, whose
// lease is renewed from now on as by [Claim.Keep].
func (w *Work) Context(ctx context.Context) context.Context {
	w.mustExist()

	if w.claim == nil {
		return withWork(ctx, nil, w.staging)
	}

	ctx = withWork(ctx, w.claim, w.staging)
	ctx, w.stop = w.claim.renewUntil(ctx, engine.LeaseBound(ctx))

	return ctx
}

// Staged returns what is staged so far. Tests of handlers use it, too. The caller must not change it.
func (w *Work) Staged() Effects {
	w.mustExist()
	w.mu.Lock()
	defer w.mu.Unlock()

	return w.effects.Effects
}

// Fits reports whether a result fits into the record and into the transaction, beside what is staged, or can be kept beside the
// record. A result that does neither would be omitted, so the wrapper may have a smaller one. With Options.Codec, Fits adds a
// third of the length and 4 KB, because an encoding may add that much.
func (w *Work) Fits(result []byte) bool {
	w.mustExist()
	w.mu.Lock()
	defer w.mu.Unlock()

	length := len(result)
	if w.store.opts.Codec != nil {
		length += length/3 + 4<<10
	}

	return length <= w.store.room(w.partition, w.effects) || w.store.results.outside().takes(length)
}

var errNoStage = fmt.Errorf("%w: it ran without a claim and did not call Stage; Stage(ctx, Effects{}) says that there is nothing to write", ErrNotStaged)

// TakeStageErr returns why work is not done although its code returned no error, ErrNotStaged, and clears it: a later Settle
// completes the key without the refused effects. It is for a wrapper whose code has reported the error to its caller.
func (w *Work) TakeStageErr() error {
	w.mustExist()

	if w.settledBySelf() != "" {
		return nil
	}

	w.mu.Lock()
	defer w.mu.Unlock()

	err := cmp.Or(w.failed, w.bad)
	if err == nil && !w.staged && w.claim == nil {
		err = errNoStage
	}

	w.failed, w.bad, w.staged = nil, nil, true

	return err
}

// GiveBack ends work that did not begin: its claim does not count as an attempt, as with [Claim.ReleaseUnused].
func (w *Work) GiveBack(ctx context.Context) error {
	w.mustExist()
	w.stop()

	if w.claim == nil {
		return nil
	}

	return w.claim.ReleaseUnused(ctx)
}

// Abandon is for code that does not return in time and may still run. It can stage no more. If the work has a claim, its lease is
// extended by Options.Lease, beyond the invocation's deadline, and renewed until the returned function is called. After an error
// this first extension is perhaps not written: unless it is, or a renewal succeeds, the claim ends with its old lease. The
// returned function must be called after an error, too.
func (w *Work) Abandon(ctx context.Context) (stop func(), err error) {
	w.mustExist()
	w.stop()
	w.end()

	if w.claim == nil {
		return func() {}, nil
	}

	// Nothing bounds the lease: the code may outlive the invocation.
	ctx = engine.With(ctx, &engine.Invocation{Times: &engine.Times{}, Noted: engine.Of(ctx).Noted})
	err = w.claim.Extend(ctx)
	_, stop = w.claim.renewUntil(context.WithoutCancel(ctx), time.Time{})

	return stop, err
}

// Settle writes down how the work ended: the key is completed with the result if err is nil, failed if err is marked as
// permanent, and else released. Work that succeeded without a claim is committed. Work that returns nothing but the error of its
// own [Claim.Complete] is done if [Claim.IsDone] says so; a completion that is perhaps not recorded is sent once more. Call it
// once.
func (w *Work) Settle(ctx context.Context, result []byte, err error) Ending {
	w.mustExist()
	w.stop()

	hasEffect := w.hasEffect(err)

	if err == nil {
		err = w.TakeStageErr()
	}

	if w.claim == nil {
		if effects := w.take(); err == nil {
			w.commit.start(ctx, result, w.omitted, effects)
		}
	}

	if settling := w.caller.Invocation.Settling; settling != nil {
		settling(hasEffect)
	}

	switch {
	case w.claim != nil:
		return w.settleClaim(ctx, result, err)
	case err != nil:
		return w.settleRejected(ctx, err)
	default:
		return w.endingOfCommit(ctx)
	}
}

func (w *Work) mustExist() {
	if w == nil {
		panic("idemddb: nil Work: the work did not begin; Store.Begin returned an Ending that says why")
	}
}

// hasEffect reports whether a worker must wait until the record of this run is written: the code has succeeded or failed for good
// under a claim, and has staged nothing that is written with the record. Code that failed otherwise runs again anyway.
func (w *Work) hasEffect(err error) bool {
	isPermanent := err != nil && panicerror.IsPermanent(err) // it may call methods of the user's error, which may stage

	w.mu.Lock()
	defer w.mu.Unlock()

	nothing := w.effects.isEmpty() && w.failed == nil

	return w.claim != nil && (err == nil && nothing || isPermanent)
}

// settledBySelf returns how the code has settled the claim itself; "" if it has not, or there is none.
func (w *Work) settledBySelf() Kind {
	if w.claim == nil {
		return ""
	}

	w.claim.mu.Lock()
	defer w.claim.mu.Unlock()

	return w.claim.settled
}

// settleClaim settles the claim, unless the code has done it.
func (w *Work) settleClaim(ctx context.Context, result []byte, err error) Ending {
	c := w.claim

	switch settled := w.settledBySelf(); {
	case c.doneBy(err): // such as `return claim.Complete(ctx, result)`: running the work again would be the second time
		return endingOfCompletion(c.completeAgain(ctx))
	case settled == KindFailed:
		cause := &FailedError{Key: c.key, Cause: "ended by its handler", Attempts: c.held.Attempt}

		return Ending{Kind: settled, Err: errors.Join(err, cause), BySelf: true}
	case settled != "":
		return Ending{Kind: settled, Err: err, Done: settled == KindCompleted && err == nil, BySelf: true}
	case err != nil:
		return c.endingOfGivingUp(err, c.giveUp(ctx, err))
	}

	omitted := w.omitted
	if own := c.ownCompletion(); own.isUnknown() {
		result, omitted = own.result, own.omitted
	}

	err = c.completeStaged(ctx, result, omitted)
	if effect, ok := errors.AsType[*EffectError](err); ok && !errors.Is(err, ErrUnsent) {
		return c.settleRefused(ctx, effect)
	}

	return endingOfCompletion(err)
}
