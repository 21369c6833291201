package idemddb

import (
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/groupcommit"
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/record"
	"github.com/idemddb/go-idemddb/internal/retry"
)

// Input returns the claim as a request of its own.
func (a *acquisition) Input() *dynamodb.UpdateItemInput {
	a.last = a.store.stamp(a.deadline)

	return a.store.records.Update(a.store.records.Claim(&a.Claimant, a.last), types.ReturnValueAllNew)
}

// Statement returns the claim as one statement of a shared request.
func (a *acquisition) Statement() types.BatchStatementRequest {
	a.last = a.store.stamp(a.deadline)

	return a.store.records.ClaimStatement(&a.Claimant, a.last, a.insert)
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

// stamp reads the clock for one try. The lease is measured from before the request is sent, so the holder never trusts it for longer
// than the record says. What is left until the deadline is a duration, so its clock and Options.Now are never compared.
func (s *Store) stamp(deadline time.Time) protocol.Stamp {
	lease := s.opts.Lease
	if !deadline.IsZero() {
		lease = max(0, min(lease, time.Until(deadline)))
	}

	now := s.opts.Now()

	return protocol.Stamp{Now: now, Lease: time.UnixMilli(now.Add(lease).UnixMilli())}
}

// won reads the answer to a claim that was applied. A claim with a wrong fencing token could never be completed, so an answer from
// which the token does not follow is not accepted.
func (a *acquisition) won(answer groupcommit.Answer) (groupcommit.Step, error) {
	switch {
	case answer.Shared && a.insert:
		a.keepClaim(a.ClaimedNew(a.last), a.last.Lease)

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
		a.keepClaim(a.ClaimedAfter(rec), a.last.Lease)
		a.takenFrom(rec.Trace)
	default:
		a.keepClaim(a.Claimed(rec), rec.Until())
		a.takenFrom(rec.PreviousTrace)
	}

	return groupcommit.Answered, nil
}

// keepClaim keeps the claim that was won. Its lease is short if the answer came late, after an outage or in a frozen process.
func (a *acquisition) keepClaim(held protocol.Held, lease time.Time) {
	a.claim = &Claim{
		store: a.store, key: a.key, held: held, fingerprint: a.Fingerprint, skipResult: a.skipResult, lease: lease, trace: a.Trace,
		staging: staging{store: a.store, key: a.key, partition: a.Partition},
	}

	now := a.store.stamp(a.deadline)
	a.isShort = lease.Sub(now.Now) < now.Lease.Sub(now.Now)/2
}

// takenFrom keeps the traceparent that the claim before had, if the claim is a takeover.
func (a *acquisition) takenFrom(trace string) {
	if a.store.opts.Trace != nil && a.claim != nil && a.claim.Takeover() {
		a.claim.takenFrom = trace
	}
}
