package lambdawrap

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/idemddb/go-idemddb/internal/schedule"
)

// deadLetter gives a message to the dead-letter hook. If the hook takes it, the message is done. The error is the cause, with
// that of the hook.
func (v *invocation) deadLetter(ctx context.Context, end time.Time, m *message, cause error) error {
	err := v.callHook(ctx, end, m, cause)
	m.failed = err != nil

	return errors.Join(cause, err)
}

// callHook gives a message to the dead-letter hook. At most Options.Workers handlers and hooks run at a time. When no handler
// starts any more, up to Options.Workers hooks run beside the handlers that have not returned.
func (v *invocation) callHook(ctx context.Context, end time.Time, m *message, cause error) error {
	waiting, stop := within(ctx, end)
	defer stop()

	v.step(func(s *schedule.Schedule) {
		m.decisions = make(chan schedule.Action, 1)
		s.Hook(m.index)
	})
	defer v.step(func(s *schedule.Schedule) { s.Hooked(m.index) })

	select {
	case <-m.decisions:
	case <-waiting.Done():
		return ErrNoTime
	}

	if !end.IsZero() && !time.Now().Before(end) { // the contexts of several hooks do not end at exactly one moment
		return ErrNoTime
	}

	ctx, cancel := v.hookContext(ctx, end)
	defer cancel()

	return await(ctx, func() error { return m.hooks.deadLetter(ctx, cause) })
}

// callEnded calls the user's hook for ended messages, OnMessage or OnRecord. Its panic changes nothing but the log.
func (v *invocation) callEnded(ctx context.Context, m *message, name Outcome) {
	ctx, cancel := v.hookContext(ctx, v.answerAt)
	defer cancel()

	err := await(ctx, func() error {
		m.hooks.ended(ctx, name)

		return nil
	})
	if err != nil {
		v.log(ctx, m, line{slog.LevelError, "the hook for ended messages failed; the message ended as it would have without it", name, err})
	}
}

// hookContext returns the context of a user's hook, which ends at this time, or a lease from now if it is zero: without a
// deadline a hook that hangs must not keep the program from its end.
func (v *invocation) hookContext(ctx context.Context, end time.Time) (context.Context, context.CancelFunc) {
	if end.IsZero() {
		end = time.Now().Add(v.store.Options().Lease)
	}

	return within(v.outside(ctx, v.answerAt), end)
}
