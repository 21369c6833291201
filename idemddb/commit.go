package idemddb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/dbitem"
	"github.com/idemddb/go-idemddb/internal/engine"
	"github.com/idemddb/go-idemddb/internal/planner"
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/record"
)

// Commit claims and completes a key in one request, together with effects: all of it exactly once. It is for work that has no
// effect but what it writes here, so that nothing needs a lease. If Commit returns a record, an earlier call completed the key,
// and nothing was written. It costs 1 request; and 2 WCU for each KB of the record and of each item. A duplicate costs the same,
// or nothing if Options.Cache has its record.
//
// Errors: those of [Store.Claim] and *EffectError, with nothing committed (ErrFailed may have written FAILED, as with Claim; see
// [EffectError].Unknown); ErrTooLarge (committed without the result); ErrUnsent (committed); ErrBadEffects, also for a client
// that is no [Transactor] and for an Options.Retention below one hour, and the error of Options.Codec for a message, with nothing
// sent; and ErrUncommitted (perhaps written, perhaps not: the record decides).
func (s *Store) Commit(ctx context.Context, key string, opts *ClaimOptions, result []byte, e Effects) (*Record, error) {
	s.mustExist()

	c, err := s.newCommit(ctx, key, opts)
	if err != nil {
		return nil, err
	}

	if !s.disabled && c.refuseNested(ctx) {
		c.observe(ctx)

		return nil, c.err
	}

	if err := c.startWith(ctx, result, e); err != nil {
		return nil, keyError("commit", key, err)
	}

	return c.finish(ctx)
}

// committing is one call of Commit, or one run of work without a claim: an acquisition whose write also completes the key.
type committing struct {
	acquisition

	effects effects
	value   types.AttributeValue // the result, as record.Stored.Result says
	omitted error                // why the result is omitted
	done    record.Stored        // as it was committed
	old     *record.Stored       // one past its retention, in whose place the next try puts a whole new record; nil for none
	maxWait time.Duration        // ClaimOptions.Wait
	known   bool                 // a cached record answers, so nothing is sent

	write    jointWrite
	begun    *engine.Call // a write that waits for others of its group; nil for none
	isMember bool         // the removals of the messages of its group share a request
}

// start begins the commit. In a group it waits for others from now on. omitted says why there is no result, if the work had one.
func (c *committing) start(ctx context.Context, result []byte, omitted error, e effects) {
	s := c.store
	c.effects, c.omitted = e, omitted

	if c.known = c.cached(); c.known || s.disabled {
		return
	}

	if s.opts.Trace != nil {
		c.askTrace(ctx)
	}

	switch {
	case omitted != nil:
		c.value = omittedValue
	case result != nil:
		c.value, c.omitted = s.results.value(ctx, owner{partition: c.Partition, token: c.Token, room: s.room(c.Partition, e)}, result)
	}

	if c.caller.Group != nil && !c.redelivered {
		write, p, cancel := engine.SettleContext(ctx, s.opts.Lease)
		defer cancel()

		hold := min(commitWait, time.Until(p.End)/2) // half of the time that it has is for sending it
		c.begun = c.begin(write, p, hold)
	}
}

// startWith begins the commit with a copy of the caller's effects, unless DynamoDB would refuse these.
func (c *committing) startWith(ctx context.Context, result []byte, e Effects) (err error) {
	all := effects{Effects: Effects{
		Items: dbitem.CopyWrites(e.Items), Adds: copyAdds(e.Adds), Messages: copyMessages(e.Messages), Refused: e.Refused,
	}}

	all.outbox, err = c.store.sealer.outboxOf(ctx, c.Partition, all.Messages)
	if err := cmp.Or(err, c.store.checkEffects(c.Partition, &all)); err != nil {
		return err //nolint:wrapcheck // its callers name the key
	}

	c.start(ctx, result, nil, all)

	return nil
}

// finish waits for the end of the commit and returns its answer.
func (c *committing) finish(ctx context.Context) (*Record, error) {
	if c.store.disabled {
		return nil, c.store.writeUnclaimed(ctx, c.key, c.effects)
	}

	if !c.known {
		c.waitForHolder(ctx, c.maxWait, func() { c.run(ctx) })
	}

	if c.isMember {
		defer c.caller.Group.Leave()
	}

	c.useRecord(ctx)

	if c.record != nil || c.err != nil {
		c.observe(ctx)

		return c.record, c.err
	}

	return nil, c.after(ctx)
}

// newCommit returns a commit that has sent nothing, or why the Store cannot commit without a claim.
func (s *Store) newCommit(ctx context.Context, key string, opts *ClaimOptions) (*committing, error) {
	if !s.transacts {
		return nil, fmt.Errorf("idemddb: commit: %w: %w", ErrBadEffects, errNoTransactor)
	}

	if s.opts.Retention < protocol.MinCommitRetention {
		return nil, fmt.Errorf("idemddb: commit: %w: Options.Retention: must be at least %v, is %v",
			ErrBadEffects, protocol.MinCommitRetention, s.opts.Retention)
	}

	if opts == nil {
		opts = &ClaimOptions{}
	}

	a, err := s.newAcquisition(s.engine.Caller(ctx), key, opts)
	if err != nil && !s.disabled {
		return nil, keyError("commit", key, err)
	}

	if s.disabled {
		s.observeDisabled(ctx)
	}

	a.Tx = newTx()

	c := &committing{acquisition: *a, maxWait: opts.Wait, write: jointWrite{token: a.Tx}}
	c.write.source = c

	return c, nil
}

// run commits the key. The first call waits for the write that start has begun, or begins one. Each further call, made because
// another worker holds the key, begins a write of its own.
func (c *committing) run(ctx context.Context) {
	ctx, p, cancel := engine.SettleContext(ctx, c.store.opts.Lease)
	defer cancel()

	c.repeatWhileChanged(ctx, &p, func() {
		begun := c.begun
		if c.begun = nil; begun == nil {
			begun = c.begin(ctx, p, 0)
		}

		c.readAnswer(c.write.wait(ctx, begun))
		c.follow(ctx, p, c.commitAnew)
	})
}

// commitWait is how long the first commit of a group waits for others: a crash meanwhile repeats handlers, not effects.
const commitWait = 100 * time.Millisecond

// begin begins the write of the record and the effects. The write waits for others of its group for up to hold.
func (c *committing) begin(ctx context.Context, p planner.Policy, hold time.Duration) *engine.Call {
	w := c.acquisition.write(p, &c.write)
	w.Joint = c.effects.joint(c.value)
	w.Joint.Hold = hold

	return c.store.engine.Begin(ctx, w)
}

// applied announces the messages of a commit, so that those of several commits are sent together. A commit that has messages is
// a member of its group: the writes that remove the sent messages wait for each other.
func (c *committing) applied() {
	c.store.targets.Expect(c.done.Outbox)

	if c.caller.Group != nil && len(c.done.Outbox) > 0 {
		c.isMember = true
		c.caller.Group.Join()
	}
}

// part returns the next try, which claims and completes the key and writes the effects.
func (c *committing) part() protocol.Part {
	records := c.store.records
	c.stampDone()

	if c.old != nil {
		return c.effects.part(records.CommitAnew(&c.Claimant, c.old, &c.done))
	}

	return c.effects.part(records.Part(records.Commit(&c.Claimant, &c.done)))
}

// look returns the statement that reads the record.
func (c *committing) look() types.BatchStatementRequest {
	c.Last = protocol.Stamp{Now: c.store.opts.Now()}

	return c.store.records.Look(c.Partition)
}

// hasEnded reports whether a record that was found answers the commit for good.
func (c *committing) hasEnded(found item) bool { return c.store.records.HasEnded(c.LastTry(), found) }

// stampDone makes the completion of this try.
func (c *committing) stampDone() {
	s := c.store
	c.done = s.records.Completion(c.Tx, c.effects.outbox, c.value, s.opts.Now())
	c.Last = protocol.Stamp{Now: time.UnixMilli(c.done.Done)}
}

// readAnswer takes the answer to a transaction.
func (c *committing) readAnswer(err error) {
	answer := &c.write.answer

	switch {
	case err != nil:
		c.err = fmt.Errorf("%w: %w", keyError("commit", c.key, c.store.explain(err)), ErrUncommitted)
	case answer.Outcome == protocol.EffectRefused:
		c.err = c.effects.refusal(&c.write)
	case answer.Outcome == protocol.Applied:
	case answer.Item == nil:
		c.err = keyError("commit", c.key, ErrChanged)
	default:
		if c.conclude(c.store.records.ReadFound(c.LastTry(), answer.Item)); c.committed != nil {
			c.done = *c.committed
		}
	}
}

// commitAnew commits a record past its retention by a whole new record in its place.
func (c *committing) commitAnew(ctx context.Context, p planner.Policy, old *record.Stored) {
	c.old = old
	c.readAnswer(c.write.wait(ctx, c.begin(ctx, p, 0)))
	c.old = nil

	if _, ok := errors.AsType[*secondRequestError](c.err); ok {
		c.err = keyError("commit", c.key, ErrChanged)
	}
}

// after follows a commit: its messages are sent, and its event is emitted.
func (c *committing) after(ctx context.Context) error {
	c.store.observe(ctx, Event{Kind: KindCompleted, Key: c.key, Attempt: 1, Err: c.omitted})

	if len(c.done.Outbox) > 0 {
		c.done.Token = &c.Token

		if err := c.store.newDelivering(c.caller.Group, c.key, c.Partition, &c.done).deliver(ctx); err != nil {
			return err
		}
	}

	if c.omitted == nil {
		return nil
	}

	return keyError("commit", c.key, c.omitted)
}
