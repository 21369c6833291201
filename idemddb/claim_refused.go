package idemddb

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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
	s, now := a.store, a.last.now

	rec, err := record.Read(found, s.opts.TTLAttribute)

	switch {
	case err != nil:
		a.err = keyError("claim", a.key, err)
	case rec.IsOwn(a.token):
		a.recognize(rec)
	case rec.Expired(now) && (rec.State != record.InProgress || rec.Lease == nil || rec.LeaseOver(now, s.opts.ClockSkew)):
		a.err = &rareError{rec, true}
	case !rec.Matches(a.fingerprint):
		a.err = keyError("claim", a.key, ErrMismatch)
	case rec.State == record.Completed && len(rec.Outbox) > 0:
		a.record, a.result, a.unsentRecord = answerOf(rec, a.key), rec.Result, rec
	case rec.State == record.Completed:
		a.record, a.result = answerOf(rec, a.key), rec.Result
		s.keepRecord(a.partition, rec)
	case rec.State == record.Failed:
		a.err = &FailedError{Key: a.key, Cause: rec.Error, Attempts: rec.Attempts}
	case !rec.LeaseOver(now, s.opts.ClockSkew):
		a.err = a.inProgress(rec)
	default:
		a.err = &rareError{rec, false}
	}
}

// inProgress returns the error for a key that another claim holds: that of another worker, or of this very invocation, as when a handler of a
// batch claims the key of one of its messages.
func (a *acquisition) inProgress(rec *record.Stored) error {
	e := &InProgressError{Key: a.key, Until: rec.Until(), Holder: rec.Holder()}
	if e.Holder != "" && strings.HasPrefix(a.token, e.Holder+record.TokenMark) {
		e.hint = hintInvocation
	}

	return e
}

// recognize reads a record that has this call's owner token: an earlier try was applied, and its answer was lost. If the key was ended or
// released meanwhile, by another claimant or an operator, the claim is not held.
func (a *acquisition) recognize(rec *record.Stored) {
	switch {
	case a.isCommitted(rec):
		a.committed = rec
	case rec.State == record.Failed:
		a.err = &FailedError{Key: a.key, Cause: rec.Error, Attempts: rec.Attempts}
	case rec.State == record.InProgress && rec.Lease != nil && *rec.Lease > 0:
		a.keepClaim(*rec.Fence, rec.Attempts, rec.Previous, rec.Until())
		a.takenFrom(rec.PreviousTrace)
	default: // a new token, because no claim is granted to the one in the record
		a.token, a.err = newToken(rec.Holder()), keyError("claim", a.key, errChanged)
	}
}

// isCommitted reports whether a record with this call's owner token is the one that its commit wrote.
func (a *acquisition) isCommitted(rec *record.Stored) bool {
	return rec.State == record.Completed && a.tx != "" && rec.Tx == a.tx
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

// recreate claims a record past its retention by a whole new record in its place, so that nothing of the old life remains.
func (a *acquisition) recreate(ctx context.Context, p retry.Policy, old *record.Stored) {
	s := a.store

	own, err := a.putInPlace(ctx, p, old, func() item {
		a.last = s.stamp(a.deadline)

		return a.newRecord(a.fenceAfter(old))
	})

	switch {
	case err != nil:
		a.err = keyError("claim", a.key, err)
	case own != nil:
		a.recognize(own)
	default:
		a.keepClaim(a.fenceAfter(old), 1, 0, a.last.lease)
	}
}

// fenceAfter returns the fencing token of a new record that replaces one past its retention. It is above the old token. It is also not
// below the token that a new key would get now, so that the token does not fall if the record is deleted and the key begins anew.
func (a *acquisition) fenceAfter(old *record.Stored) int64 {
	return max(*old.Fence+1, firstFence(a.last))
}

// putInPlace writes a whole new record in the place of one that is past its retention. It returns the record if an earlier try of this
// call wrote it, and errChanged if another worker has claimed or completed the key, or Time to Live has deleted the record.
func (a *acquisition) putInPlace(
	ctx context.Context, p retry.Policy, old *record.Stored, build func() item,
) (own *record.Stored, err error) {
	s := a.store

	err = s.retry(ctx, a.key, p, func(ctx context.Context) error {
		out, err := s.api.PutItem(ctx, a.put(old, build()), sdkOptions...)
		if err == nil && len(out.Attributes) == 0 {
			err = retry.ErrNoContent
		}

		return err
	})

	found, ok := retry.Refusal(err)
	if !ok {
		return nil, s.explain(err)
	}

	if rec, err := record.Read(found, s.opts.TTLAttribute); err == nil && rec.IsOwn(a.token) {
		return rec, nil
	}

	return nil, errChanged
}

func (a *acquisition) put(old *record.Stored, stored item) *dynamodb.PutItemInput {
	return &dynamodb.PutItemInput{
		TableName:                &a.store.table,
		Item:                     stored,
		ConditionExpression:      new(condRecreate),
		ExpressionAttributeNames: a.store.expr.nameOfExp,
		ExpressionAttributeValues: item{
			":own":   record.Text(*old.Token),
			":fence": record.Number(*old.Fence),
			":exp":   record.Number(old.Expires),
		},
		ReturnValues:                        types.ReturnValueAllOld,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// markFailed ends a key for good if its lease is over and it may not be taken over.
func (a *acquisition) markFailed(ctx context.Context, p retry.Policy, rec *record.Stored) error {
	cause := a.failureCause(rec)
	if cause == "" {
		return keyError("claim", a.key, errChanged)
	}

	found, err := a.store.fenced(ctx, nil, a.key, p, func() write { return a.buildFailure(rec, cause) })

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

// failureCause says why a record whose lease is over may not be taken over. It returns "" if it may be taken over.
func (a *acquisition) failureCause(rec *record.Stored) string {
	opts := &a.store.opts

	switch {
	case opts.NoTakeover && *rec.Lease != 0:
		return record.Cause("the lease of attempt "+strconv.Itoa(rec.Attempts)+" ran out: outcome unknown, not taken over", rec.Error)
	case opts.MaxAttempts > 0 && rec.Attempts >= opts.MaxAttempts:
		return record.Cause("attempts used up", rec.Error)
	default:
		return ""
	}
}

// buildFailure returns the write that ends the key with this cause, as long as the record is as it was seen.
func (a *acquisition) buildFailure(rec *record.Stored, cause string) write {
	now := a.store.stamp(a.deadline)

	return write{a.partition, condMarkFailed, updateFail, item{
		":mine": record.Text(*rec.Token), ":fence": record.Number(*rec.Fence), ":inprogress": inProgressValue,
		":seen": record.Number(*rec.Lease), ":failed": failedValue,
		":exp": record.Number(a.store.expiry(now.now, now.lease)), ":err": record.Text(cause),
	}}
}
