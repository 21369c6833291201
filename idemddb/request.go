package idemddb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/idemddb/go-idemddb/internal/engine"
	"github.com/idemddb/go-idemddb/internal/planner"
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/record"
	"github.com/idemddb/go-idemddb/internal/wire"
)

// fencedWrite is a write after the claim.
type fencedWrite struct {
	store *Store
	build func() protocol.Write // anew for each try

	found   *record.Stored // the record for which the condition was false
	refusal error          // ErrFenced
	unknown bool           // a try had no answer, so it may have been applied
}

// Request implements [engine.Operation]. It asks for the updated attributes only, because a completed record may be large.
func (f *fencedWrite) Request() wire.Request {
	return wire.Request{Update: f.store.records.Update(f.build(), types.ReturnValueUpdatedNew)}
}

// Statement implements [engine.Sharer].
func (f *fencedWrite) Statement() types.BatchStatementRequest {
	return f.store.records.Statement(f.build())
}

// Read implements [engine.Operation].
func (f *fencedWrite) Read(answer protocol.Answer) (protocol.Step, error) {
	switch answer.Outcome { //nolint:exhaustive // the others are sent again
	case protocol.Applied:
		return protocol.Done, nil
	case protocol.Refused:
		f.refuse(answer.Item)

		return protocol.Done, nil
	}

	f.unknown = f.unknown || answer.Outcome == protocol.Unknown

	return protocol.Again, answer.Err
}

// refuse keeps that the condition was false, and for which record. found is nil if the item is gone.
func (f *fencedWrite) refuse(found item) {
	f.refusal = ErrFenced
	if found == nil {
		return
	}

	rec, err := record.Read(found, f.store.opts.TTLAttribute)
	if err != nil {
		f.refusal = fmt.Errorf("%w: %w", ErrFenced, err)

		return
	}

	f.found = rec
}

// fenced sends a write after the claim. If its condition is false, fenced returns ErrFenced and the stored record, or nil if the item
// is gone.
func (s *Store) fenced(ctx context.Context, w engine.Write, build func() protocol.Write) (*record.Stored, error) {
	f := &fencedWrite{store: s, build: build}
	err := f.send(ctx, w)

	return f.found, err
}

// send is [Store.fenced] for a caller who also asks what is known of the tries.
func (f *fencedWrite) send(ctx context.Context, w engine.Write) error {
	w.Operation = f
	if err := f.store.engine.Send(ctx, w); err != nil {
		return f.store.explain(err)
	}

	return f.refusal
}

const (
	claimCap  = time.Second            // the longest pause between the tries of a claim
	settleCap = 200 * time.Millisecond // the same for a write that settles finished work: each pause is a window for a crash
)

// explain adds to an answer that points to a wrong configuration what should be checked.
func (s *Store) explain(err error) error {
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return err
	}

	switch api.ErrorCode() {
	case "ResourceNotFoundException":
		return fmt.Errorf("table %q is missing in this account and Region: %w", s.table, err)
	case "AccessDeniedException":
		return fmt.Errorf("table %q: access denied; the role needs dynamodb:UpdateItem and dynamodb:PutItem: %w", s.table, err)
	case "ValidationException":
		return fmt.Errorf("table %q: request not valid; is the table's key Options.PartitionKey %q, Options.SortKey %q, of type S: %w",
			s.table, s.opts.PartitionKey, s.opts.SortKey, err)
	default:
		return err
	}
}

// settleTime is the least time for a write that settles a claim outside of a wrapper.
const settleTime = 2 * time.Second

// settleContext returns the context and the policy for a write that settles finished work. The context keeps ctx's values, but not its
// end: that the work was cancelled must not keep its record from being written. The write outlasts an IAM policy that takes time to
// propagate; for a claim, a denial is final.
func (s *Store) settleContext(ctx context.Context) (context.Context, planner.Policy, context.CancelFunc) {
	end := s.settleEnd(ctx)
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), end)

	return ctx, planner.Policy{End: end, Pause: settleCap, Denied: s.opts.Lease}, cancel
}

// settleEnd returns until when a write that settles finished work is sent.
func (s *Store) settleEnd(ctx context.Context) time.Time {
	times := engine.Of(ctx).Times
	if deadline, ok := ctx.Deadline(); ok && times == nil {
		return later(deadline, time.Now().Add(settleTime))
	}

	if times == nil || times.SettleBy.IsZero() {
		return time.Now().Add(s.opts.Lease)
	}

	return times.SettleBy
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}

	return b
}

// earliest returns the end of ctx, or limit from now if that is earlier.
func earliest(ctx context.Context, limit time.Duration) time.Time {
	end := time.Now().Add(limit)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(end) {
		return deadline
	}

	return end
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
