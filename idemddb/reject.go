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

	r := &rejecting{*a, record.CauseOf(cause), isPermanent(cause)}
	r.askTrace(ctx)

	write, p, cancel := s.settleContext(ctx)
	defer cancel()

	r.repeat(write, p, func() { r.run(write, p) })
	r.useRecord(write)

	if r.record == nil && r.err == nil {
		kind := Released
		if r.permanent {
			kind = Failed
		}

		s.opts.Observe(ctx, Event{Kind: kind, Key: key, Err: cause})
	}

	return r.record, r.err
}

// rejecting is one call of reject: an acquisition whose request has another update, and whose answer is no claim.
type rejecting struct {
	acquisition

	cause     string
	permanent bool
}

// Input returns the rejection as a request of its own. It is the claim with another update: the record has no lease, and its retention
// begins now.
func (r *rejecting) Input() *dynamodb.UpdateItemInput {
	w := r.claiming()
	w.values[":err"] = record.Text(r.cause)
	w.values[":state"] = r.state()
	w.values[":exp"] = record.Number(r.store.expiry(r.last.now, r.last.now))
	delete(w.values, ":lease")
	delete(w.values, ":notrace")

	w.update = updateReject + r.store.expr.setTrace + updateDropFP
	if r.fingerprint != "" {
		w.update = updateReject + r.store.expr.setTrace + updateSetFP
	}

	return w.input(r.store, types.ReturnValueAllNew)
}

// Read takes the answer. A record that an earlier try of this call wrote is a success.
func (r *rejecting) Read(answer groupcommit.Answer) (groupcommit.Step, error) {
	if found, ok := retry.Refusal(answer.Err); ok && found != nil {
		if rec, err := r.store.decode(found); err == nil && rec.IsOwn(r.token) {
			return groupcommit.Answered, nil
		}
	}

	does, err := r.acquisition.Read(answer)
	r.claim = nil

	return does, err
}

// run writes the record.
func (r *rejecting) run(ctx context.Context, p retry.Policy) {
	if err := r.store.send(ctx, nil, r.key, p, r); err != nil {
		r.err = keyError("reject", r.key, r.store.explain(err))

		return
	}

	r.follow(ctx, p, r.rejectAnew)
}

// rejectAnew writes a whole new record in the place of one that is past its retention: it must stand there before the key counts as failed,
// so that it refuses a late request of the commit.
func (r *rejecting) rejectAnew(ctx context.Context, p retry.Policy, old *record.Stored) {
	stored := r.newRecord(r.fenceAfter(old))
	stored[record.State], stored[record.Error], stored[record.Lease] = r.state(), record.Text(r.cause), zeroValue
	stored[r.store.opts.TTLAttribute] = record.Number(r.store.expiry(r.last.now, r.last.now))

	if _, err := r.putInPlace(ctx, p, old, func() item { return stored }); err != nil {
		r.err = keyError("reject", r.key, err)
	}
}

// state returns the state that the record has after the rejection.
func (r *rejecting) state() types.AttributeValue {
	if r.permanent {
		return failedValue
	}

	return inProgressValue
}
