package lambdawrap

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"
)

// finish gives one message its answer: the dead-letter hook for what will never succeed, a line in the log for what did not end well,
// and the time until its next delivery.
func (v *invocation) finish(ctx context.Context, m *message, o outcome) {
	v.finishBefore(ctx, answerPart, m, o)
}

// finishBefore is finish with another part of the reserve that is left when the dead-letter hook must have ended.
func (v *invocation) finishBefore(ctx context.Context, part time.Duration, m *message, o outcome) {
	m.failed = o.err != nil && !o.done
	m.outcome = o.name
	err := o.err

	if o.permanent && m.bury != nil {
		hook := v.callHook(ctx, v.before(part), m, o.err)
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
