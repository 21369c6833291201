package lambdawrap

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

// Outcome says in one word how a message ended, in the log, for Options.OnMessage and for metrics.
type Outcome string

// The outcomes. A message with one of the first four is done. One with permanent, refused, mismatch or no_key is done if
// Options.DeadLetter took it. All others are reported failed and come back.
const (
	OutcomeCompleted   Outcome = "completed"   // the handler succeeded, and its success is recorded
	OutcomeReplayed    Outcome = "replayed"    // the key was completed before; the handler did not run
	OutcomeUnrecorded  Outcome = "unrecorded"  // the handler succeeded, and its record was perhaps not written
	OutcomeFenced      Outcome = "fenced"      // the handler ran, and the record is another's; done if the work is done, else failed
	OutcomePermanent   Outcome = "permanent"   // the handler returned Permanent
	OutcomeRefused     Outcome = "refused"     // the key failed for good before, or its attempts are used up
	OutcomeMismatch    Outcome = "mismatch"    // the key was used for another input
	OutcomeNoKey       Outcome = "no_key"      // the message has no key
	OutcomeFailed      Outcome = "failed"      // the handler failed or panicked, or the key function did
	OutcomeInProgress  Outcome = "in_progress" // another worker holds the key
	OutcomeUnanswered  Outcome = "unanswered"  // DynamoDB did not answer the claim, or refused it
	OutcomeCorrupt     Outcome = "corrupt"     // the record cannot be read, or is of another version
	OutcomeUncommitted Outcome = "uncommitted" // what the handler staged is not known to be committed; the record decides
	OutcomeUnsent      Outcome = "unsent"      // what the handler staged is committed, and its messages are not sent yet
	OutcomeNoTime      Outcome = "no_time"     // too little time was left to start
	OutcomeLate        Outcome = "late"        // the handler did not answer in time
	OutcomeBlocked     Outcome = "blocked"     // an earlier message of its FIFO group failed
)

// outcome is how a message's piece of work ended.
type outcome struct {
	name      Outcome
	err       error // nil: done, and nothing is worth a line in the log
	done      bool  // the message is done although there is an error
	permanent bool  // it will never succeed: for the dead-letter hook
	unknown   bool  // the write that settles it had no answer, so nobody knows what its record says

	until   time.Time // the end of the lease that keeps the key from being claimed
	seconds int32     // of a blocked message: until the message before it comes back
}

var (
	errNoTime   = errors.New("lambdawrap: too little time was left before it could start")
	errBlocked  = errors.New("lambdawrap: an earlier message of its group failed")
	errLost     = errors.New("lambdawrap: its claim, or that of another message of its event, was lost before it could start")
	errReleased = errors.New("lambdawrap: the handler released its claim and returned no error")
	errLate     = errors.New("lambdawrap: the handler had not answered when the invocation's answer was due; its claim lasts for one more lease")
)

// ofDuplicate is the outcome of another message with the same key and batch, for which no handler ran.
func (o outcome) ofDuplicate() outcome {
	if o.name == OutcomeCompleted && o.err == nil {
		o.name = OutcomeReplayed
	}

	return o
}

// noKeyOutcome is that of a message without a key: no delivery of it will have one. An error of the user's own key function is a
// failure like any other.
func noKeyOutcome(err error) outcome {
	switch {
	case errors.Is(err, ErrNoKey), errors.Is(err, idemddb.ErrBadKey):
		return outcome{name: OutcomeNoKey, err: err, permanent: true}
	case isPermanent(err):
		return outcome{name: OutcomePermanent, err: err, permanent: true}
	default:
		return outcome{name: OutcomeFailed, err: err}
	}
}

// unclaimed is the outcome of a message whose key was not claimed.
func unclaimed(err error) outcome {
	o := outcome{name: uncommitted(err, OutcomeUnanswered), err: err}

	switch {
	case err == nil:
		return outcome{name: OutcomeReplayed}
	case errors.Is(err, idemddb.ErrInProgress):
		o.name = OutcomeInProgress
		if other, ok := errors.AsType[*idemddb.InProgressError](err); ok {
			o.until = other.Until
		}
	case errors.Is(err, idemddb.ErrFailed):
		o.name, o.permanent = OutcomeRefused, true
	case errors.Is(err, idemddb.ErrMismatch):
		o.name, o.permanent = OutcomeMismatch, true
	case errors.Is(err, idemddb.ErrBadKey):
		o.name, o.permanent = OutcomeNoKey, true
	case errors.Is(err, idemddb.ErrCorrupt):
		o.name = OutcomeCorrupt
	}

	return o
}

// settle writes down how the work ended. The handler may have settled the claim itself, through idemddb.FromContext. Only errors of
// this message's own claim decide about its outcome: an error of the handler may wrap those of other keys.
func settle(ctx context.Context, claim *idemddb.Claim, err error) outcome {
	switch settled := claim.Settled(); {
	case settled == idemddb.Failed:
		cause := &idemddb.FailedError{Key: claim.Key(), Cause: "ended by its handler", Attempts: claim.Attempt()}

		return outcome{name: OutcomePermanent, err: errors.Join(err, cause), permanent: true}
	case settled == idemddb.Released && err == nil:
		return outcome{name: OutcomeFailed, err: errReleased}
	case settled == idemddb.Completed && err == nil:
		return outcome{name: OutcomeCompleted}
	case settled != "":
		return outcome{name: OutcomeFailed, err: err}
	case err == nil:
		return completed(ctx, claim, claim.Complete(ctx, nil))
	case isPermanent(err):
		return ended(err, claim.Fail(ctx, err))
	default:
		return released(OutcomeFailed, err, claim.Release(ctx, err))
	}
}

// completed reads the answer to a completion. The work is done, and the message comes back only if another worker is at work on the
// key. But what was staged has happened only if it is committed.
func completed(ctx context.Context, claim *idemddb.Claim, err error) outcome {
	if err == nil {
		return outcome{name: OutcomeCompleted}
	}

	o := outcome{name: OutcomeUnrecorded, err: err, done: idemddb.IsDone(err)}
	fenced, isFenced := errors.AsType[*idemddb.FencedError](err)
	effect, isEffect := errors.AsType[*idemddb.EffectError](err)

	switch {
	case isEffect:
		return refused(claim.Refuse(ctx, effect))
	case isFenced && !o.done && fenced.HasFailed():
		o.name, o.permanent = OutcomeRefused, true
	case isFenced:
		o.name = OutcomeFenced
	default:
		o.name = uncommitted(err, OutcomeUnrecorded)
	}

	return o
}

// refused reads what the refusal of a staged item means, and the answer to the write that settles it.
func refused(meaning, err error) outcome {
	switch {
	case meaning == nil:
		return outcome{name: OutcomeCompleted}
	case isPermanent(meaning):
		return ended(meaning, err)
	default:
		return released(OutcomeFailed, meaning, err)
	}
}

// uncommitted names the errors of a commit that is not proven.
func uncommitted(err error, otherwise Outcome) Outcome {
	switch {
	case errors.Is(err, idemddb.ErrUncommitted):
		return OutcomeUncommitted
	case errors.Is(err, idemddb.ErrUnsent):
		return OutcomeUnsent
	default:
		return otherwise
	}
}

// ended reads the answer to Fail. Only a key that has ended is for the dead-letter hook.
func ended(err, failed error) outcome {
	switch {
	case failed == nil:
		return outcome{name: OutcomePermanent, err: err, permanent: true}
	case errors.Is(failed, idemddb.ErrFenced):
		return outcome{name: OutcomeFenced, err: errors.Join(err, failed)}
	default:
		return outcome{name: OutcomePermanent, err: errors.Join(err, failed), unknown: true}
	}
}

// released reads the answer to a release.
func released(name Outcome, err, failed error) outcome {
	switch {
	case failed == nil:
	case !errors.Is(failed, idemddb.ErrFenced):
		return outcome{name: name, err: errors.Join(err, failed), unknown: true}
	case name == OutcomeFailed:
		name, err = OutcomeFenced, errors.Join(err, failed)
	}

	return outcome{name: name, err: err}
}

// finish gives one message its answer: the dead-letter hook for what will never succeed, a line in the log for what did not end well,
// and the time until its next delivery.
func (v *invocation) finish(ctx context.Context, m *message, o outcome) {
	v.finishBefore(v.before(answerPart), ctx, m, o)
}

// finishBefore is finish with another end for the dead-letter hook.
func (v *invocation) finishBefore(end time.Time, ctx context.Context, m *message, o outcome) { //nolint:revive // the end is the hook's alone
	ctx = v.contextOf(ctx, m)
	m.failed = o.err != nil && !o.done
	m.outcome = o.name
	err := o.err

	if o.permanent && m.bury != nil {
		hook := v.callHook(ctx, end, m, o.err)
		m.failed = hook != nil
		err = errors.Join(err, hook)
	}

	countMessage(ctx, o.name, m.failed, o.permanent && !m.failed)

	if err != nil {
		v.report(ctx, m, o, err)
	}

	if m.failed && v.opts.Visibility != nil && !o.permanent {
		m.seconds = v.hiddenFor(m, o)
		v.spawn(func() { v.hide(ctx, m) })
	}

	if m.tell != nil {
		v.callTell(ctx, m, o.name)
	}
}

// countMessage adds a message that has ended to the counts of its batch, if the batch is counted. deadLetter says that DeadLetter took
// it.
func countMessage(ctx context.Context, name Outcome, failed, deadLetter bool) {
	if c, ok := ctx.Value(countsKey{}).(*counts); ok {
		c.mu.Lock()
		defer c.mu.Unlock()

		c.outcomes[name]++
		c.ended++

		if failed {
			c.failed++
		}

		if deadLetter {
			c.deadLetters++
		}
	}
}

// callHook gives a message to the dead-letter hook. Handlers and hooks together are at most as many as there are workers; when
// handlers start no more, hooks alone are.
func (v *invocation) callHook(ctx context.Context, end time.Time, m *message, cause error) error {
	ctx, cancel := within(ctx, end)
	defer cancel()

	t := v.limits.borrow(m.index)

	select {
	case hasWorker := <-t.answer:
		if hasWorker {
			defer t.end(false)
		}
	case <-ctx.Done():
		t.leave()

		return errNoTime
	}

	select {
	case v.hooks <- struct{}{}:
		defer func() { <-v.hooks }()
	case <-ctx.Done():
		return errNoTime
	}

	if !end.IsZero() && !time.Now().Before(end) { // the contexts of several hooks do not end at exactly one moment
		return errNoTime
	}

	return await(ctx, func() error { return m.bury(ctx, cause) })
}

// callTell calls the user's hook for ended messages. Its panic changes nothing but the log.
func (v *invocation) callTell(ctx context.Context, m *message, name Outcome) {
	ctx, cancel := v.answerContext(ctx)
	defer cancel()

	err := await(ctx, func() error {
		m.tell(ctx, name)

		return nil
	})
	if err != nil {
		v.log(ctx, slog.LevelError, "the hook for ended messages failed; the message ended as it would have without it", m, name, err)
	}
}

// hiddenFor returns how many seconds a failed message stays hidden. In a FIFO group all messages behind a failed one come back with it.
// While another worker holds the key, each delivery would be in vain, and it uses up one of the queue's receives; so the pause also
// grows with each receive.
func (v *invocation) hiddenFor(m *message, o outcome) int32 {
	if o.seconds > 0 {
		return o.seconds
	}

	pause := wholeSeconds(backoff(m.receives, rand.N))
	if o.until.IsZero() {
		return pause
	}

	now := time.Now()

	return max(pause, untilVisible(now.Add(v.store.RetryAfter(o.until)), 0, now))
}

// visibilityTime is the longest time for one change of a message's visibility: the answer should not wait longer for it.
const visibilityTime = 2 * time.Second

// visibilityCalls is how many such changes are made at a time.
const visibilityCalls = 100

// hide sets when a failed message is delivered again. Only the answer waits for it.
func (v *invocation) hide(ctx context.Context, m *message) {
	ctx, end := v.answerContext(ctx)
	defer end()

	v.changes <- struct{}{}
	defer func() { <-v.changes }()

	ctx, cancel := context.WithTimeout(ctx, visibilityTime)
	defer cancel()

	err := await(ctx, func() error { return changeVisibility(ctx, v.opts.Visibility, m.SQSMessage, m.seconds) })
	if err != nil {
		v.log(ctx, slog.LevelWarn, "the message comes back after its queue's visibility time-out", m, "", err)
	}
}

// report writes the one line of a message that did not end well: what became of it and where to look, but nothing of its content.
func (v *invocation) report(ctx context.Context, m *message, o outcome, err error) {
	level := slog.LevelWarn

	switch o.name { //nolint:exhaustive // the rest is a warning
	case OutcomeFenced, OutcomeUnrecorded, OutcomeCorrupt:
		level = slog.LevelError
	}

	if _, ok := errors.AsType[*PanicError](err); ok || errors.Is(err, idemddb.ErrNotStaged) {
		level = slog.LevelError
	}

	switch {
	case o.done:
		v.log(ctx, level, "the message is done, but its record is not as it should be", m, o.name, err)
	case !m.failed:
		v.log(ctx, level, "the message was given to the dead-letter hook", m, o.name, err)
	case o.permanent && m.bury != nil:
		v.log(ctx, slog.LevelError, "the message is reported failed, because the dead-letter hook failed", m, o.name, err)
	default:
		v.log(ctx, level, "the message is reported failed", m, o.name, err)
	}
}

// logTakeover writes the line of the one moment in which an effect may be the second. about says whose key it is.
func logTakeover(ctx context.Context, logger *slog.Logger, key string, about ...slog.Attr) {
	logger.LogAttrs(ctx, slog.LevelWarn, "the lease of another worker ran out and its key was taken over: the work may have been done before",
		slices.Concat(about, []slog.Attr{slog.String("outcome", "takeover")}, keyAttrs(key))...)
}

// keyAttrs say which key a line is about, by its hash, and what shows its record.
func keyAttrs(key string) []slog.Attr {
	hash := idemddb.KeyHash(key)

	return []slog.Attr{slog.String("key", hash), slog.String("look", "idem show --hash "+hash)}
}

func (v *invocation) log(ctx context.Context, level slog.Level, text string, m *message, name Outcome, err error) {
	attrs := []slog.Attr{m.id, slog.Bool("comesBack", m.failed)}

	if name != "" {
		attrs = append(attrs, slog.String("outcome", string(name)))
	}

	if err != nil {
		attrs = append(attrs, slog.String("error", err.Error()))
	}

	if m.key != "" {
		attrs = append(attrs, keyAttrs(m.key)...)
	}

	if id := holder(m.key, err); id != "" {
		attrs = append(attrs, slog.String("holder", id))
	}

	if p, ok := errors.AsType[*PanicError](err); ok {
		attrs = append(attrs, slog.String("stack", string(p.Stack)))
	}

	v.logger().LogAttrs(ctx, level, text, attrs...)
}

// holder returns the request id of the worker that holds the message's key.
func holder(key string, err error) string {
	if e, ok := errors.AsType[*idemddb.InProgressError](err); ok && e.Key == key {
		return e.Holder
	}

	if e, ok := errors.AsType[*idemddb.FencedError](err); ok && e.Key == key {
		return e.Holder
	}

	return ""
}
