package idemddb

import (
	"context"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/record"
	"github.com/idemddb/go-idemddb/internal/retry"
)

// rareError is a refusal after which a second request must write the record: the record is past its retention, or its lease is over.
type rareError struct {
	found     *record.Stored
	isExpired bool
}

func (*rareError) Error() string { return "the record must be replaced or failed by a second request" }

// conflict reads the answer to a try whose condition was false. found is the record for which it was false, and is judged by the time of
// that try.
func (a *acquisition) conflict(found item) {
	rec, err := record.Read(found, a.store.opts.TTLAttribute)
	if err != nil {
		a.err = keyError("claim", a.key, err)

		return
	}

	switch a.store.records.Judge(&a.Claimant, a.tx, rec, a.last.Now) {
	case protocol.Won:
		a.keepClaim(a.Claimed(rec), rec.Until())
		a.takenFrom(rec.PreviousTrace)
	case protocol.Committed:
		a.committed = rec
	case protocol.Withdrawn: // a new token, because no claim is granted to the one in the record
		a.Token, a.err = newToken(rec.Holder()), keyError("claim", a.key, errChanged)
	case protocol.PastEnd:
		a.err = &rareError{rec, true}
	case protocol.Mismatch:
		a.err = keyError("claim", a.key, ErrMismatch)
	case protocol.Completed:
		a.answerWith(rec)
	case protocol.Failed:
		a.err = &FailedError{Key: a.key, Cause: rec.Error, Attempts: rec.Attempts}
	case protocol.InUse:
		a.err = a.inProgress(rec)
	case protocol.GivenUp:
		a.err = &rareError{rec, false}
	case protocol.Changed:
		a.err = keyError("claim", a.key, errChanged)
	}
}

// answerWith keeps the record of a completed key as the answer.
func (a *acquisition) answerWith(rec *record.Stored) {
	a.record, a.result = answerOf(rec, a.key), rec.Result

	if len(rec.Outbox) > 0 {
		a.unsentRecord = rec
	} else {
		a.store.keepRecord(a.Partition, rec)
	}
}

// inProgress returns the error for a key that another claim holds: that of another worker, or of this very invocation, as when a handler of a
// batch claims the key of one of its messages.
func (a *acquisition) inProgress(rec *record.Stored) error {
	e := &InProgressError{Key: a.key, Until: rec.Until(), Holder: rec.Holder()}
	if e.Holder != "" && strings.HasPrefix(a.Token, e.Holder+record.TokenMark) {
		e.hint = hintInvocation
	}

	return e
}

// follow makes the second request that a rareError asks for. recreate is called for a record past its retention.
func (a *acquisition) follow(ctx context.Context, p retry.Policy, recreate func(context.Context, retry.Policy, *record.Stored)) {
	rare, ok := errors.AsType[*rareError](a.err)
	if !ok {
		return
	}

	a.err = nil

	if rare.isExpired {
		recreate(ctx, p, rare.found)
	} else {
		a.err = a.markFailed(ctx, p, rare.found)
	}
}

// recreate claims a record past its retention by a whole new record in its place.
func (a *acquisition) recreate(ctx context.Context, p retry.Policy, old *record.Stored) {
	own, err := a.putInPlace(ctx, p, func() *dynamodb.PutItemInput {
		a.last = a.store.stamp(a.deadline)

		return a.store.records.ClaimAnew(&a.Claimant, a.last, old)
	})

	switch {
	case err != nil:
		a.err = keyError("claim", a.key, err)
	case own != nil:
		a.conflict(own)
	default:
		a.keepClaim(a.ClaimedAnew(old, a.last), a.last.Lease)
	}
}

// putInPlace writes a whole new record in the place of one that is past its retention. It returns the record if an earlier try of this
// call wrote it, and errChanged if another worker has claimed or completed the key, or Time to Live has deleted the record.
func (a *acquisition) putInPlace(
	ctx context.Context, p retry.Policy, build func() *dynamodb.PutItemInput,
) (own item, err error) {
	s := a.store

	err = s.retry(ctx, a.key, p, func(ctx context.Context) error {
		out, err := s.api.PutItem(ctx, build(), sdkOptions...)
		if err == nil && len(out.Attributes) == 0 {
			err = retry.ErrNoContent
		}

		return err
	})

	found, ok := retry.Refusal(err)
	if !ok {
		return nil, s.explain(err)
	}

	if rec, err := record.Read(found, s.opts.TTLAttribute); err == nil && rec.IsOwn(a.Token) {
		return found, nil
	}

	return nil, errChanged
}

// markFailed ends a key for good if its lease is over and it may not be taken over.
func (a *acquisition) markFailed(ctx context.Context, p retry.Policy, rec *record.Stored) error {
	s, cause := a.store, a.store.records.GiveUpCause(rec)

	found, err := s.fenced(ctx, nil, a.key, p, func() protocol.Write {
		return s.records.GiveUp(a.Partition, rec, s.stamp(a.deadline), cause)
	})

	switch {
	case err == nil:
		return &FailedError{Key: a.key, Cause: cause, Attempts: rec.Attempts}
	case found != nil && found.State == record.Failed: // by another claimant, or by an earlier try of this call
		return &FailedError{Key: a.key, Cause: found.Error, Attempts: found.Attempts}
	case errors.Is(err, ErrFenced):
		return keyError("claim", a.key, errChanged) // it was released, extended or completed after all
	default:
		return keyError("claim", a.key, err)
	}
}
