package lambdawrap

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

// outcome is how a message's key ended.
type outcome struct {
	err       error // nil: done
	permanent bool  // err is final: for the dead-letter hook
	warning   error // done, but somebody should look

	until   time.Time // the end of a lease that is in the way
	seconds int32     // of errBlocked: until the message before it comes back
}

var (
	errNoTime   = errors.New("lambdawrap: less than Options.Reserve left before it could start")
	errBlocked  = errors.New("lambdawrap: an earlier message of its group failed")
	errUnbegun  = errors.New("lambdawrap: its claim was lost before it could start")
	errReleased = errors.New("lambdawrap: the handler released its claim and returned no error")
)

// request is the claim of a message.
func (m *message) request() idemddb.ClaimRequest {
	return idemddb.ClaimRequest{Key: m.key, Fingerprint: m.fingerprint, Redelivered: receiveCount(m.SQSMessage) > 1}
}

// requests are the claims of the lanes' first messages.
func requests(group []*lane) []idemddb.ClaimRequest {
	made := make([]idemddb.ClaimRequest, len(group))
	for i, l := range group {
		made[i] = l.messages[0].request()
	}

	return made
}

// refused is what becomes of a message whose key was not claimed; without an error it was completed before.
func (b *batch) refused(err error) outcome {
	o := outcome{err: err, permanent: errors.Is(err, idemddb.ErrFailed) || errors.Is(err, idemddb.ErrMismatch)}
	if other, ok := errors.AsType[*idemddb.InProgressError](err); ok {
		o.until = other.Until
	}

	return o
}

// execute runs the handler of a claimed message, if there is time left.
func (b *batch) execute(work context.Context, j *job, over bool) error {
	defer j.stop()

	switch {
	case over, work.Err() != nil:
		return errNoTime
	case j.ctx.Err() != nil:
		return errors.Join(errUnbegun, context.Cause(j.ctx)) //nolint:contextcheck // why is in the context of its handler
	}

	m := j.messages[0].SQSMessage // here: a handler that is late reads nothing of the lane

	return await(work, b.reserve/answerPart, errLate, func() error { return b.handle(j.ctx, m) })
}

// settleClaim writes down how the work ended. A handler may have done so itself, through idemddb.FromContext.
func settleClaim(ctx context.Context, claim *idemddb.Claim, err error) outcome {
	switch {
	case errors.Is(err, errLate): // the work may still run: nobody may have the key before the lease is over
		return outcome{err: err, until: claim.Deadline()}
	case errors.Is(err, errNoTime), errors.Is(err, errUnbegun):
		return outcome{err: joinRelease(err, claim.ReleaseUnused(ctx))}
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
		return outcome{err: joinRelease(err, claim.Release(ctx, err))}
	}
}

// joinRelease adds what became of the release. A claim that was lost is told once: why the work ended says it.
func joinRelease(err, released error) error {
	if errors.Is(err, idemddb.ErrFenced) && errors.Is(released, idemddb.ErrFenced) {
		return err
	}

	return errors.Join(err, released)
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

// finish gives one message its answer: the dead-letter hook for what will never succeed, a line for what did not end well, and
// for how long it is hidden.
func (b *batch) finish(ctx context.Context, m *message, o outcome) {
	m.failed = o.err != nil

	switch {
	case o.permanent && b.opts.DeadLetter != nil:
		failed := b.callHook(ctx, m, o.err)
		m.failed = failed != nil
		b.report(ctx, m, "message given to the dead-letter hook", errors.Join(o.err, failed))
	case o.err != nil:
		b.report(ctx, m, "message reported failed", o.err)
	case o.warning != nil:
		b.report(ctx, m, "message done, its record is not as it should be", o.warning)
	}

	if m.failed && b.opts.Visibility != nil {
		m.seconds = b.hiddenFor(m, o)
	}
}

// callHook gives a message to the dead-letter hook, as many at a time as there are workers.
func (b *batch) callHook(ctx context.Context, m *message, cause error) error {
	select {
	case b.hooks <- struct{}{}:
		defer func() { <-b.hooks }()
	case <-ctx.Done():
		return errNoTime
	}

	return await(ctx, 0, errHung, func() error { return b.opts.DeadLetter(ctx, m.SQSMessage, cause) })
}

// hiddenFor is when a failed message comes back. In a FIFO group all that wait behind a failure come back with it.
func (b *batch) hiddenFor(m *message, o outcome) int32 {
	now := time.Now()

	switch {
	case o.seconds > 0:
		return o.seconds
	case !o.until.IsZero():
		return untilVisible(now.Add(b.store.UntilTakeover(o.until)), 0, now)
	default:
		return wholeSeconds(backoff(receiveCount(m.SQSMessage), rand.N))
	}
}

// visibilityTime is what a change of the visibility has: it is worth no more.
const visibilityTime = 2 * time.Second

// hide shapes the next delivery of a failed message. Nothing waits for it but the answer.
func (b *batch) hide(ctx context.Context, m *message) {
	ctx, cancel := context.WithTimeout(ctx, visibilityTime)
	defer cancel()

	if err := await(ctx, 0, errHung, func() error {
		return changeVisibility(ctx, b.opts.Visibility, m.SQSMessage, m.seconds)
	}); err != nil {
		b.report(ctx, m, "message comes back after its queue's visibility time-out", err)
	}
}

// calls tells whether finish will call the hook.
func (b *batch) calls(o outcome) bool { return o.permanent && b.opts.DeadLetter != nil }

// report writes the one line of a message: what became of it, and where to look; never what is in it.
func (b *batch) report(ctx context.Context, m *message, text string, err error) {
	name, level := classify(err)
	attrs := []slog.Attr{slog.String("messageId", m.MessageId), slog.String("outcome", name), slog.String("error", err.Error())}

	if m.key != "" {
		attrs = append(attrs, slog.String("key", idemddb.KeyHash(m.key)))
	}

	if id := holder(err); id != "" {
		attrs = append(attrs, slog.String("holder", id))
	}

	if p, ok := errors.AsType[*PanicError](err); ok {
		attrs = append(attrs, slog.String("stack", string(p.Stack)))
	}

	b.logger().LogAttrs(ctx, level, text, attrs...)
}

// outcomes are the words of the log, each before those that it may wrap.
var outcomes = []struct {
	err   error
	name  string
	level slog.Level
}{
	{idemddb.ErrFenced, "fenced", slog.LevelError},
	{idemddb.ErrUnrecorded, "unrecorded", slog.LevelError},
	{idemddb.ErrCorrupt, "corrupt", slog.LevelError},
	{idemddb.ErrInProgress, "in_progress", slog.LevelWarn},
	{idemddb.ErrMismatch, "mismatch", slog.LevelWarn},
	{idemddb.ErrFailed, "refused", slog.LevelWarn},
	{ErrNoKey, "no_key", slog.LevelWarn},
	{errNoTime, "no_time", slog.LevelWarn},
	{errLate, "late", slog.LevelWarn},
	{errBlocked, "blocked", slog.LevelWarn},
}

func classify(err error) (string, slog.Level) {
	for _, o := range outcomes {
		if errors.Is(err, o.err) {
			return o.name, o.level
		}
	}

	if isPermanent(err) {
		return "permanent", slog.LevelWarn
	}

	return "failed", slog.LevelWarn
}

// holder is the request id of the worker that is in the way.
func holder(err error) string {
	if e, ok := errors.AsType[*idemddb.InProgressError](err); ok {
		return e.Holder
	}

	if e, ok := errors.AsType[*idemddb.FencedError](err); ok {
		return e.Holder
	}

	return ""
}
