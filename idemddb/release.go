package idemddb

import (
	"context"
	"errors"

	"github.com/idemddb/go-idemddb/internal/panicerror"
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/record"
)

// Release gives the claim back: the key may be claimed again at once. If cause is not nil, its text (the first 256 bytes) is kept
// as that of the last failure. It costs 1 request and 1 WCU. After the first settlement of the claim it does nothing, so that
// `defer claim.Release(ctx, nil)` is good style. As with Complete, the end of ctx does not keep it from being written.
//
// Release returns only the error of its own write, and nil if that write succeeded, whatever cause is. Work that failed is
// reported by `return errors.Join(err, claim.Release(ctx, err))`.
//
// Errors: ErrFenced (another worker has the key, or its record is gone). After any other error the claim ends with its lease.
func (c *Claim) Release(ctx context.Context, cause error) error {
	c.mustExist()

	return c.release(ctx, cause, false)
}

// ReleaseUnused is Release for a claim whose work never began: the claim does not count as an attempt. If it was a takeover, the
// next claim is one, too, because the earlier worker may have had its effect. It is for wrappers.
func (c *Claim) ReleaseUnused(ctx context.Context) error {
	c.mustExist()

	return c.settle(ctx, settlement{write: &releasing{claim: c, isUnused: true}, kind: KindReleased})
}

// Fail ends the key for good: it cannot be claimed while the record lives, and each claim returns ErrFailed with the text of
// cause (its first 256 bytes). It costs 1 request and 1 WCU. As with Complete, the end of ctx does not keep it from being
// written. Like Release, Fail returns only its own error.
//
// Errors: ErrFenced (another worker has the key, it was settled before, or its record is gone: nothing was written). After any
// other error the outcome is unknown, and it is safe to call Fail again.
func (c *Claim) Fail(ctx context.Context, cause error) error {
	c.mustExist()

	if cause == nil {
		cause = errors.New("no cause given")
	}

	return c.settle(ctx, settlement{write: &failing{c, record.CauseOf(cause)}, kind: KindFailed, cause: cause})
}

// release sends the release. With anew it does so also after a completion whose outcome is not known.
func (c *Claim) release(ctx context.Context, cause error, anew bool) error {
	var text *string
	if cause != nil {
		text = new(record.CauseOf(cause))
	}

	return c.settle(ctx, settlement{write: &releasing{claim: c, cause: text}, kind: KindReleased, cause: cause, anew: anew})
}

// giveUp ends the key if the cause is permanent, and else releases the claim. If the work has completed its claim itself and
// nobody knows whether that is written, giveUp sends its own write nevertheless: it is fenced, so it is refused by a completion
// that was applied, and a late completion is refused by it.
func (c *Claim) giveUp(ctx context.Context, cause error) error {
	if panicerror.IsPermanent(cause) {
		return c.Fail(ctx, cause)
	}

	return c.release(ctx, cause, true)
}

// endingOfGivingUp is endingOfFailure for a claim that the work may have completed itself. If giveUp was refused because that
// completion had been applied, the work has settled its claim itself.
func (c *Claim) endingOfGivingUp(cause, err error) Ending {
	if fenced, ok := errors.AsType[*FencedError](err); ok && fenced.Record != nil && fenced.Current == c.held.Fence {
		return Ending{Kind: KindCompleted, Err: cause, BySelf: true}
	}

	return endingOfFailure(cause, err)
}

// settleRefused settles a claim whose completion was refused because of an effect, as Effects.Refused says. Its write is fenced,
// so that a late request of the transaction is refused afterwards. If an earlier try of the transaction was applied after all,
// the key is completed.
func (c *Claim) settleRefused(ctx context.Context, effect *EffectError) Ending {
	cause := effect.meaning()
	err := c.giveUp(ctx, cause)

	switch e := c.endingOfGivingUp(cause, err); {
	case !e.BySelf:
		return e
	case errors.Is(err, ErrUnsent): // only the transaction can have completed this claim
		return Ending{Kind: KindUnsent, Err: err}
	default:
		return Ending{Kind: KindCompleted, Done: true}
	}
}

// endingOfFailure reads the answer to the settlement of work that did not succeed. If another worker has completed the key, its
// record is the answer, unless messages of it must be sent first.
func endingOfFailure(cause, err error) Ending {
	e := Ending{Kind: KindReleased, Err: cause}
	if panicerror.IsPermanent(cause) {
		e.Kind = KindFailed
	}

	if err == nil {
		return e
	}

	e.Err = errors.Join(cause, err)

	if fenced, ok := errors.AsType[*FencedError](err); !ok {
		e.Unknown = true
	} else if e.Kind = KindFenced; !errors.Is(err, ErrUnsent) {
		e.Record = fenced.other()
		e.Done = e.Record != nil
	}

	return e
}

// releasing is a release.
type releasing struct {
	claim    *Claim
	cause    *string // nil for none
	isUnused bool    // the work never began
}

func (w *releasing) build() protocol.Write {
	if w.isUnused {
		return w.claim.store.records.Return(&w.claim.held)
	}

	return w.claim.store.records.Release(&w.claim.held, w.cause)
}

// matches reports whether a release that was refused is known to have been applied before: a try of it had no answer, and the
// next claim found the key released. That claim found a lease of 0, or of -1 if this claim was a takeover whose work never began.
// If further claims followed, the record no longer shows what the first of them found.
func (w *releasing) matches(_ context.Context, f *protocol.Fenced) bool {
	return f.IsUnknown && f.Found != nil && *f.Found.Fence == w.claim.held.Fence+1 && f.Found.Previous <= 0
}

// failing is the end of a key for good.
type failing struct {
	claim *Claim
	cause string
}

func (w *failing) build() protocol.Write {
	return w.claim.store.records.Fail(&w.claim.held, w.cause, w.claim.store.opts.Now())
}

// matches reports whether the record for which a failure was refused is as an earlier try of the claim left it.
func (w *failing) matches(_ context.Context, f *protocol.Fenced) bool {
	return w.claim.held.Matches(f.Found) && f.Found.State == record.Failed
}
