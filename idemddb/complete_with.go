package idemddb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/engine"
	"github.com/idemddb/go-idemddb/internal/planner"
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/record"
)

// CompleteWith is Complete together with effects: they are written in one transaction, all of them or none. Without effects it is
// Complete. What was staged with [Stage] is written, too. It costs 1 request; and 2 WCU for each KB of the record and of each
// item.
//
// Errors: ErrFenced, with nothing written (the key was taken over, settled or deleted); *EffectError (the condition of an item
// was false, or DynamoDB refused an item or the request: nothing was written, unless its Unknown is set, and the claim is still
// held); ErrUncommitted (perhaps written, perhaps not: the record decides, unless somebody has deleted it meanwhile; do not
// acknowledge the message); ErrTooLarge (committed without the result); ErrUnsent (committed); ErrNotStaged (an error of [Stage]
// was ignored), ErrBadEffects and the error of Options.Codec for a message, with nothing sent. If work ignores *EffectError,
// ErrBadEffects or the error of the Codec and returns no error, its wrapper does not complete the key and reports ErrNotStaged.
// Work that handles such an error calls [Stage] (with Effects{} if nothing is left to write) or [Unstage], or settles its claim.
func (c *Claim) CompleteWith(ctx context.Context, result []byte, e Effects) error {
	c.mustExist()

	if err := c.staging.failure(); err != nil {
		return keyError("complete", c.key, err)
	}

	all, err := c.staging.takeWith(ctx, e)
	if err != nil {
		return err
	}

	return c.completeWith(ctx, result, nil, all)
}

// commit completes the claim with what was staged.
func (c *Claim) commit(ctx context.Context, result types.AttributeValue, e effects, omitted error) error {
	s := c.store
	if s.disabled {
		return c.commitDisabled(ctx, e)
	}

	defer c.leave()

	if _, err := c.markSettling(KindCompleted, false); err != nil {
		return err
	}

	c.joinRenewal()

	write, p, cancel := engine.SettleContext(ctx, s.opts.Lease)
	defer cancel()

	done := s.records.Completion(newTx(), e.outbox, result, s.opts.Now())
	bound := engine.LeaseBound(ctx)
	j := &jointWrite{token: done.Tx, source: &completion{c, &done, e}}

	switch err := c.sendCommit(write, j, engine.Write{
		Operation: j, Policy: p, Key: c.key, Record: c.held.Partition, Group: c.caller.Group, Joint: e.joint(result),
		Retried: func(ctx context.Context) { c.extendBetweenTries(ctx, bound) },
	}); {
	case err != nil:
		err = fmt.Errorf("%w: %w", keyError("complete", c.key, err), ErrUncommitted)
		c.observe(ctx, KindUncommitted, err)

		return err
	case j.answer.Outcome == protocol.EffectRefused:
		effect := e.refusal(j)

		c.resume(effect) // the work goes on under its claim
		c.observe(ctx, KindEffectRefused, effect)

		return effect
	case j.answer.Outcome == protocol.Refused:
		return c.refusedCommit(write, j.answer.Item, &done, omitted)
	}

	return c.committed(ctx, &done, omitted)
}

// completion makes the tries of a completion together with its effects.
type completion struct {
	claim   *Claim
	done    *record.Stored
	effects effects
}

func (c *completion) part() protocol.Part {
	records := c.claim.store.records

	return c.effects.part(records.Part(records.Complete(&c.claim.held, c.done)))
}

func (c *completion) look() types.BatchStatementRequest {
	return c.claim.store.records.Look(c.claim.held.Partition)
}

func (c *completion) hasEnded(found item) bool {
	return c.claim.store.records.HasEndedSince(&c.claim.held, found)
}

func (c *completion) applied() { c.claim.store.targets.Expect(c.done.Outbox) }

// commitDisabled writes the effects without a record, because IDEMDDB_DISABLED turned the Store off.
func (c *Claim) commitDisabled(ctx context.Context, e effects) error {
	err := c.store.writeUnclaimed(ctx, c.key, e)
	if effect, ok := errors.AsType[*EffectError](err); ok {
		c.staging.resume(effect)
	}

	if err == nil || errors.Is(err, ErrUnsent) { // the items are written
		c.end(KindCompleted)
		c.staging.written()
	}

	return err
}

// sendCommit sends the transaction of the completion and the items.
func (c *Claim) sendCommit(ctx context.Context, j *jointWrite, w engine.Write) error {
	err := j.wait(ctx, c.store.engine.Begin(ctx, w))
	if j.unknown && j.answer.Outcome == protocol.Refused && len(j.answer.Item) == 0 {
		return errGone
	}

	return err
}

// errGone means that an earlier try had no answer, and that a later one was refused because the record is gone: nothing shows
// whether the earlier try was applied.
var errGone = errors.New("the record is gone, after a try without an answer")

// refusedCommit reads the record for which the condition was false: it may be the one that an earlier try of this call wrote.
func (c *Claim) refusedCommit(ctx context.Context, item item, done *record.Stored, omitted error) error {
	var found *record.Stored

	refused := ErrFenced

	if item != nil {
		rec, err := record.Read(item, c.store.opts.TTLAttribute)
		if found = rec; err != nil {
			refused = fmt.Errorf("%w: %w", ErrFenced, err)
		}
	}

	if c.held.Matches(found) && found.Tx == done.Tx {
		return c.committed(ctx, found, omitted)
	}

	err := c.refusal(ctx, "complete", found, refused)
	if fenced, ok := errors.AsType[*FencedError](err); ok {
		fenced.staged = true
	}

	return err
}

// committed notes that a transaction has completed the claim, and sends the messages of its record.
func (c *Claim) committed(ctx context.Context, done *record.Stored, omitted error) error {
	c.end(KindCompleted)
	c.staging.written()
	c.observe(ctx, KindCompleted, omitted)

	if len(done.Outbox) == 0 {
		c.cacheRecord(done)

		return nil
	}

	done.Token = &c.held.Token

	return c.store.newDelivering(c.caller.Group, c.key, c.held.Partition, done).deliver(ctx)
}

// extendBetweenTries extends the lease between two tries, because the renewal has ended. It makes one try: the transaction
// matters more, and its own condition says whether the claim is lost.
func (c *Claim) extendBetweenTries(ctx context.Context, bound time.Time) {
	if c.left() < c.store.opts.Lease/3 {
		_, _ = c.lengthen(ctx, bound, planner.Policy{End: time.Now()})
	}
}

// resume undoes markSettling after a settlement that an effect refused: nothing was written, and the claim is still held, and
// kept.
func (c *Claim) resume(refused error) {
	c.mu.Lock()
	c.settling = false
	c.mu.Unlock()

	c.staging.resume(refused)

	for _, r := range c.kept() {
		r.resume()
	}
}
