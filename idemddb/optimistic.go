package idemddb

import (
	"cmp"
	"context"
	"errors"

	"github.com/idemddb/go-idemddb/internal/panicerror"
)

// beginCommit begins work without a claim, unless the cache holds the record of the completed key.
func (w *Work) beginCommit(ctx context.Context, key string) (*Work, Ending) {
	c, err := w.store.newCommit(ctx, key, w.opts)
	if err != nil {
		return nil, Ending{Err: err}
	}

	if c.caller.Invocation.Work != nil && c.refuseNested(ctx) || c.cached() {
		c.useRecord(ctx)
		c.observe(ctx)

		return nil, notBegun(c.record, c.err)
	}

	w.commit, w.staging, w.caller = c, &staging{store: w.store, key: key, partition: c.Partition}, c.caller

	return w, Ending{}
}

// endingOfCommit waits for the answer to a commit. If that refuses an effect, the work did not succeed, which is written down.
func (w *Work) endingOfCommit(ctx context.Context) Ending {
	rec, err := w.commit.finish(ctx)
	if effect, isRefused := errors.AsType[*EffectError](err); isRefused {
		return w.settleRejected(ctx, effect.meaning())
	}

	return committedEnding(rec, err)
}

// committedEnding reads the answer to a commit that no effect has refused.
func committedEnding(rec *Record, err error) Ending {
	switch {
	case rec != nil:
		return Ending{Kind: KindReplayed, Done: true, Record: rec}
	case isWritten(err):
		return Ending{Kind: KindCompleted, Done: true}
	default:
		return Ending{Kind: cmp.Or(kindOf(err), KindUnanswered), Err: err}
	}
}

// settleRejected writes down that work without a claim did not succeed. The key may be completed meanwhile, by an earlier try of
// the commit or by another worker.
func (w *Work) settleRejected(ctx context.Context, cause error) Ending {
	a, err := w.commit.reject(ctx, cause)

	switch {
	case a.committed != nil:
		w.commit.done = *a.committed

		return committedEnding(nil, w.commit.after(ctx))
	case a.record != nil:
		return Ending{Kind: KindReplayed, Done: true, Record: a.record}
	case err == nil, a.claim != nil:
		return endingOfFailure(cause, err)
	case errors.Is(err, ErrFailed), errors.Is(err, ErrMismatch), errors.Is(err, ErrInProgress) && !panicerror.IsPermanent(cause):
		return Ending{Kind: cmp.Or(kindOf(err), KindUnanswered), Err: errors.Join(err, cause)}
	default:
		return Ending{Kind: KindReleased, Err: errors.Join(cause, err), Unknown: true}
	}
}
