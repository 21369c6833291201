package idemddb

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Keep renews the claim's lease at half of it for as long as the work takes. It returns the context for the work: the context carries
// the claim for [FromContext], and it is cancelled with ErrFenced as its cause if the claim is lost, because another worker has
// taken it over or because the lease ran out without having been renewed. Work that ends within half a lease costs no request.
//
// Call stop when the work is done. It returns after a renewal that is under way has ended. Renewal goes on when ctx ends, because the
// work may still run; it ends with the first settlement of the claim, without cancelling the context. The lease never goes beyond
// the deadline of ctx, or of the invocation.
func (c *Claim) Keep(ctx context.Context) (work context.Context, stop func()) {
	c.mustExist()

	work, cancel := context.WithCancelCause(context.WithValue(ctx, workKey{}, c))
	r := &renewer{claim: c, cancel: cancel}

	c.mu.Lock()
	c.renewer = r
	c.mu.Unlock()

	if !c.store.disabled && !c.lastsUntil(leaseBound(ctx)) {
		r.mu.Lock() // until the timer is set: a lease that is almost over fires at once
		defer r.mu.Unlock()

		r.timer = time.AfterFunc(c.left()-c.store.opts.Lease/2, func() { r.fire(work) })
	}

	return work, r.stop
}

// renewer renews one claim in the goroutine of its timer.
type renewer struct {
	claim  *Claim
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	timer   *time.Timer        // nil if the lease need not be renewed
	running chan struct{}      // closed when the renewal that is under way has ended; nil if there is none
	abort   context.CancelFunc // ends that renewal
	stopped bool
}

// stop ends the renewal, and waits for one that is under way. condExtend keeps its late twin from reviving what is settled afterwards.
func (r *renewer) stop() {
	r.cancel(nil)

	r.mu.Lock()
	r.stopped = true
	running := r.running

	if r.timer != nil {
		r.timer.Stop()
	}

	if running != nil {
		r.abort()
	}
	r.mu.Unlock()

	if running != nil {
		<-running
	}
}

// fire renews the lease and sets the timer again.
func (r *renewer) fire(work context.Context) {
	running := make(chan struct{})
	defer close(running)

	request, abort := context.WithCancel(context.WithoutCancel(work))
	defer abort()

	r.mu.Lock()
	if r.stopped {
		r.mu.Unlock()

		return
	}

	r.running, r.abort = running, abort
	r.mu.Unlock()

	pause, again := r.renew(request, leaseBound(work))

	r.mu.Lock()
	defer r.mu.Unlock()

	r.running = nil

	if again && !r.stopped {
		r.timer.Reset(pause)
	}
}

// retryRenewal is the least pause after a renewal that failed with all of its tries.
const retryRenewal = 100 * time.Millisecond

// renew extends the lease once, and returns when to do it again.
func (r *renewer) renew(ctx context.Context, deadline time.Time) (pause time.Duration, again bool) {
	// Nobody else can recover in this goroutine. Without renewal the claim cannot be trusted, so the work is cancelled.
	defer func() {
		if v := recover(); v != nil {
			r.cancel(fmt.Errorf("%w: the renewal panicked: %v", ErrFenced, v))
		}
	}()

	c := r.claim
	if c.isSettling() {
		return 0, false
	}

	// For all other clocks, a lease that is over (the process was stopped meanwhile) is still held for ClockSkew.
	limit := max(c.store.opts.ClockSkew, c.left())
	request, cancel := context.WithTimeout(ctx, limit)

	err := c.extend(request, deadline, policy{end: time.Now().Add(limit), pause: settleCap})

	cancel()

	switch left := c.left(); {
	case ctx.Err() != nil, c.isSettling():
		return 0, false
	case errors.Is(err, ErrFenced):
		r.cancel(err)
	case err != nil && left <= 0:
		r.cancel(fmt.Errorf("%w: %w: the lease ran out before it could be renewed", err, ErrFenced))
	case err != nil:
		return min(left, retryRenewal), true
	case !c.lastsUntil(deadline):
		return max(retryRenewal/10, left-c.store.opts.Lease/2), true //nolint:mnd // a lease of a few ms must not spin
	}

	return 0, false
}

// joinRenewal ends a renewal that is under way: it would conflict with a transaction on the same record. No other one begins, because the
// claim is being settled.
func (c *Claim) joinRenewal() {
	c.mu.Lock()
	r := c.renewer
	c.mu.Unlock()

	if r == nil {
		return
	}

	r.mu.Lock()
	running, abort := r.running, r.abort
	r.mu.Unlock()

	if running != nil {
		abort()
		<-running
	}
}

// resume lets the renewal go on after a settlement that wrote nothing.
func (r *renewer) resume() {
	r.mu.Lock()
	defer r.mu.Unlock()

	if r.timer != nil && !r.stopped {
		r.timer.Reset(max(retryRenewal/10, r.claim.left()-r.claim.store.opts.Lease/2)) //nolint:mnd // as after a renewal
	}
}

func (c *Claim) isSettling() bool {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.settling
}

// lastsUntil tells whether the lease lasts to the deadline, so that there is nothing to renew. Without a deadline it does not.
func (c *Claim) lastsUntil(deadline time.Time) bool {
	return !deadline.IsZero() && time.Until(deadline) <= c.left()+time.Millisecond
}
