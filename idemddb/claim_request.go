package idemddb

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/wire"
)

// Request returns the claim as a request of its own.
func (a *acquisition) Request() wire.Request {
	a.last = a.store.stamp(a.deadline)

	return wire.Request{Update: a.store.records.Update(a.store.records.Claim(&a.Claimant, a.last), types.ReturnValueAllNew)}
}

// Statement returns the claim as one statement of a shared request.
func (a *acquisition) Statement() types.BatchStatementRequest {
	a.last = a.store.stamp(a.deadline)

	return a.store.records.ClaimStatement(&a.Claimant, a.last, a.insert)
}

// Read takes the answer to the last try.
func (a *acquisition) Read(answer protocol.Answer) (protocol.Step, error) {
	step, meaning := a.store.records.ReadClaim(a.lastTry(), answer)

	switch step {
	case protocol.Done:
		a.keep(meaning)
	case protocol.Again:
		return protocol.Again, answer.Err
	case protocol.Other:
		if a.turns++; a.turns == maxTurns {
			return protocol.Single, nil
		}

		a.insert = answer.Outcome != protocol.Taken
	case protocol.Single:
	}

	return step, nil
}

func (a *acquisition) lastTry() protocol.Try {
	return protocol.Try{Claimant: &a.Claimant, Tx: a.tx, Stamp: a.last, IsNew: a.insert}
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

// keepClaim keeps the claim that was won. Its lease is short if the answer came late, after an outage or in a frozen process.
func (a *acquisition) keepClaim(won protocol.ClaimAnswer) {
	a.claim = &Claim{
		store: a.store, key: a.key, held: won.Held, fingerprint: a.Fingerprint, skipResult: a.skipResult, lease: won.Lease, trace: a.Trace,
		takenFrom: won.TakenFrom, staging: staging{store: a.store, key: a.key, partition: a.Partition},
	}

	now := a.store.stamp(a.deadline)
	a.isShort = won.Lease.Sub(now.Now) < now.Lease.Sub(now.Now)/2
}
