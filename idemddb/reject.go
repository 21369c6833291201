package idemddb

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/engine"
	"github.com/idemddb/go-idemddb/internal/panicerror"
	"github.com/idemddb/go-idemddb/internal/planner"
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/record"
)

// reject writes down that the work of a commit ran and did not succeed. It returns the acquisition of that write, whose record or
// committed is set if the key is completed, and the error of the write. It has the owner token of the commit, so that it
// recognises a record that an earlier try of the commit wrote, and a late try of the commit is refused for as long as nobody else
// has claimed the key.
//
// Work that failed for good is claimed and then failed. Failing ends the key, so it must be fenced as every other write that ends
// one: a late request of it must not end the key again that an operator has reopened. What a late request of the claim can do
// stands beside condClaim.
func (c *committing) reject(ctx context.Context, cause error) (*acquisition, error) {
	a := c.acquisition
	a.caller.Group = nil

	if a.store.opts.Trace != nil {
		a.askTrace(ctx)
	}

	write, p, cancel := engine.SettleContext(ctx, c.store.opts.Lease)
	defer cancel()

	if panicerror.IsPermanent(cause) {
		a.repeatWhileChanged(write, &p, func() { a.sendClaim(write, &p) })
	} else {
		r := &rejecting{call: &a, cause: record.CauseOf(cause)}
		a.repeatWhileChanged(write, &p, func() { r.run(write, p) })
	}

	a.useRecord(write)

	switch {
	case a.claim != nil:
		return &a, a.claim.Fail(ctx, cause)
	case a.record == nil && a.committed == nil && a.err == nil:
		c.store.opts.Observe(ctx, Event{Kind: KindReleased, Key: a.key, Err: cause})
	}

	return &a, a.err
}

// rejecting is the write of a run that may be repeated. Its request is that of a claim with another update, and its answer is no
// claim.
type rejecting struct {
	call  *acquisition
	cause string
}

// Request returns the rejection as a request of its own.
func (r *rejecting) Request() protocol.Request {
	a := r.call
	a.Last = a.Stamp()

	return protocol.Request{Update: a.store.records.Update(a.store.records.Reject(&a.Claimant, a.Last, r.cause), types.ReturnValueAllNew)}
}

// Read takes the answer. A record that an earlier try of this call wrote is a success.
func (r *rejecting) Read(answer protocol.Answer) (protocol.Step, error) {
	a := r.call

	rec, err := record.Read(answer.Item, a.store.opts.TTLAttribute)
	if err == nil && rec.IsOwn(a.Token) && a.store.records.ReadFound(a.LastTry(), answer.Item).Verdict != protocol.Committed {
		a.Answer = protocol.ClaimAnswer{} // neither a claim nor a record that stands in the way

		return protocol.Done, nil
	}

	return a.Read(answer)
}

// run writes the record.
func (r *rejecting) run(ctx context.Context, p planner.Policy) {
	a := r.call
	if err := a.store.engine.Send(ctx, a.write(p, r)); err != nil {
		a.err = keyError("reject", a.key, a.store.explain(err))

		return
	}

	a.conclude(a.Answer)
	a.claim = nil // not even for an answer that shows another record: reject would end the key for good
	a.follow(ctx, p, r.rejectAnew)
}

// rejectAnew writes a whole new record in the place of one that is past its retention: it must stand there before the key counts
// as failed, so that it refuses a late request of the commit.
func (r *rejecting) rejectAnew(ctx context.Context, p planner.Policy, old *record.Stored) {
	a := r.call
	put := a.store.records.RejectAnew(&a.Claimant, a.Last, old, r.cause)

	if _, err := a.putInPlace(ctx, p, func() *dynamodb.PutItemInput { return put }); err != nil {
		a.err = keyError("reject", a.key, err)
	}
}
