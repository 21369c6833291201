package idemddb

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/internal/record"
	"github.com/idemddb/go-idemddb/internal/groupcommit"
	"github.com/idemddb/go-idemddb/internal/retry"
)

// reject writes down that work without a claim ran and did not succeed, under the condition of a claim: the key is released, with one
// attempt more, or ended for good. It returns what the record says if it refuses: the record of a completed key, or the error of a claim.
func (s *Store) reject(ctx context.Context, key string, opts *ClaimOptions, cause error) (*Record, error) {
	a, err := s.newAcquisition(ctx, nil, key, opts)
	if err != nil {
		return nil, keyError("reject", key, err)
	}

	r := &rejecting{a, record.CauseOf(cause), isPermanent(cause)}
	a.askTrace(ctx)

	write, p, cancel := s.settleContext(ctx)
	defer cancel()

	a.repeatWhileChanged(write, p, func() { r.run(write, p) })
	a.useRecord(write)

	if a.record == nil && a.err == nil {
		kind := Released
		if r.permanent {
			kind = Failed
		}

		s.opts.Observe(ctx, Event{Kind: kind, Key: key, Err: cause})
	}

	return a.record, a.err
}

// rejecting is one call of reject. Its request is that of a claim with another update, and its answer is no claim.
type rejecting struct {
	claim     *acquisition
	cause     string
	permanent bool
}

// Input returns the rejection as a request of its own. It is the claim with another update: the record has no lease, and its retention
// begins now.
func (r *rejecting) Input() *dynamodb.UpdateItemInput {
	a := r.claim
	w := a.claiming()
	w.values[":err"] = record.Text(r.cause)
	w.values[":state"] = r.state()
	w.values[":exp"] = record.Number(a.store.expiry(a.last.now, a.last.now))
	delete(w.values, ":lease")
	delete(w.values, ":notrace")

	w.update = updateReject + a.store.expr.setTrace + updateDropFP
	if a.fingerprint != "" {
		w.update = updateReject + a.store.expr.setTrace + updateSetFP
	}

	return w.input(a.store, types.ReturnValueAllNew)
}

// Read takes the answer. A record that an earlier try of this call wrote is a success.
func (r *rejecting) Read(answer groupcommit.Answer) (groupcommit.Step, error) {
	a := r.claim

	if found, ok := retry.Refusal(answer.Err); ok && found != nil {
		if rec, err := record.Read(found, a.store.opts.TTLAttribute); err == nil && rec.IsOwn(a.token) {
			return groupcommit.Answered, nil
		}
	}

	step, err := a.Read(answer)
	a.claim = nil

	return step, err
}

// run writes the record.
func (r *rejecting) run(ctx context.Context, p retry.Policy) {
	a := r.claim
	if err := a.store.sendSingle(ctx, a.key, p, r); err != nil {
		a.err = keyError("reject", a.key, a.store.explain(err))

		return
	}

	a.follow(ctx, p, r.rejectAnew)
}

// rejectAnew writes a whole new record in the place of one that is past its retention: it must stand there before the key counts as failed,
// so that it refuses a late request of the commit.
func (r *rejecting) rejectAnew(ctx context.Context, p retry.Policy, old *record.Stored) {
	a := r.claim
	stored := a.newRecord(a.fenceAfter(old))
	stored[record.State], stored[record.Error], stored[record.Lease] = r.state(), record.Text(r.cause), zeroValue
	stored[a.store.opts.TTLAttribute] = record.Number(a.store.expiry(a.last.now, a.last.now))

	if _, err := a.putInPlace(ctx, p, old, func() item { return stored }); err != nil {
		a.err = keyError("reject", a.key, err)
	}
}

// state returns the state that the record has after the rejection.
func (r *rejecting) state() types.AttributeValue {
	if r.permanent {
		return failedValue
	}

	return inProgressValue
}
