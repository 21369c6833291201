package idemddb

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/planner"
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/record"
)

// Request returns the claim as a request of its own.
func (a *acquisition) Request() protocol.Request {
	a.last = a.store.stamp(a.deadline)

	return protocol.Request{Update: a.store.records.Update(a.store.records.Claim(&a.Claimant, a.last), types.ReturnValueAllNew)}
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

// keep keeps what the answer to the last try means.
func (a *acquisition) keep(answer protocol.ClaimAnswer) {
	rec := answer.Found
	a.refusal = rec

	switch answer.Verdict {
	case protocol.Won:
		a.keepClaim(answer)
	case protocol.Committed:
		a.committed = rec
	case protocol.Withdrawn: // a new token, because no claim is granted to the one in the record
		a.Token, a.err = newToken(rec.Holder()), keyError("claim", a.key, ErrChanged)
	case protocol.PastEnd:
		a.err = &rareError{rec, true}
	case protocol.Mismatch:
		a.err = a.mismatch(rec)
	case protocol.Completed:
		a.answerWith(rec)
	case protocol.Failed:
		a.err = &FailedError{Key: a.key, Cause: rec.Error, Attempts: rec.Attempts}
	case protocol.InUse:
		a.err = a.inProgress(rec)
	case protocol.GivenUp:
		a.err = &rareError{rec, false}
	case protocol.Unreadable:
		a.err = keyError("claim", a.key, answer.Err)
	case protocol.Changed:
		a.err = keyError("claim", a.key, ErrChanged)
		if answer.Err != nil {
			a.err = keyError("claim", a.key, fmt.Errorf("%w: %w", ErrChanged, answer.Err))
		}
	}
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

// answerWith keeps the record of a completed key as the answer.
func (a *acquisition) answerWith(rec *record.Stored) {
	a.record, a.result = answerOf(rec, a.key), rec.Result

	if len(rec.Outbox) > 0 {
		a.unsentRecord = rec
	} else {
		a.store.keepRecord(a.Partition, rec)
	}
}

// mismatch returns the error for a key that was used for another input.
func (a *acquisition) mismatch(rec *record.Stored) error {
	e := &MismatchError{Key: a.key}
	if rec.State == record.Completed {
		e.Record = answerOf(rec, a.key)
		e.Record.Result = nil // it is the answer to another input
	}

	return e
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

// rareError is a refusal after which a second request must write the record: the record is past its retention, or its lease is over.
type rareError struct {
	found     *record.Stored
	isExpired bool
}

func (*rareError) Error() string { return "the record must be replaced or failed by a second request" }

// follow makes the second request that a rareError asks for. recreate is called for a record past its retention.
func (a *acquisition) follow(ctx context.Context, p planner.Policy, recreate func(context.Context, planner.Policy, *record.Stored)) {
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
func (a *acquisition) recreate(ctx context.Context, p planner.Policy, old *record.Stored) {
	own, err := a.putInPlace(ctx, p, func() *dynamodb.PutItemInput {
		a.last = a.store.stamp(a.deadline)

		return a.store.records.ClaimAnew(&a.Claimant, a.last, old)
	})

	switch {
	case err != nil:
		a.err = keyError("claim", a.key, err)
	case own != nil:
		a.keep(a.store.records.ReadFound(a.lastTry(), own))
	default:
		a.keepClaim(protocol.ClaimAnswer{Held: a.ClaimedAnew(old, a.last), Lease: a.last.Lease})
	}
}

// replacing is the write of a whole new record in the place of one that is past its retention.
type replacing struct {
	build  func() *dynamodb.PutItemInput // anew for each try
	answer protocol.Answer               // to the last try
}

// Request implements [engine.Operation].
func (r *replacing) Request() protocol.Request { return protocol.Request{Put: r.build()} }

// Read implements [engine.Operation].
func (r *replacing) Read(answer protocol.Answer) (protocol.Step, error) {
	if r.answer = answer; answer.Outcome == protocol.Applied || answer.Outcome == protocol.Refused {
		return protocol.Done, nil
	}

	return protocol.Again, answer.Err
}

// putInPlace writes a whole new record in the place of one that is past its retention. It returns the record if an earlier try of this
// call wrote it, and ErrChanged if another worker has claimed or completed the key, or Time to Live has deleted the record.
func (a *acquisition) putInPlace(
	ctx context.Context, p planner.Policy, build func() *dynamodb.PutItemInput,
) (own item, err error) {
	put := &replacing{build: build}

	if err := a.store.engine.Send(ctx, a.write(p, put)); err != nil {
		return nil, a.store.explain(err)
	}

	if put.answer.Outcome == protocol.Applied {
		return nil, nil //nolint:nilnil // neither: it is written
	}

	if rec, err := record.Read(put.answer.Item, a.store.opts.TTLAttribute); err == nil && rec.IsOwn(a.Token) {
		return put.answer.Item, nil
	}

	return nil, ErrChanged
}

// markFailed ends a key for good if its lease is over and it may not be taken over.
func (a *acquisition) markFailed(ctx context.Context, p planner.Policy, rec *record.Stored) error {
	s, cause := a.store, a.store.records.GiveUpCause(rec)

	found, err := s.fenced(ctx, a.write(p, nil), func() protocol.Write {
		return s.records.GiveUp(a.Partition, rec, s.stamp(a.deadline), cause)
	})

	switch {
	case err == nil:
		return &FailedError{Key: a.key, Cause: cause, Attempts: rec.Attempts}
	case found != nil && found.State == record.Failed: // by another claimant, or by an earlier try of this call
		return &FailedError{Key: a.key, Cause: found.Error, Attempts: found.Attempts}
	case errors.Is(err, ErrFenced):
		return keyError("claim", a.key, ErrChanged) // it was released, extended or completed after all
	default:
		return keyError("claim", a.key, err)
	}
}
