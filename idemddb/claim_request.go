package idemddb

import (
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// stamp is the time of one try and the end of the lease that it asks for.
type stamp struct {
	now   time.Time
	lease time.Time
}

// stamp reads the clock for one try. The lease is measured from before the request is sent, so the holder never trusts it for longer
// than the record says. What is left until the deadline is a duration, so its clock and Options.Now are never compared.
func (s *Store) stamp(deadline time.Time) stamp {
	lease := s.opts.Lease
	if !deadline.IsZero() {
		lease = max(0, min(lease, time.Until(deadline)))
	}

	now := s.opts.Now()

	return stamp{now: now, lease: time.UnixMilli(now.Add(lease).UnixMilli())}
}

// single is the claim as a request of its own.
func (a *acquisition) single() *dynamodb.UpdateItemInput {
	s := a.store
	set := updateClaim + s.traced(updateSetTrace+updateKeepTrace)
	a.last = s.stamp(a.deadline)

	condition, update := &s.expr.claim, set+updateDropFP
	if a.fingerprint != "" {
		condition, update = &s.expr.claimFP, set+updateSetFP
	}

	values := a.values()
	values[":nowms"] = numberValue(a.last.now.UnixMilli())

	if s.opts.Trace != nil {
		values[":notrace"] = noTraceValue
	}

	return &dynamodb.UpdateItemInput{
		TableName:                           &s.table,
		Key:                                 s.key(a.partition),
		ConditionExpression:                 condition,
		UpdateExpression:                    &update,
		ExpressionAttributeNames:            s.expr.names,
		ExpressionAttributeValues:           values,
		ReturnValues:                        types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// statement is the claim as one statement of a shared request.
func (a *acquisition) statement() types.BatchStatementRequest {
	s := a.store
	again := updateAgain + s.traced(updateSetTrace+updateKeepTraceAgain)
	a.last = s.stamp(a.deadline)

	switch {
	case a.insert:
		return s.insertion(a.newRecord(firstFence(a.last)), a.fingerprint != "")
	case a.fingerprint != "":
		return write{a.partition, s.expr.againFP, again + updateSetFP, a.values()}.statement(s)
	default:
		return write{a.partition, s.expr.again, again + updateDropFP, a.values()}.statement(s)
	}
}

func (a *acquisition) values() item {
	s := a.store
	values := item{
		":v":          versionValue,
		":inprogress": inProgressValue,
		":zero":       zeroValue,
		":one":        oneValue,
		":mine":       stringValue(a.token),
		":nowsec":     numberValue(a.last.now.Unix()),
		":lease":      numberValue(a.last.lease.UnixMilli()),
		":exp":        numberValue(s.expiry(a.last.now, a.last.lease)),
		":dead":       numberValue(a.last.now.Add(-s.opts.ClockSkew).UnixMilli()),
	}

	if s.opts.MaxAttempts > 0 {
		values[":max"] = numberValue(int64(s.opts.MaxAttempts))
	}

	if a.fingerprint != "" {
		values[":fp"] = stringValue(a.fingerprint)
		values[":fpver"] = fingerprintVersionValue
	}

	if s.opts.Trace != nil {
		values[":trace"] = stringValue(a.trace)
	}

	return values
}

// newRecord is the item of a new record of this claim.
func (a *acquisition) newRecord(fence int64) item {
	s := a.store
	record := s.key(a.partition)
	record[attrVersion] = versionValue
	record[attrState] = inProgressValue
	record[attrToken] = stringValue(a.token)
	record[attrFence] = numberValue(fence)
	record[attrPrevious] = zeroValue
	record[attrLease] = numberValue(a.last.lease.UnixMilli())
	record[attrAttempts] = oneValue
	record[attrBorn] = numberValue(a.last.now.UnixMilli())
	record[s.opts.TTLAttribute] = numberValue(s.expiry(a.last.now, a.last.lease))

	if a.fingerprint != "" {
		record[attrFingerprint] = stringValue(a.fingerprint)
	}

	if s.opts.Trace != nil {
		record[attrTrace] = stringValue(a.trace)
		record[attrPrevTrace] = noTraceValue
	}

	return record
}

// firstFence is the fencing token of a new record.
func firstFence(t stamp) int64 { return t.now.UnixMilli() + 1 }

// read takes the answer to the last try.
func (a *acquisition) read(r response) (step, error) {
	if r.err == nil {
		return a.won(r)
	}

	_, duplicate := errors.AsType[*types.DuplicateItemException](r.err)
	found, isRefused := refusedItem(r.err)

	switch {
	case (duplicate || isRefused && found == nil) && r.shared: // there is a record after all, or there is none
		if a.turns++; a.turns == maxTurns {
			return goSingle, nil
		}

		a.insert = !duplicate

		return sendOther, nil
	case isRefused && found == nil:
		a.err = keyError("claim", a.key, fmt.Errorf("%w: %w", errChanged, r.err))

		return answered, nil
	case isRefused:
		a.conflict(found)

		return answered, nil
	default:
		return sendAgain, r.err
	}
}

// won reads the answer to a claim that was applied. A claim with a wrong fencing token could never be completed, so an answer from
// which the token does not follow is not accepted.
func (a *acquisition) won(r response) (step, error) {
	switch {
	case r.shared && a.insert:
		a.take(firstFence(a.last), 1, false, a.last.lease)

		return answered, nil
	case len(r.item) == 0 && r.shared:
		return goSingle, nil
	case len(r.item) == 0:
		return sendAgain, errNoContent
	}

	rec, err := a.store.decode(r.item)

	switch {
	case err != nil && r.shared: // the record as it was cannot be read; as it is now, it perhaps can
		return goSingle, nil
	case err != nil:
		a.err = keyError("claim", a.key, err)
	case r.shared: // the item as it was before
		a.take(*rec.Fence+1, rec.Attempts+1, *rec.Lease != 0, a.last.lease)
		a.takenFrom(rec.Trace)
	default:
		a.take(*rec.Fence, rec.Attempts, rec.Previous != 0, rec.until())
		a.takenFrom(rec.PreviousTrace)
	}

	return answered, nil
}

func (a *acquisition) take(fence int64, attempt int, takeover bool, lease time.Time) {
	a.claim = &Claim{
		store: a.store, key: a.key, partition: a.partition, token: a.token, fingerprint: a.fingerprint,
		fence: fence, attempt: attempt, takeover: takeover, skipResult: a.skipResult, lease: lease, trace: a.trace,
		staging: staging{store: a.store, key: a.key, partition: a.partition},
	}
}

func (a *acquisition) event() Event {
	e := Event{Key: a.key, Err: a.err}

	switch {
	case a.claim != nil:
		e.Kind, e.Fence, e.Attempt = Claimed, a.claim.fence, a.claim.attempt
		if a.claim.takeover {
			e.Kind, e.Trace = Takeover, a.claim.takenFrom
		}
	case errors.Is(a.err, errUnread):
		e.Kind = Replayed
	case a.record != nil:
		e.Kind, e.Fence, e.Attempt, e.Trace = Replayed, a.record.Fence, a.record.Attempts, a.record.Trace
	case errors.Is(a.err, ErrInProgress):
		e.Kind = InProgress
	case errors.Is(a.err, ErrMismatch):
		e.Kind = Mismatch
	case errors.Is(a.err, ErrFailed):
		e.Kind = Refused
	case errors.Is(a.err, ErrCorrupt):
		e.Kind = Corrupt
	default:
		e.Kind = Unanswered
	}

	return e
}
