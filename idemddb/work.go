package idemddb

import (
	"context"
	"errors"
	"fmt"
)

// Work is one run of the work of a key, under a claim or, with ClaimOptions.Optimistic, without one. It is for wrappers, which run the code
// of others: Begin, Context, the code, Settle. [Do] is made of it. Its methods are called one after the other.
type Work struct {
	*staging

	store  *Store
	batch  *Batch // nil for none
	claim  *Claim // nil without a claim
	commit *committing
	opts   *ClaimOptions
	stop   func() // ends the renewal of the claim's lease
}

// Begin begins the work of a key: it claims the key as [Store.Claim] does. With ClaimOptions.Optimistic it makes no request: the work has
// no effect but what it stages, and Settle commits it. If the work does not begin, the Ending says why.
func (s *Store) Begin(ctx context.Context, key string, opts *ClaimOptions) (*Work, Ending) {
	return s.begin(ctx, nil, key, opts)
}

// Begin is [Store.Begin]. The works of a batch share requests, as its claims do.
func (b *Batch) Begin(ctx context.Context, key string, opts *ClaimOptions) (*Work, Ending) {
	return b.store.begin(ctx, b, key, opts)
}

func (s *Store) begin(ctx context.Context, b *Batch, key string, opts *ClaimOptions) (*Work, Ending) {
	w := &Work{store: s, batch: b, opts: opts, stop: func() {}}
	if opts != nil && opts.Optimistic && !s.disabled {
		return w.beginCommit(ctx, key)
	}

	claim := s.Claim
	if b != nil {
		claim = b.Claim
	}

	c, rec, err := claim(ctx, key, opts)
	if c == nil {
		return nil, notBegun(rec, err)
	}

	w.claim, w.staging = c, &c.staging

	return w, Ending{}
}

// Claim returns the claim of the work, or nil if it has none.
func (w *Work) Claim() *Claim { return w.claim }

// Context returns the context for the code that does the work: the code can stage effects with it, and finds its claim, whose lease is
// renewed from now on as by [Claim.Keep].
func (w *Work) Context(ctx context.Context) context.Context {
	if w.claim == nil {
		return context.WithValue(ctx, workKey{}, w.staging)
	}

	ctx, w.stop = w.claim.Keep(ctx)

	return ctx
}

// Fits reports whether a result fits into the record and into the transaction, beside what is staged. A result that does not fit would be
// omitted, so the wrapper may have a smaller one.
func (w *Work) Fits(result []byte) bool { return w.fits(result) }

// ErrNotStaged says that work returned no error although what it has to write is not staged: [Stage] refused it and the error was
// ignored; or the work ran without a claim and did not call Stage, not even as Stage(ctx, Effects{}), which means that there is nothing to
// write. This is a bug of the work: its effect would be lost. Nothing is completed, and the key is released, with one attempt more.
var ErrNotStaged = errors.New("the work succeeded, but what it has to write is not staged")

var errNoStage = fmt.Errorf("%w: it ran without a claim and did not call Stage", ErrNotStaged)

// StageErr says why work is not done although its code returned no error: ErrNotStaged. It says so once: after that, Settle completes the
// work without what is not staged, for a wrapper whose code has told its caller of the error.
func (w *Work) StageErr() error {
	if w.claim != nil && w.claim.Settled() != "" {
		return nil
	}

	return w.takeFailure(w.claim == nil)
}

// Held reports whether the work may begin: its claim, if it has one, is held, as [Claim.Held] says.
func (w *Work) Held() bool { return w.claim == nil || w.claim.Held() }

// HasEffect reports whether code that returned err has perhaps had an effect that its record does not show yet: what is staged has not
// happened.
func (w *Work) HasEffect(err error) bool {
	staged := w.Staged()

	return w.claim != nil && (isPermanent(err) || err == nil && len(staged.Items) == 0 && len(staged.Messages) == 0 && w.failure() == nil)
}

// Staged returns what is staged so far, also for the test of a handler. It must not be changed.
func (w *Work) Staged() Effects {
	w.mu.Lock()
	defer w.mu.Unlock()

	return w.effects
}

// GiveBack ends work that did not begin: its claim does not count as an attempt, as with [Claim.ReleaseUnused].
func (w *Work) GiveBack(ctx context.Context) error {
	w.stop()

	if w.claim == nil {
		return nil
	}

	return w.claim.ReleaseUnused(ctx)
}

// Abandon is for code that does not return in time and may still run. It can stage no more. If the work has a claim, its lease is extended
// by Options.Lease, beyond the invocation's deadline, and renewed until the returned function is called.
func (w *Work) Abandon(ctx context.Context) (stop func(), err error) {
	w.stop()
	w.end()

	if w.claim == nil {
		return func() {}, nil
	}

	err = w.claim.Extend(ctx)
	_, stop = w.claim.Keep(context.WithoutCancel(ctx))

	return stop, err
}

// beginCommit begins work without a claim, unless the cache knows that the key is completed.
func (w *Work) beginCommit(ctx context.Context, key string) (*Work, Ending) {
	c, err := w.store.newCommit(ctx, key, w.opts)
	if err != nil {
		return nil, Ending{Err: err}
	}

	if c.cached() {
		c.useRecord(ctx, nil)
		w.store.opts.Observe(ctx, c.event())

		return nil, notBegun(c.record, c.err)
	}

	w.commit, w.staging = c, &staging{store: w.store, key: key, partition: c.partition}

	return w, Ending{}
}
