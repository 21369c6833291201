package lambdawrap

import "context"

// hooks are the functions of the user that are called for each message or record, as it arrived. Those that are nil are not called.
type hooks[R any] struct {
	context    func(context.Context, R) context.Context
	deadLetter func(context.Context, R, error) error
	onOutcome  func(context.Context, R, Outcome)
	clone      func(R) R
}

// attach gives a message its hooks and returns the record for the handler and for the key functions. If there is a hook, that is a copy,
// because the hook must not get what the handler has changed.
func (h hooks[R]) attach(m *message, record R) (given R) {
	given = record
	if h.context != nil || h.deadLetter != nil || h.onOutcome != nil {
		given = h.clone(record)
	}

	if h.context != nil {
		m.derive = func(ctx context.Context) context.Context { return h.context(ctx, record) }
	}

	if h.deadLetter != nil {
		m.deadLetter = func(ctx context.Context, cause error) error { return h.deadLetter(ctx, h.clone(record), cause) }
	}

	if h.onOutcome != nil {
		m.onOutcome = func(ctx context.Context, o Outcome) { h.onOutcome(ctx, record, o) }
	}

	return given
}
