package idemddb

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Keep renews the claim's lease at half of it for as long as the work takes, and returns the context for the work: it carries
// the claim for [FromContext], and is cancelled with ErrFenced as its cause when the claim is lost: another worker has it, or
// the lease ran out without having been renewed. Work that ends within half a lease costs no request.
//
// Call stop when the work is done, before the claim is settled: it returns when the renewal has ended.
//
// The lease never goes beyond ctx's deadline.
func (c *Claim) Keep(ctx context.Context) (work context.Context, stop func()) {
	work, cancel := context.WithCancelCause(NewContext(ctx, c))
	k := &keeper{claim: c, cancel: cancel}

	// Locked until the timer is set: a lease that is almost over fires at once.
	k.mu.Lock()
	defer k.mu.Unlock()

	if !c.endsWith(ctx) && !c.store.disabled {
		k.timer = time.AfterFunc(c.left()-c.store.opts.Lease/2, func() { k.renew(work) })
	}

	return work, k.stop
}

// keeper renews one claim in the goroutine of its timer.
type keeper struct {
	claim  *Claim
	cancel context.CancelCauseFunc

	mu      sync.Mutex // held while a renewal is under way
	timer   *time.Timer
	stopped bool
}

func (k *keeper) stop() {
	k.cancel(nil) // a renewal under way ends; its late twin can't revive what is settled after it (condExtend)

	k.mu.Lock()
	defer k.mu.Unlock()

	k.stopped = true
	if k.timer != nil {
		k.timer.Stop()
	}
}

// retryRenewal is the pause after a renewal that failed, at least: it had its own attempts.
const retryRenewal = 100 * time.Millisecond

func (k *keeper) renew(work context.Context) {
	k.mu.Lock()
	defer k.mu.Unlock()

	if k.stopped || work.Err() != nil {
		return
	}

	// The goroutine is our own: a panic of the client would end the process. The work is not worth more than its claim.
	defer func() {
		if v := recover(); v != nil {
			k.cancel(fmt.Errorf("%w: the renewal panicked: %v", ErrFenced, v))
		}
	}()

	c := k.claim
	// A lease that is over (the process was stopped meanwhile) is still ours for ClockSkew, by all other clocks.
	request, cancel := context.WithTimeout(work, max(c.store.opts.ClockSkew, c.left()))
	err := c.extend(work, request)

	cancel()

	switch left := c.left(); {
	case work.Err() != nil:
	case errors.Is(err, ErrFenced):
		k.cancel(err)
	case err != nil && left <= 0:
		k.cancel(fmt.Errorf("%w: %w: the lease ran out before it could be renewed", err, ErrFenced))
	case err != nil:
		k.timer.Reset(min(left, retryRenewal))
	case !c.endsWith(work):
		k.timer.Reset(max(retryRenewal/10, left-c.store.opts.Lease/2))
	}
}

// left is how long the lease lasts.
func (c *Claim) left() time.Duration { return c.Deadline().Sub(c.store.opts.Now()) }

// endsWith tells whether the lease lasts to the context's deadline: then there is nothing to renew.
func (c *Claim) endsWith(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()

	return ok && time.Until(deadline) <= c.left()+time.Millisecond
}
