package idemddb

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/internal/planner"
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/record"
)

// secondRequestError is a refusal after which a second request must write the record: the record is past its retention, or its
// lease is over.
type secondRequestError struct {
	found     *record.Stored
	isExpired bool
}

func (*secondRequestError) Error() string {
	return "the record must be replaced or failed by a second request"
}

// follow makes the second request that a secondRequestError asks for. recreate is called for a record past its retention.
func (a *acquisition) follow(ctx context.Context, p planner.Policy, recreate func(context.Context, planner.Policy, *record.Stored)) {
	second, ok := errors.AsType[*secondRequestError](a.err)
	if !ok {
		return
	}

	a.err = nil

	if second.isExpired {
		recreate(ctx, p, second.found)
	} else {
		a.err = a.markFailed(ctx, p, second.found)
	}
}

// recreate claims a record past its retention by a whole new record in its place.
func (a *acquisition) recreate(ctx context.Context, p planner.Policy, old *record.Stored) {
	own, err := a.putInPlace(ctx, p, func() *dynamodb.PutItemInput {
		a.Last = a.Stamp()

		return a.store.records.ClaimAnew(&a.Claimant, a.Last, old)
	})

	switch {
	case err != nil:
		a.err = keyError("claim", a.key, err)
	case own != nil:
		a.conclude(a.store.records.ReadFound(a.LastTry(), own))
	default:
		a.makeClaim(protocol.ClaimAnswer{Held: a.ClaimedAnew(old, a.Last), Lease: a.Last.Lease})
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

// putInPlace writes a whole new record in the place of one that is past its retention. It returns the record if an earlier try of
// this call wrote it, and ErrChanged if another worker has claimed or completed the key, or Time to Live has deleted the record.
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
		return s.records.GiveUp(a.Partition, rec, a.Stamp(), cause)
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
