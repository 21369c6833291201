package idemddb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Complete records that the work is done, with its result (nil for none), and ends the claim. From then on the key is
// answered from the record until its retention ends, counted from now. It costs 1 request, and 1 write unit for each KB of the
// record; every later touch of the key costs its size again. Completing again with the same result is no error.
//
// It does not matter if the lease is over, as long as nobody has taken the key over.
//
// Errors: ErrFenced (our work ran, the completion was refused), ErrUnrecorded (the work is done, its record perhaps not; the
// error also wraps what stood in the way), ErrTooLarge (nothing was sent, complete without the result or with a smaller one).
func (c *Claim) Complete(ctx context.Context, result []byte) error {
	var value types.AttributeValue
	if result != nil {
		value = &types.AttributeValueMemberB{Value: result}
	}

	if err := c.checkSize(result); err != nil {
		return keyError("complete", c.key, err)
	}

	return c.complete(ctx, value)
}

// completeOmitted completes without a result that could not be kept, and says so in the record.
func (c *Claim) completeOmitted(ctx context.Context) error {
	return c.complete(ctx, &types.AttributeValueMemberNULL{Value: true})
}

func (c *Claim) complete(ctx context.Context, result types.AttributeValue) error {
	s := c.store
	update := updateComplete + updateDropError

	if result != nil {
		update = updateComplete + updateSetResult + updateDropError
	}

	var done storedRecord

	err := c.settle(ctx, Completed, nil, func() write {
		now := s.opts.Now()
		done = storedRecord{
			Fence: &c.fence, Attempts: c.attempt, Result: result,
			Done: now.UnixMilli(), Expires: s.expiry(now, now),
		}
		values := c.heldValues()
		values[":completed"] = completedValue
		values[":nowms"] = numberValue(done.Done)
		values[":exp"] = numberValue(done.Expires)

		if result != nil {
			values[":res"] = result
		}

		return write{c.partition, condHeld, update, values}
	}, func(rec *storedRecord) bool {
		return rec.State == stateCompleted && sameResult(rec.Result, result)
	})

	switch {
	case s.disabled:
	case err == nil:
		s.cache.add(c.partition, done.record(c.key), &c.fingerprint)
	case !errors.Is(err, ErrFenced):
		err = fmt.Errorf("%w: %w", err, ErrUnrecorded)
		s.observe(ctx, c.event(Unrecorded, err))
	}

	return err
}

// Release gives the claim back: the key may be claimed again at once. cause, if not nil, is kept as the text of the last
// failure (its first 256 bytes). It costs 1 request and 1 write unit.
//
// Errors: ErrFenced (somebody else has the key, or it was settled before: nothing was written). After any other error the
// claim ends with its lease.
func (c *Claim) Release(ctx context.Context, cause error) error {
	return c.settle(ctx, Released, cause, func() write {
		values := c.ownValues()
		values[":zero"] = zeroValue
		update := updateRelease

		if cause != nil {
			update = updateRelease + updateSetError
			values[":err"] = stringValue(errorText(cause))
		}

		return write{c.partition, condOwn, update, values}
	}, nil)
}

// ReleaseUnused is Release for a claim whose work never began: it does not count as an attempt, and if it was a takeover, so is the
// next claim.
func (c *Claim) ReleaseUnused(ctx context.Context) error {
	return c.settle(ctx, Released, nil, func() write {
		values := c.ownValues()
		values[":att"] = numberValue(int64(c.attempt - 1))

		if c.takeover {
			values[":returned"] = returnedValue

			return write{c.partition, condOwn, updateReturn, values}
		}

		values[":zero"] = zeroValue

		return write{c.partition, condOwn, updateRelease + updateUnused, values}
	}, nil)
}

// Fail ends the key for good: no claim gets it while the record lives, each is answered with ErrFailed and the text of cause
// (its first 256 bytes). It costs 1 request and 1 write unit.
//
// Errors: ErrFenced (somebody else has the key, or it was settled before: nothing was written). After any other error the
// outcome is unknown; failing again is safe.
func (c *Claim) Fail(ctx context.Context, cause error) error {
	if cause == nil {
		cause = errors.New("no cause given")
	}

	return c.settle(ctx, Failed, cause, func() write {
		now := c.store.opts.Now()
		values := c.heldValues()
		values[":failed"] = failedValue
		values[":exp"] = numberValue(c.store.expiry(now, now))
		values[":err"] = stringValue(errorText(cause))

		return write{c.partition, condHeld, updateFail, values}
	}, func(rec *storedRecord) bool { return rec.State == stateFailed })
}

// Extend renews the lease: Options.Lease from now, not beyond ctx's deadline, and never shorter than it was. It costs 1
// request and 1 write unit; while a handler runs, Keep does it. A lease that is over is renewed if nobody has taken the key.
//
// Errors: ErrFenced (somebody else has the key, or it was settled before: nothing was written; stop the work). After any
// other error the outcome is unknown, the claim lasts at least to Deadline, and extending again is safe.
func (c *Claim) Extend(ctx context.Context) error { return c.extend(ctx, ctx) }

// extend has a context for the request of its own: the lease follows ctx, the request ends with request.
func (c *Claim) extend(ctx, request context.Context) error {
	s := c.store
	if s.disabled {
		return nil
	}

	var lease time.Time

	found, err := s.fenced(request, c.turn(), c.key, func() write {
		a := s.attempt(ctx)
		lease = a.lease
		values := c.heldValues()
		values[":lease"] = numberValue(lease.UnixMilli())
		values[":exp"] = numberValue(s.expiry(a.now, lease))

		return write{c.partition, condExtend, updateExtend, values}
	})

	if c.isOwn(found) && found.State == stateInProgress && found.Lease != nil && *found.Lease >= lease.UnixMilli() {
		lease, err = found.until(), nil // an attempt of ours, or a later extension of ours, was there before
	}

	if err != nil {
		return c.fail(ctx, "extend", found, err)
	}

	c.mu.Lock()
	if lease.After(c.lease) {
		c.lease = lease
	}
	c.mu.Unlock()

	s.observe(ctx, c.event(Extended, nil))

	return nil
}

// isOwn tells whether a record that stood in the way is the one of this very claim.
func (c *Claim) isOwn(found *storedRecord) bool {
	return found != nil && found.isOwn(c.token) && *found.Fence == c.fence
}

// settle sends a write that ends the claim. left tells of a refused write whether the record is as this write would have
// left it: then it is an earlier attempt of ours, seen again, and a success.
func (c *Claim) settle(
	ctx context.Context, kind Kind, cause error, build func() write, left func(*storedRecord) bool,
) error {
	if c.store.disabled {
		c.end(kind)

		return nil
	}

	if lost := c.lostTo(); lost != nil && kind == Released { // told before, and there is nothing to give back
		if t := c.lastTurn(); t != nil {
			t.end(ctx)
		}

		return lost
	}

	found, err := c.store.fenced(ctx, c.lastTurn(), c.key, build)
	if left != nil && c.isOwn(found) && left(found) {
		err = nil
	}

	if err != nil {
		return c.fail(ctx, verbs[kind], found, err)
	}

	c.end(kind)
	c.store.observe(ctx, c.event(kind, cause))

	return nil
}

func (c *Claim) end(as Kind) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.settled = as
}

var verbs = map[Kind]string{Completed: "complete", Released: "release", Failed: "fail"}

// fail turns the error of a claim's write into what the caller sees.
func (c *Claim) fail(ctx context.Context, op string, found *storedRecord, err error) error {
	if !errors.Is(err, ErrFenced) {
		return keyError(op, c.key, err)
	}

	fenced := &FencedError{Key: c.key, Held: c.fence}

	switch {
	case found != nil:
		fenced.Current, fenced.Holder = *found.Fence, found.holder()
		if found.State == stateCompleted {
			fenced.Record = found.record(c.key)
		}
	case errors.Is(err, ErrCorrupt):
		fenced.Current = -1
	}

	c.mu.Lock()
	c.lost = fenced
	c.mu.Unlock()

	c.store.observe(ctx, c.event(Fenced, fenced))

	return fenced
}

// lostTo is the answer to an earlier write of the claim that was fenced because another one has the key.
func (c *Claim) lostTo() error {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.lost == nil || c.lost.Current == c.fence {
		return nil
	}

	return c.lost
}

func (c *Claim) event(kind Kind, err error) Event {
	return Event{Kind: kind, Key: c.key, Fence: c.fence, Attempt: c.attempt, Err: err}
}

// turn is the way of one of the claim's writes through its Group, nil where it has none.
func (c *Claim) turn() *turn {
	if c.group == nil {
		return nil
	}

	return &turn{group: c.group}
}

// lastTurn is the turn of a write that settles the claim. The Group waits for the first one.
func (c *Claim) lastTurn() *turn {
	t := c.turn()
	if t != nil {
		c.mu.Lock()
		defer c.mu.Unlock()

		t.open, c.awaited = c.awaited, false
	}

	return t
}

func (c *Claim) ownValues() item {
	return item{":mine": stringValue(c.token), ":fence": numberValue(c.fence), ":inprogress": inProgressValue}
}

func (c *Claim) heldValues() item {
	values := c.ownValues()
	values[":zero"] = zeroValue

	return values
}

func sameResult(a, b types.AttributeValue) bool {
	switch a := a.(type) {
	case *types.AttributeValueMemberB:
		b, ok := b.(*types.AttributeValueMemberB)

		return ok && bytes.Equal(a.Value, b.Value)
	case *types.AttributeValueMemberNULL:
		_, ok := b.(*types.AttributeValueMemberNULL)

		return ok
	default:
		return b == nil
	}
}
