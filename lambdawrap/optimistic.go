package lambdawrap

import (
	"context"
	"errors"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/turns"
)

// workUnclaimed runs a message's handler without a claim and commits what it staged.
func (v *invocation) workUnclaimed(ctx context.Context, m *message, t *turns.Turn) outcome {
	opts := &idemddb.ClaimOptions{Fingerprint: m.fingerprint, SkipResult: true, Wait: v.opts.Wait}

	if !<-t.Answer() {
		return outcome{name: OutcomeNoTime, err: errNoTime}
	}

	work, rec, err := v.store.NewWork(ctx, m.key, opts)
	if work == nil {
		t.End(false)

		return notBegun(rec, err)
	}

	err, isLate := v.handle(work.Context(ctx), m.work)
	effects, _ := work.Effects()

	if err == nil {
		err = work.StageErr()
	}

	if isLate || err != nil {
		t.End(false)

		if isLate {
			return outcome{name: OutcomeLate, err: errLateUnclaimed}
		}

		return v.reject(ctx, m, opts, err)
	}

	wait := v.batch.Commit(ctx, m.key, opts, nil, effects)

	t.End(false) // after that the commit waits for no handler that is not at work

	return v.awaitCommit(ctx, m, opts, wait)
}

// notBegun reads the answer of NewWork when there is no work to do: the key was completed before, the message is refused, or the options of
// the Store do not allow work without a claim.
func notBegun(rec *idemddb.Record, err error) outcome {
	if rec == nil && !isRefusal(err) {
		return outcome{name: OutcomeFailed, err: err}
	}

	return unclaimed(err)
}

// awaitCommit waits for the answer to the commit of a run. If it refuses what the handler staged, the run did not succeed, which is written
// down.
func (v *invocation) awaitCommit(
	ctx context.Context, m *message, opts *idemddb.ClaimOptions, wait func() (*idemddb.Record, error),
) outcome {
	rec, err := wait()
	if effect, ok := errors.AsType[*idemddb.EffectError](err); ok {
		return v.reject(ctx, m, opts, effect.Meaning())
	}

	return committed(rec, err)
}

var errLateUnclaimed = errors.New("lambdawrap: the handler had not answered when the invocation's answer was due; nothing of what it staged is written")

// isRefusal reports whether an error of NewWork concerns the message and not the Store.
func isRefusal(err error) bool {
	return errors.Is(err, idemddb.ErrMismatch) || errors.Is(err, idemddb.ErrBadKey)
}

// committed reads the answer to a commit. A record is that of an earlier run: this one wrote nothing.
func committed(rec *idemddb.Record, err error) outcome {
	switch {
	case rec != nil:
		return outcome{name: OutcomeReplayed}
	case err == nil, errors.Is(err, idemddb.ErrTooLarge):
		return outcome{name: OutcomeCompleted}
	default:
		return unclaimed(err)
	}
}

// reject writes down a run that did not succeed. The key may be completed meanwhile, by an earlier try of the commit or another worker.
func (v *invocation) reject(ctx context.Context, m *message, opts *idemddb.ClaimOptions, cause error) outcome {
	rec, err := v.store.Reject(ctx, m.key, opts, cause, isPermanent(cause))

	return rejected(rec, err, cause)
}

// rejected reads the answer to the write of a run that did not succeed.
func rejected(rec *idemddb.Record, err, cause error) outcome {
	switch {
	case rec != nil:
		return outcome{name: OutcomeReplayed}
	case err != nil && !isPermanent(cause) && errors.Is(err, idemddb.ErrInProgress):
		return unclaimed(err)
	case errors.Is(err, idemddb.ErrFailed), errors.Is(err, idemddb.ErrMismatch):
		return unclaimed(err)
	case err != nil:
		return outcome{name: OutcomeFailed, err: errors.Join(cause, err), unknown: true}
	case isPermanent(cause):
		return outcome{name: OutcomePermanent, err: cause, permanent: true}
	default:
		return outcome{name: OutcomeFailed, err: cause}
	}
}
