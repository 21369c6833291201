package lambdawrap

import (
	"context"
	"errors"
	"log/slog"

	"github.com/idemddb/go-idemddb/idemddb"
)

// outcome is how a message's key ended.
type outcome struct {
	err       error // nil: done
	permanent bool  // err is final: for the dead-letter hook
	warning   error // done, but somebody should look
}

var (
	errNoTime   = errors.New("lambdawrap: less than Options.Reserve left before it could start")
	errBlocked  = errors.New("lambdawrap: an earlier message of its group failed")
	errReleased = errors.New("lambdawrap: the handler released its claim and returned no error")
)

// process claims the key and does its work. The claim is cut to the beginning of the reserve, as the work is.
func (b *batch) process(ctx context.Context, m *message) outcome {
	work, cancel := b.working(ctx)
	defer cancel()

	if work.Err() != nil {
		return outcome{err: errNoTime}
	}

	claim, _, err := b.store.Claim(work, m.key, &idemddb.ClaimOptions{Fingerprint: m.fingerprint})

	switch {
	case errors.Is(err, idemddb.ErrFailed), errors.Is(err, idemddb.ErrMismatch):
		return outcome{err: err, permanent: true}
	case err != nil:
		return outcome{err: err}
	case claim == nil:
		return outcome{} // completed before
	}

	settle, cancelSettle := b.settling(ctx)
	defer cancelSettle()

	if work.Err() != nil { // the claim took the time that was left
		return outcome{err: errors.Join(errNoTime, claim.ReleaseUnused(settle))}
	}

	return settleClaim(settle, claim, b.execute(work, claim, m))
}

// execute runs the handler with the claim's lease kept.
func (b *batch) execute(ctx context.Context, claim *idemddb.Claim, m *message) error {
	work, stop := claim.Keep(ctx)
	defer stop()

	return await(ctx, b.reserve/answerPart, func() error { return b.handle(work, m.SQSMessage) })
}

// settleClaim writes down how the work ended. A handler may have done so itself, through idemddb.FromContext.
func settleClaim(ctx context.Context, claim *idemddb.Claim, err error) outcome {
	if errors.Is(err, errLate) {
		return outcome{err: err} // the work may still run: nobody may have the key before the lease is over
	}

	switch settled := claim.Settled(); {
	case settled == idemddb.Failed:
		failed := &idemddb.FailedError{Key: claim.Key(), Cause: "failed by its handler", Attempts: claim.Attempt()}

		return outcome{err: errors.Join(err, failed), permanent: true}
	case settled == idemddb.Released && err == nil:
		return outcome{err: errReleased}
	case settled != "":
		return outcome{err: err}
	case err == nil:
		return completed(claim.Complete(ctx, nil))
	case isPermanent(err):
		failed := claim.Fail(ctx, err)

		return outcome{err: errors.Join(err, failed), permanent: failed == nil}
	default:
		released := claim.Release(ctx, err)
		if errors.Is(err, idemddb.ErrFenced) && errors.Is(released, idemddb.ErrFenced) {
			released = nil // the handler gave up because the claim was lost: that says it
		}

		return outcome{err: errors.Join(err, released)}
	}
}

// completed reads the answer to a completion. The work is done whatever it says; a message that came back would be worked on
// again, and is reported failed only if another worker is at it.
func completed(err error) outcome {
	fenced, ok := errors.AsType[*idemddb.FencedError](err)

	switch {
	case err == nil:
		return outcome{}
	case !ok:
		return outcome{warning: err} // unrecorded: the handler's success is the proof
	case fenced.Record != nil, fenced.Current == 0:
		return outcome{warning: err} // the other completed it, or the record was deleted
	default:
		return outcome{err: err}
	}
}

// finish gives one message its answer: the dead-letter hook for what will never succeed, and a line for what did not end
// well.
func (b *batch) finish(ctx context.Context, m *message, o outcome) {
	m.failed = o.err != nil

	switch {
	case o.permanent && b.opts.DeadLetter != nil:
		settle, cancel := b.settling(ctx)
		defer cancel()

		failed := await(settle, 0, func() error { return b.opts.DeadLetter(settle, m.SQSMessage, o.err) })
		m.failed = failed != nil
		b.report(ctx, m, "message given to the dead-letter hook", errors.Join(o.err, failed))
	case o.err != nil:
		b.report(ctx, m, "message reported failed", o.err)
	case o.warning != nil:
		b.report(ctx, m, "message done, its record is not as it should be", o.warning)
	}
}

func (b *batch) report(ctx context.Context, m *message, text string, err error) {
	attrs := []slog.Attr{slog.String("messageId", m.MessageId), slog.String("error", err.Error())}
	if m.key != "" {
		attrs = append(attrs, slog.String("key", idemddb.KeyHash(m.key)))
	}

	if p, ok := errors.AsType[*PanicError](err); ok {
		attrs = append(attrs, slog.String("stack", string(p.Stack)))
	}

	level := slog.LevelWarn
	if errors.Is(err, idemddb.ErrFenced) || errors.Is(err, idemddb.ErrUnrecorded) || errors.Is(err, idemddb.ErrCorrupt) {
		level = slog.LevelError
	}

	b.logger().LogAttrs(ctx, level, text, attrs...)
}
