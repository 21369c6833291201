package idemddb

import (
	"context"
	"errors"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// renew claims a record past its retention: a whole new one in its place, so that nothing of the old life stays.
func (c *claimCall) renew(ctx context.Context, old *storedRecord) (*Claim, error) {
	s := c.store

	var (
		last  attempted
		fence int64
	)

	_, err := send(ctx, s, c.key, func(actx context.Context) (*dynamodb.PutItemOutput, error) {
		last = s.attempt(ctx)
		fence = max(*old.Fence, last.now.UnixMilli()) + 1

		return s.api.PutItem(actx, c.put(old, fence, last), once...)
	})
	if err == nil {
		return c.claim(fence, 1, false, last.lease), nil
	}

	found, ok := refusedItem(err)
	if !ok {
		return nil, keyError("claim", c.key, s.explain(err))
	}

	if rec, err := s.decode(found); err == nil && rec.isOwn(c.token) {
		return c.own(rec)
	}

	// Somebody else claimed it, completed it, or Time to Live deleted it: look again.
	return nil, keyError("claim", c.key, errAgain)
}

func (c *claimCall) put(old *storedRecord, fence int64, a attempted) *dynamodb.PutItemInput {
	s := c.store

	return &dynamodb.PutItemInput{
		TableName:                &s.table,
		Item:                     c.record(fence, a),
		ConditionExpression:      new(condRenew),
		ExpressionAttributeNames: s.expr.nameOfExp,
		ExpressionAttributeValues: item{
			":own":   stringValue(*old.Token),
			":fence": numberValue(*old.Fence),
			":exp":   numberValue(old.Expires),
		},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// giveUp answers for a lease that is over and still may not be taken: it ends the key for good.
func (c *claimCall) giveUp(ctx context.Context, rec *storedRecord) error {
	s := c.store

	var cause string

	switch {
	case s.opts.NoTakeover && *rec.Lease != 0:
		cause = joinCause("the lease of attempt "+strconv.Itoa(rec.Attempts)+" ran out: outcome unknown, not taken over", rec.Error)
	case s.opts.MaxAttempts > 0 && rec.Attempts >= s.opts.MaxAttempts:
		cause = joinCause("attempts used up", rec.Error)
	default:
		return keyError("claim", c.key, errAgain)
	}

	found, err := c.store.fenced(ctx, nil, c.key, func() write {
		a := s.attempt(ctx)

		return write{c.partition, condGiveUp, updateFail, item{
			":mine": stringValue(*rec.Token), ":fence": numberValue(*rec.Fence), ":inprogress": inProgressValue,
			":dead": numberValue(a.now.Add(-s.opts.ClockSkew).UnixMilli()), ":failed": failedValue,
			":exp": numberValue(s.expiry(a.now, a.lease)), ":err": stringValue(cause),
		}}
	})

	switch {
	case err == nil:
		return &FailedError{Key: c.key, Cause: cause, Attempts: rec.Attempts}
	case found != nil && found.State == stateFailed: // another claimant was there before, or an earlier attempt of this one
		return &FailedError{Key: c.key, Cause: found.Error, Attempts: found.Attempts}
	case errors.Is(err, ErrFenced):
		return keyError("claim", c.key, errAgain) // it was released, extended or completed after all
	default:
		return keyError("claim", c.key, err)
	}
}
