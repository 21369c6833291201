package idemddb

import (
	"context"
	"errors"

	"github.com/idemddb/go-idemddb/idemddb/internal/record"
)

// Release gives the claim back: the key may be claimed again at once. If cause is not nil, its text (the first 256 bytes) is kept as
// that of the last failure. It costs 1 request and 1 WCU. After the first settlement of the claim it does nothing, so that
// `defer claim.Release(ctx, nil)` is good style. As with Complete, the end of ctx does not keep it from being written.
//
// Release returns only its own error: nil also if cause is not. Work that failed is reported by
// `return errors.Join(err, claim.Release(ctx, err))`.
//
// Errors: ErrFenced (another worker has the key, or its record is gone). After any other error the claim ends with its lease.
func (c *Claim) Release(ctx context.Context, cause error) error {
	c.mustExist()

	return c.settle(ctx, settlement{kind: Released, cause: cause, build: func() write {
		values := c.ownValues()
		values[":zero"] = zeroValue
		update := updateRelease

		if cause != nil {
			update = updateRelease + updateSetError
			values[":err"] = record.Text(errorText(cause))
		}

		return write{c.partition, condOwn, update, values}
	}})
}

// ReleaseUnused is Release for a claim whose work never began: it does not count as an attempt, and if the claim was a takeover, so is
// the next one. It is for wrappers.
func (c *Claim) ReleaseUnused(ctx context.Context) error {
	c.mustExist()

	return c.settle(ctx, settlement{kind: Released, build: func() write {
		values := c.ownValues()
		values[":att"] = record.Number(int64(c.attempt - 1))

		if c.takeover {
			values[":returned"] = returnedValue

			return write{c.partition, condOwn, updateReturn, values}
		}

		values[":zero"] = zeroValue

		return write{c.partition, condOwn, updateRelease + updateUnused, values}
	}})
}

// Fail ends the key for good: it cannot be claimed while the record lives, and each claim returns ErrFailed with the text of cause (its
// first 256 bytes). It costs 1 request and 1 WCU. As with Complete, the end of ctx does not keep it from being written. Like Release, Fail
// returns only its own error.
//
// Errors: ErrFenced (another worker has the key, it was settled before, or its record is gone: nothing was written). After any other
// error the outcome is unknown, and it is safe to call Fail again.
func (c *Claim) Fail(ctx context.Context, cause error) error {
	c.mustExist()

	if cause == nil {
		cause = errors.New("no cause given")
	}

	return c.settle(ctx, settlement{kind: Failed, cause: cause, build: func() write {
		now := c.store.opts.Now()
		values := c.heldValues()
		values[":failed"] = failedValue
		values[":exp"] = record.Number(c.store.expiry(now, now))
		values[":err"] = record.Text(errorText(cause))

		return write{c.partition, condHeld, updateFail, values}
	}, matches: func(rec *record.Stored) bool { return rec.State == record.Failed }})
}
