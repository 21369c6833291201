package idemddb

import (
	"context"
	"time"

	"github.com/idemddb/go-idemddb/internal/retry"
)

// invocation holds the deadlines that a wrapper sets for what happens inside of it.
type invocation struct{ deadline, settleBy time.Time }

type invocationKey struct{}

// WithInvocation returns a context for work inside of an invocation that ends at deadline: claims made with it have leases up to that
// deadline, though the context itself may end earlier, and writes that settle a claim are sent until settleBy, though the context may
// have ended. Zero means no such limit. It is for wrappers.
func WithInvocation(ctx context.Context, deadline, settleBy time.Time) context.Context {
	return context.WithValue(ctx, invocationKey{}, invocation{deadline, settleBy})
}

// leaseBound is the deadline that bounds a lease; zero for none.
func leaseBound(ctx context.Context) time.Time {
	if i, ok := ctx.Value(invocationKey{}).(invocation); ok {
		return i.deadline
	}

	deadline, _ := ctx.Deadline()

	return deadline
}

// settleTime is the least time for a write that settles a claim outside of a wrapper.
const settleTime = 2 * time.Second

// settleContext returns the context and the policy for a write that settles finished work. The context keeps ctx's values, but not its
// end: that the work was cancelled must not keep its record from being written. The write outlasts an IAM policy that takes time to
// propagate; for a claim, a denial is final.
func (s *Store) settleContext(ctx context.Context) (context.Context, retry.Policy, context.CancelFunc) {
	i, wrapped := ctx.Value(invocationKey{}).(invocation)
	end := i.settleBy

	if deadline, ok := ctx.Deadline(); ok && !wrapped {
		end = later(deadline, time.Now().Add(settleTime))
	}

	if end.IsZero() {
		end = time.Now().Add(s.opts.Lease)
	}

	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), end)

	return ctx, retry.Policy{End: end, Pause: settleCap, Denied: s.opts.Lease}, cancel
}

// earliest returns the end of ctx, or limit from now if that is earlier.
func earliest(ctx context.Context, limit time.Duration) time.Time {
	end := time.Now().Add(limit)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(end) {
		return deadline
	}

	return end
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}

	return b
}

type onRetryKey struct{}

// OnRetry returns a context for settling a claim. f is called each time that a try of the write has failed and another one follows.
// It must be quick and safe for concurrent use. It is for wrappers, which should not begin new work while the records of finished
// work do not get through.
func OnRetry(ctx context.Context, f func()) context.Context {
	return context.WithValue(ctx, onRetryKey{}, f)
}

// onRetry returns the function that was given to OnRetry, or one that does nothing.
func onRetry(ctx context.Context) func() {
	if f, ok := ctx.Value(onRetryKey{}).(func()); ok {
		return f
	}

	return func() {}
}
