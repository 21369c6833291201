package engine

import (
	"context"
	"time"
)

// Invocation is what a wrapper says about the calls of the Store that are made with its context. Its functions must be quick and safe for
// concurrent use, and must not panic.
type Invocation struct {
	Times *Times // nil: those of the context
	Group *Group // of the writes that claim and settle; nil: each call is a group of its own

	// Retried is called each time that a try of a write which settles finished work has failed and another one follows: a wrapper should not begin
	// new work while the records of finished work do not get through. Defaults to nil.
	Retried func()

	// Settling is called when the code of a work has returned and, if the work has no claim, its commit waits for others. It says whether the code
	// has perhaps had an effect that no record shows yet. Defaults to nil.
	Settling func(hasEffect bool)

	// Unsent is called for each message of a completed record that is not sent or can never be sent (parked), where no error says so. Defaults
	// to nil.
	Unsent func(key string, parked bool, err error)
}

// Times divide the time of an invocation. Zero means no such limit.
type Times struct {
	Deadline time.Time // claims have leases up to it, though the context itself may end earlier
	SettleBy time.Time // writes that settle a claim are sent until then, though the context may have ended
}

type invocationKey struct{}

// With returns a context for calls of the Store inside of an invocation.
func With(ctx context.Context, i *Invocation) context.Context {
	return context.WithValue(ctx, invocationKey{}, i)
}

// Of returns the invocation of a context; an empty one if it has none. It must not be changed.
func Of(ctx context.Context) *Invocation {
	if i, ok := ctx.Value(invocationKey{}).(*Invocation); ok {
		return i
	}

	return &Invocation{}
}

// LeaseBound returns the time that bounds the leases of claims which are made with a context; zero for none.
func LeaseBound(ctx context.Context) time.Time {
	if i, ok := ctx.Value(invocationKey{}).(*Invocation); ok && i.Times != nil {
		return i.Times.Deadline
	}

	deadline, _ := ctx.Deadline()

	return deadline
}

// GroupOf returns the group of the writes that are made with a context; nil if it has none, or one of another Store.
func (e *Engine) GroupOf(ctx context.Context) *Group {
	if i, ok := ctx.Value(invocationKey{}).(*Invocation); ok && i.Group != nil && i.Group.engine == e {
		return i.Group
	}

	return nil
}
