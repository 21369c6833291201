package lambdawrap

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/idemddb/go-idemddb/internal/turns"
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

	t := v.limits.Enter(turns.Place{Index: m.index, Unclaimed: true})[0]

	select {
	case hasWorker := <-t.Answer():
		if hasWorker {
			defer t.End(false)
		}
	case <-ctx.Done():
		t.Leave()

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
