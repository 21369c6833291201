package idemddb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/idemddb/go-idemddb/internal/engine"
	"github.com/idemddb/go-idemddb/internal/panicerror"
	"github.com/idemddb/go-idemddb/internal/planner"
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/record"
)

// renewer renews one claim in the goroutine of its timer.
type renewer struct {
	claim    *Claim
	deadline time.Time // up to which the lease is renewed; zero for none
	cancel   context.CancelCauseFunc

	mu      sync.Mutex
	timer   *time.Timer
	running chan struct{}      // closed when the last renewal that began has ended; nil before the first
	abort   context.CancelFunc // ends that renewal
	stopped bool
}

// startRenewal returns the context for the work, which the renewal cancels if the claim is lost.
func (c *Claim) startRenewal(ctx context.Context, deadline time.Time) (work context.Context, stop func()) {
	work, cancel := context.WithCancelCause(ctx)
	r := &renewer{claim: c, deadline: deadline, cancel: cancel}
	pause := c.left() - c.store.opts.Lease/2

	r.mu.Lock() // until the timer is set: a lease that is almost over fires at once
	defer r.mu.Unlock()

	c.mu.Lock()
	c.renewers = append(c.renewers, r)
	c.mu.Unlock()

	r.timer = time.AfterFunc(pause, func() { r.fire(work) })

	return work, r.stop
}

// stop ends the renewal, and waits for one that is under way. If its request arrives late, condExtend keeps it from reviving what
// is settled afterwards.
func (r *renewer) stop() {
	r.cancel(nil)

	r.mu.Lock()
	r.stopped = true
	running := r.running
	r.timer.Stop()

	if running != nil {
		r.abort()
	}
	r.mu.Unlock()

	if running != nil {
		<-running
	}

	r.claim.mu.Lock()
	defer r.claim.mu.Unlock()

	r.claim.renewers = slices.DeleteFunc(r.claim.renewers, func(other *renewer) bool { return other == r })
}

// fire renews the lease and sets the timer again.
func (r *renewer) fire(work context.Context) {
	running := make(chan struct{})
	defer close(running)

	request, abort := context.WithCancel(context.WithoutCancel(work))
	defer abort()

	if !r.markRunning(running, abort) {
		return
	}

	pause, again := r.renew(request)

	r.mu.Lock()
	defer r.mu.Unlock()

	if again && !r.stopped {
		r.timer.Reset(pause)
	}
}

// markRunning notes that a renewal is under way, so that stop can end it. It returns false if the renewer was stopped before.
func (r *renewer) markRunning(running chan struct{}, abort context.CancelFunc) bool {
	r.mu.Lock()
	defer r.mu.Unlock()

	if r.stopped {
		return false
	}

	r.running, r.abort = running, abort

	return true
}

// retryRenewal is the pause after a renewal that failed with all of its tries. It is shorter if less of the lease is left.
const retryRenewal = 100 * time.Millisecond

// renew extends the lease once, and returns when to do it again.
func (r *renewer) renew(ctx context.Context) (pause time.Duration, again bool) {
	failure := errRenewalExited // of a client, or of Observe, that ends the goroutine

	defer func() {
		if failure != nil {
			r.panicked(ctx, fmt.Errorf("%w: %w", ErrFenced, failure))
		}
	}()
	defer panicerror.Catch("the renewal", &failure) // nobody else can recover in this goroutine

	pause, again = r.tryOnce(ctx)
	failure = nil

	return pause, again
}

var errRenewalExited = errors.New("the goroutine of the renewal was ended")

// tryOnce extends the lease once. Its goroutine may panic or be ended: renew sees to that.
func (r *renewer) tryOnce(ctx context.Context) (pause time.Duration, again bool) {
	c := r.claim
	if c.isSettling() {
		return 0, false
	}

	// For all other clocks, a lease that is over (the process was stopped meanwhile) is still held for ClockSkew.
	limit := max(c.store.opts.ClockSkew, c.left())
	request, cancel := context.WithTimeout(ctx, limit)

	err := c.extend(request, r.deadline, planner.Policy{End: time.Now().Add(limit), Pause: engine.SettlePause})

	cancel()

	return r.next(ctx, err)
}

// panicked cancels the work, because the claim cannot be trusted without renewal.
func (r *renewer) panicked(ctx context.Context, err error) {
	defer func() { _ = recover() }() // Options.Observe may be what panicked

	r.cancel(err)
	r.claim.store.observe(ctx, r.claim.event(KindPanicked, err))
}

// next returns when to extend the lease again after an extension that returned err. If the claim is lost, next cancels the work.
func (r *renewer) next(ctx context.Context, err error) (pause time.Duration, again bool) {
	c := r.claim

	switch left := c.left(); {
	case ctx.Err() != nil, c.isSettling():
		return 0, false
	case errors.Is(err, ErrFenced):
		r.cancel(err)
	case err != nil && left <= 0:
		r.cancel(fmt.Errorf("%w: %w: the lease ran out before it could be renewed", err, ErrFenced))
	case err != nil:
		return min(left, retryRenewal), true
	case !c.lastsUntil(r.deadline):
		return c.store.renewalPause(left), true
	}

	return 0, false
}

// renewalPause returns when to extend a lease that has so much left: at half of a whole one.
func (s *Store) renewalPause(left time.Duration) time.Duration {
	return max(retryRenewal/10, left-s.opts.Lease/2) // a lease of a few ms must not spin
}

// joinRenewal ends the renewals that are under way: they would conflict with a transaction on the same record. No other one
// begins, because the claim is being settled.
func (c *Claim) joinRenewal() {
	for _, r := range c.kept() {
		r.join()
	}
}

// kept returns what renews the lease: the work, or parts of it, may have called Keep several times.
func (c *Claim) kept() []*renewer {
	c.mu.Lock()
	defer c.mu.Unlock()

	return slices.Clone(c.renewers)
}

// join ends a renewal that is under way.
func (r *renewer) join() {
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
	pause := r.claim.store.renewalPause(r.claim.left())

	r.mu.Lock()
	defer r.mu.Unlock()

	if !r.stopped {
		r.timer.Reset(pause)
	}
}

// Extend renews the lease to Options.Lease from now, but not beyond ctx's deadline, and never to an earlier end than it has. It
// costs 1 request and 1 WCU. While a handler runs, Keep does it. A lease that is over is renewed if nobody has taken the key
// over.
//
// Errors: ErrFenced (another worker has the key, it was settled before, or its record is gone: nothing was written, so stop the
// work). After any other error the outcome is unknown, the claim lasts at least until Deadline, and it is safe to call Extend
// again.
func (c *Claim) Extend(ctx context.Context) error {
	c.mustExist()

	return c.extend(ctx, engine.LeaseBound(ctx), planner.Policy{End: engine.Earliest(ctx, c.store.opts.ClaimPatience), Pause: engine.SettlePause})
}

// extend renews the lease, up to the deadline unless it is zero. The request ends with ctx.
func (c *Claim) extend(ctx context.Context, deadline time.Time, p planner.Policy) error {
	if c.store.disabled {
		return nil
	}

	found, err := c.lengthen(ctx, deadline, p)
	if err != nil {
		return c.refusal(ctx, "extend", found, err)
	}

	c.observe(ctx, KindExtended, nil)

	return nil
}

// lengthen sends the extension. If its condition is false, it returns the record as fenced does.
func (c *Claim) lengthen(ctx context.Context, deadline time.Time, p planner.Policy) (*record.Stored, error) {
	s := c.store

	var lease time.Time

	found, err := s.fenced(ctx, engine.Write{
		Policy: p, Key: c.key, Record: c.held.Partition, Group: c.caller.Group, IsExtend: true, IsUrgent: c.left() < s.opts.Lease/3,
	}, func() protocol.Write {
		now := s.stamps(deadline)()
		lease = now.Lease

		return s.records.Extend(&c.held, now)
	})

	if c.held.Matches(found) && found.State == record.InProgress && found.Lease != nil && *found.Lease >= lease.UnixMilli() {
		err = nil // an earlier try of this call wrote it, or a later extension of this claim
		lease = found.Until()
	}

	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()

		if lease.After(c.lease) {
			c.lease = lease
		}
	}

	return found, err
}
