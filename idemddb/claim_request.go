package idemddb

import (
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/groupcommit"
	"github.com/idemddb/go-idemddb/internal/record"
	"github.com/idemddb/go-idemddb/internal/retry"
)

// Input returns the claim as a request of its own.
func (a *acquisition) Input() *dynamodb.UpdateItemInput {
	return a.claiming().input(a.store, types.ReturnValueAllNew)
}

// Statement returns the claim as one statement of a shared request.
func (a *acquisition) Statement() types.BatchStatementRequest {
	s := a.store
	a.last = s.stamp(a.deadline)

	if a.insert {
		return a.insertion()
	}

	return write{a.partition, s.expr.again.of(a.fingerprint), s.expr.setAgain.of(a.fingerprint), a.values()}.statement(s)
}

// Read takes the answer to the last try.
func (a *acquisition) Read(answer groupcommit.Answer) (groupcommit.Step, error) {
	if answer.Err == nil {
		return a.won(answer)
	}

	_, duplicate := errors.AsType[*types.DuplicateItemException](answer.Err)
	found, isRefused := retry.Refusal(answer.Err)

	switch {
	case (duplicate || isRefused && found == nil) && answer.Shared: // there is a record after all, or there is none
		if a.turns++; a.turns == maxTurns {
			return groupcommit.SendSingle, nil
		}

		a.insert = !duplicate

		return groupcommit.SendOther, nil
	case isRefused && found == nil:
		a.err = keyError("claim", a.key, fmt.Errorf("%w: %w", errChanged, answer.Err))

		return groupcommit.Answered, nil
	case isRefused:
		a.conflict(found)

		return groupcommit.Answered, nil
	default:
		return groupcommit.SendAgain, answer.Err
	}
}

// claiming returns the write that claims the key, whether there is a record or not, with the present time.
func (a *acquisition) claiming() write {
	s := a.store
	a.last = s.stamp(a.deadline)

	values := a.values()
	values[":nowms"] = record.Number(a.last.now.UnixMilli())

	if s.opts.Trace != nil {
		values[":notrace"] = noTraceValue
	}

	return write{a.partition, s.expr.claim.of(a.fingerprint), s.expr.setClaim.of(a.fingerprint), values}
}

// insertion returns the statement that creates the record if there is none.
func (a *acquisition) insertion() types.BatchStatementRequest {
	st := a.store.expr.insert.of(a.fingerprint)
	stored := a.newRecord(firstFence(a.last))

	parameters := make([]types.AttributeValue, len(st.Parameters))
	for i, name := range st.Parameters {
		parameters[i] = stored[name]
	}

	return types.BatchStatementRequest{Statement: &st.Text, Parameters: parameters}
}

// values returns the values for the placeholders that both forms of the claim use: the single request and the statement.
func (a *acquisition) values() item {
	s := a.store
	values := item{
		":v":          versionValue,
		":inprogress": inProgressValue,
		":zero":       zeroValue,
		":one":        oneValue,
		":mine":       record.Text(a.token),
		":nowsec":     record.Number(a.last.now.Unix()),
		":lease":      record.Number(a.last.lease.UnixMilli()),
		":exp":        record.Number(s.expiry(a.last.now, a.last.lease)),
		":dead":       record.Number(a.last.now.Add(-s.opts.ClockSkew).UnixMilli()),
	}

	if s.opts.MaxAttempts > 0 {
		values[":max"] = record.Number(int64(s.opts.MaxAttempts))
	}

	if a.fingerprint != "" {
		values[":fp"] = record.Text(a.fingerprint)
		values[":fpver"] = fingerprintVersionValue
	}

	if s.opts.Trace != nil {
		values[":trace"] = record.Text(a.trace)
	}

	return values
}

// newRecord returns the item of a new record of this claim.
func (a *acquisition) newRecord(fence int64) item {
	s := a.store
	stored := s.key(a.partition)
	stored[record.Version] = versionValue
	stored[record.State] = inProgressValue
	stored[record.Token] = record.Text(a.token)
	stored[record.Fence] = record.Number(fence)
	stored[record.Previous] = zeroValue
	stored[record.Took] = zeroValue
	stored[record.Lease] = record.Number(a.last.lease.UnixMilli())
	stored[record.Attempts] = oneValue
	stored[record.Born] = record.Number(a.last.now.UnixMilli())
	stored[s.opts.TTLAttribute] = record.Number(s.expiry(a.last.now, a.last.lease))

	if a.fingerprint != "" {
		stored[record.Fingerprint] = record.Text(a.fingerprint)
	}

	if s.opts.Trace != nil {
		stored[record.Trace] = record.Text(a.trace)
		stored[record.PrevTrace] = noTraceValue
	}

	if s.opts.NoTakeover {
		stored[record.NoTakeover] = oneValue
	}

	return stored
}

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

// won reads the answer to a claim that was applied. A claim with a wrong fencing token could never be completed, so an answer from
// which the token does not follow is not accepted.
func (a *acquisition) won(answer groupcommit.Answer) (groupcommit.Step, error) {
	switch {
	case answer.Shared && a.insert:
		a.keepClaim(firstFence(a.last), 1, 0, a.last.lease)

		return groupcommit.Answered, nil
	case len(answer.Item) == 0 && answer.Shared:
		return groupcommit.SendSingle, nil
	case len(answer.Item) == 0:
		return groupcommit.SendAgain, retry.ErrNoContent
	}

	rec, err := record.Read(answer.Item, a.store.opts.TTLAttribute)

	switch {
	case err != nil && answer.Shared: // a statement returns the old item, which cannot be read; a single request returns the new one
		return groupcommit.SendSingle, nil
	case err != nil:
		a.err = keyError("claim", a.key, err)
	case answer.Shared: // the item is as it was before the claim
		a.keepClaim(*rec.Fence+1, rec.Attempts+1, *rec.Lease, a.last.lease)
		a.takenFrom(rec.Trace)
	default:
		a.keepClaim(*rec.Fence, rec.Attempts, rec.Previous, rec.Until())
		a.takenFrom(rec.PreviousTrace)
	}

	return groupcommit.Answered, nil
}

// keepClaim keeps the claim that was won. prev is the lease that it found. Its lease is short if the answer came late, after an outage or in a frozen process.
func (a *acquisition) keepClaim(fence int64, attempt int, prev int64, lease time.Time) {
	a.claim = &Claim{
		store: a.store, key: a.key, partition: a.partition, token: a.token, fingerprint: a.fingerprint,
		fence: fence, attempt: attempt, prev: prev, skipResult: a.skipResult, lease: lease, trace: a.trace,
		staging: staging{store: a.store, key: a.key, partition: a.partition},
	}

	now := a.store.stamp(a.deadline)
	a.isShort = lease.Sub(now.now) < now.lease.Sub(now.now)/2
}

// takenFrom keeps the traceparent that the claim before had, if the claim is a takeover.
func (a *acquisition) takenFrom(trace string) {
	if a.store.opts.Trace != nil && a.claim != nil && a.claim.Takeover() {
		a.claim.takenFrom = trace
	}
}

// firstFence returns the fencing token of a new record.
func firstFence(t stamp) int64 { return t.now.UnixMilli() + 1 }
