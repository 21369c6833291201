package idemddb

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// transaction is the write that completes keys together with their effects. Each part is the record of one key, followed by its
// effects in their order. The input is built once: all tries send the same bytes, because a client request token belongs to one input.
type transaction struct {
	store   *Store
	token   string // the first client request token; "" for a new one
	input   dynamodb.TransactWriteItemsInput
	parts   []*part
	between func(context.Context) // called before each further try; nil for none
	grouped bool                  // several keys: after two cancellations each is sent alone, and so is what DynamoDB refuses as a whole

	tries   int
	cancels int
	unknown bool // an earlier try had no answer, so it may be applied yet
}

// part is one key of a transaction.
type part struct {
	key     string
	first   int // of its items
	items   int // how many it has, the record included
	records int // 1, or 0 for effects without a record

	// The answer to a cancelled transaction. If neither is set, the part was not refused.
	refused bool         // the condition of the record was false …
	found   item         // … for this item; nil if there is none
	effect  *EffectError // an effect was refused
}

const conditionFailed = "ConditionalCheckFailed"

// newTx returns the id of a completing call: 26 characters.
func newTx() string { return rand.Text() }

// add adds a key with its record, if it has one, and its effects.
func (t *transaction) add(key string, record *types.TransactWriteItem, effects []types.TransactWriteItem) *part {
	p := &part{key: key, first: len(t.input.TransactItems)}

	if record != nil {
		p.records = 1
		t.input.TransactItems = append(t.input.TransactItems, *record)
	}

	t.input.TransactItems = append(t.input.TransactItems, effects...)
	p.items = len(t.input.TransactItems) - p.first
	t.parts = append(t.parts, p)

	return p
}

// send sends the transaction until it is answered. If no part was refused then, it is committed; else nothing was written. Its error is
// that of a transaction without an answer. If DynamoDB refuses the request as a whole, that is the answer to the part.
//
// The records alone decide whether an earlier try was applied; the client request token saves a try. After no answer the same token
// is sent again, and DynamoDB answers a transaction that it has committed with success. After a cancellation the token is used up.
func (t *transaction) send(ctx context.Context, p policy) error {
	t.input.ClientRequestToken = new(cmp.Or(t.token, newTx()))
	t.input.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal

	err := t.store.retry(ctx, t.key(), p, func(ctx context.Context) error {
		if t.tries++; t.tries > 1 && t.between != nil {
			t.between(ctx)
		}

		out, err := t.store.api.TransactWriteItems(ctx, &t.input, sdkOptions...)

		return t.read(ctx, out, err)
	})
	if err == nil || t.grouped || isTransient(err) {
		return err
	}

	t.parts[0].effect = &EffectError{Index: -1, Code: errorCode(err), Unknown: t.unknown, message: err.Error(), cause: err}

	return nil
}

// key is the key for events, "" if there are several.
func (t *transaction) key() string {
	if len(t.parts) > 1 {
		return ""
	}

	return t.parts[0].key
}

func (t *transaction) read(ctx context.Context, out *dynamodb.TransactWriteItemsOutput, err error) error {
	if err == nil {
		if t.store.accepts(ctx, out) {
			return nil
		}

		t.unknown = true

		return errNoContent
	}

	if cancelled, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		t.store.answered()
		t.input.ClientRequestToken = new(newTx())

		return t.cancelled(ctx, cancelled.CancellationReasons)
	}

	if api, ok := errors.AsType[smithy.APIError](err); ok && api.ErrorCode() == "IdempotentParameterMismatchException" {
		t.unknown = true // the token was used before, for something else
		t.input.ClientRequestToken = new(newTx())

		return fmt.Errorf("%w: %s", errNoContent, api.ErrorMessage())
	}

	if judge(err) == unknown {
		t.unknown = true
	}

	return err
}

// cancelled reads the reasons of a cancelled transaction, which wrote nothing. It returns an error if the transaction is to be sent
// again: no part was refused, or the reasons do not tell.
func (t *transaction) cancelled(ctx context.Context, reasons []types.CancellationReason) error {
	t.cancels++

	if len(reasons) != len(t.input.TransactItems) {
		t.unknown = true

		return t.again(fmt.Errorf("%w: a cancelled transaction of %d items has %d reasons", errNoContent, len(t.input.TransactItems), len(reasons)))
	}

	if slices.ContainsFunc(reasons, func(r types.CancellationReason) bool { return aws.ToString(r.Code) == "TransactionConflict" }) {
		t.store.observe(ctx, Event{Kind: Conflict, Key: t.key()})
	}

	isAnswered := false

	for _, p := range t.parts {
		isAnswered = p.read(reasons[p.first:p.first+p.items], t.unknown) || isAnswered
	}

	if isAnswered {
		return nil
	}

	return t.again(&cancelledError{reasons})
}

// again returns the error with which a cancelled transaction is sent again. Keys that are cancelled together twice are sent alone.
func (t *transaction) again(err error) error {
	if t.grouped && t.cancels > 1 {
		return errSingle
	}

	return err
}

// read reads the reasons of one part. It returns whether the part was refused. A refused effect beside a conflict of the record can be
// an earlier try of the same transaction, seen half-way, so only a clean answer counts.
func (p *part) read(reasons []types.CancellationReason, unknown bool) bool {
	if p.records > 0 {
		switch ours := aws.ToString(reasons[0].Code); {
		case ours == conditionFailed:
			p.refused, p.found = true, reasons[0].Item

			return true
		case !isNone(ours):
			return false
		}
	}

	if slices.ContainsFunc(reasons, isTransientReason) {
		return false
	}

	for i, r := range reasons[p.records:] {
		if code := aws.ToString(r.Code); !isNone(code) {
			p.effect = &EffectError{Index: i, Code: code, Item: r.Item, Unknown: unknown, message: aws.ToString(r.Message)}

			return true
		}
	}

	return false
}

// cancelledError is a transaction that was cancelled for a reason that passes. It hides the SDK's error: its code says nothing about
// whether to send it again.
type cancelledError struct{ reasons []types.CancellationReason }

func (e *cancelledError) Error() string {
	codes := []string{}

	for i, r := range e.reasons {
		if code := aws.ToString(r.Code); !isNone(code) {
			codes = append(codes, fmt.Sprintf("item %d: %s", i, code))
		}
	}

	return "the transaction was cancelled: " + strings.Join(codes, ", ")
}

func isNone(code string) bool { return code == "" || code == "None" }

// isTransientReason tells the reasons that say nothing about the item itself.
func isTransientReason(r types.CancellationReason) bool {
	switch aws.ToString(r.Code) {
	case "", "None", conditionFailed, "ValidationError", "ItemCollectionSizeLimitExceeded", "DuplicateItem":
		return false
	default:
		return true
	}
}

// sendsCapacity, instead of a number of empty answers, says that the backend has sent a consumed capacity.
const sendsCapacity = math.MinInt64

// accepts tells whether an answer proves that the transaction was committed. An answer without content proves nothing; but a backend
// that has never sent the capacity that was asked for is believed after three in a row.
func (s *Store) accepts(ctx context.Context, out *dynamodb.TransactWriteItemsOutput) bool {
	if out != nil && len(out.ConsumedCapacity) > 0 {
		s.emptyAnswers.Store(sendsCapacity)

		return true
	}

	if s.emptyAnswers.Load() == sendsCapacity {
		return false
	}

	n := s.emptyAnswers.Add(1)
	if n == maxWrongAnswers {
		s.observe(ctx, Event{Kind: Retried, Err: errors.New("idemddb: the backend answers transactions without their consumed capacity; it is believed from now on")})
	}

	return n >= maxWrongAnswers
}

// answered ends a row of answers without content, unless it is known what such an answer means.
func (s *Store) answered() {
	if n := s.emptyAnswers.Load(); n > 0 && n < maxWrongAnswers {
		s.emptyAnswers.CompareAndSwap(n, 0)
	}
}

// CompleteWith is Complete together with effects: they are written in one transaction, all of them or none. Without effects it is
// Complete. What was staged with [Stage] is written, too. It costs 1 request; and 2 WCU for each KB of the record and of each item.
//
// Errors: ErrFenced, with nothing written (the key was taken over, settled or deleted); *EffectError (the condition of an item was
// false: nothing was written, and the claim is still held); ErrUncommitted (perhaps written, perhaps not: the record decides; do not
// acknowledge the message); ErrTooLarge (committed without the result); and the errors of [Stage], with nothing sent.
func (c *Claim) CompleteWith(ctx context.Context, result []byte, e Effects) error {
	c.mustExist()

	all, err := c.staging.takeWith(e)
	if err != nil {
		return err
	}

	return c.completeWith(ctx, result, all)
}

// commit completes the claim with what was staged.
func (c *Claim) commit(ctx context.Context, result types.AttributeValue, e Effects, omitted error) error {
	s := c.store
	if s.disabled {
		err := s.writeUnclaimed(ctx, c.key, e)
		if err == nil {
			c.end(Completed)
		}

		return err
	}

	defer c.leave(ctx)

	if _, err := c.begin(Completed); err != nil {
		return err
	}

	c.joinRenewal()

	write, p, cancel := s.settleContext(ctx)
	defer cancel()

	done := s.completion(newTx(), e, result)
	done.Fence, done.Attempts = &c.fence, c.attempt

	values := c.heldValues()
	bound := leaseBound(ctx)
	t := &transaction{store: s, token: done.Tx, between: func(ctx context.Context) { c.extendInLine(ctx, bound) }}
	record := s.recordUpdate(c.partition, condHeld, updateComplete+done.update()+updateDropError, done.values(s, c.partition, values), s.expr.nameOfExp)
	answer := t.add(c.key, record, e.Items)

	switch err := t.send(write, p); {
	case err != nil:
		err = fmt.Errorf("%w: %w", keyError("complete", c.key, err), ErrUncommitted)
		s.observe(ctx, c.event(Uncommitted, err))

		return err
	case answer.effect != nil:
		c.reopen()

		answer.effect.refused = e.Refused
		s.observe(ctx, c.event(EffectRefused, answer.effect))

		return answer.effect
	case answer.refused:
		return c.refusedCommit(ctx, answer, &done, omitted)
	}

	return c.committed(ctx, &done, omitted)
}

// refusedCommit reads the record for which the condition was false: it may be the one that an earlier try of this call wrote.
func (c *Claim) refusedCommit(ctx context.Context, answer *part, done *storedRecord, omitted error) error {
	var found *storedRecord

	if answer.found != nil {
		rec, err := c.store.decode(answer.found)
		if err != nil {
			return c.refusal(ctx, "complete", nil, fmt.Errorf("%w: %w", ErrFenced, err))
		}

		found = rec
	}

	if c.isOwn(found) && found.State == stateCompleted && found.Tx == done.Tx {
		return c.committed(ctx, found, omitted)
	}

	err := c.refusal(ctx, "complete", found, ErrFenced)
	if fenced, ok := errors.AsType[*FencedError](err); ok {
		fenced.staged = true
	}

	return err
}

func (c *Claim) committed(ctx context.Context, done *storedRecord, omitted error) error {
	c.end(Completed)
	c.staging.written()
	c.store.observe(ctx, c.event(Completed, omitted))

	if len(done.Outbox) == 0 {
		c.store.cache.add(c.partition, done.record(c.key), &c.fingerprint)

		return nil
	}

	done.Token = &c.token

	return c.store.sendNow(ctx, c.batch, c.key, c.partition, done)
}

// extendInLine extends the lease between two tries, because the renewal has ended. It makes one try: the transaction matters more, and its
// own condition says whether the claim is lost.
func (c *Claim) extendInLine(ctx context.Context, bound time.Time) {
	if c.left() < c.store.opts.Lease/3 { //nolint:mnd // a third
		_, _ = c.lengthen(ctx, bound, policy{end: time.Now()})
	}
}

// reopen takes the begin of a settlement back that wrote nothing: the claim is still held, and kept.
func (c *Claim) reopen() {
	c.mu.Lock()
	c.settling = false
	r := c.renewer
	c.mu.Unlock()

	c.staging.reopen()

	if r != nil {
		r.resume()
	}
}

// recordUpdate is the update of a record as an item of a transaction.
func (s *Store) recordUpdate(partition, condition, update string, values item, names map[string]string) *types.TransactWriteItem {
	return &types.TransactWriteItem{Update: &types.Update{
		TableName:                           &s.table,
		Key:                                 s.key(partition),
		ConditionExpression:                 &condition,
		UpdateExpression:                    &update,
		ExpressionAttributeNames:            names,
		ExpressionAttributeValues:           values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}

// completion is what a completing call writes into the record.
func (s *Store) completion(tx string, e Effects, result types.AttributeValue) storedRecord {
	now := s.opts.Now()
	done := storedRecord{State: stateCompleted, Tx: tx, Result: result, Done: now.UnixMilli(), Expires: s.expiry(now, now)}

	for i, m := range e.Messages {
		done.Outbox = append(done.Outbox, storedMessage{Index: i, To: m.To, Body: m.Body, Group: m.Group, Attributes: m.Attributes, Sequence: m.Sequence})
	}

	if len(done.Outbox) > 0 {
		done.Ends, done.Expires = done.Expires, noEnd
	}

	return done
}

// update returns the part of an update expression for what a completion may have.
func (r *storedRecord) update() string {
	update := updateSetTx
	if r.Result != nil {
		update += updateSetResult
	}

	if len(r.Outbox) > 0 {
		update += updateSetOutbox
	}

	return update
}

// values adds the values of a completion to those of its condition.
func (r *storedRecord) values(s *Store, partition string, values item) item {
	values[":completed"] = completedValue
	values[":nowms"] = numberValue(r.Done)
	values[":exp"] = numberValue(r.Expires)
	values[":tx"] = stringValue(r.Tx)

	if r.Result != nil {
		values[":res"] = r.Result
	}

	if len(r.Outbox) > 0 {
		values[":outbox"] = marshal(r.Outbox)
		values[":ends"] = numberValue(r.Ends)
		values[":due"] = numberValue(r.Done)
		values[":duens"] = stringValue(s.dueNamespace(partition))
	}

	return values
}

// writeUnclaimed writes effects without a record, for a Store that IDEMDDB_DISABLED turned off.
func (s *Store) writeUnclaimed(ctx context.Context, key string, e Effects) error {
	write, p, cancel := s.settleContext(ctx)
	defer cancel()

	if len(e.Items) > 0 {
		t := &transaction{store: s}
		answer := t.add(key, nil, e.Items)

		switch err := t.send(write, p); {
		case err != nil:
			return fmt.Errorf("%w: %w", keyError("write", key, err), ErrUncommitted)
		case answer.effect != nil:
			answer.effect.refused = e.Refused

			return answer.effect
		}
	}

	rec := s.completion(newTx(), e, nil)
	if err := errors.Join(s.sendAll(write, rec.Tx, rec.Outbox)...); err != nil {
		return keyError("send", key, fmt.Errorf("%w: %w", ErrUnsent, err))
	}

	return nil
}

// Refuse settles a claim whose completion was refused because of an effect, as Effects.Refused says: failed if that is permanent, else
// released. Both are fenced, so that a late twin of the transaction is refused afterwards. meaning is what Refused says; it is nil if an
// earlier try of the transaction was applied after all, so that the key is completed. err is that of the settlement. It is for wrappers.
func (c *Claim) Refuse(ctx context.Context, e *EffectError) (meaning, err error) {
	if meaning = e.Meaning(); isPermanent(meaning) {
		err = c.Fail(ctx, meaning)
	} else {
		err = c.Release(ctx, meaning)
	}

	if fenced, ok := errors.AsType[*FencedError](err); ok && fenced.Record != nil && fenced.Current == c.fence {
		return nil, nil // only the transaction can have completed this claim
	}

	return meaning, err
}

// Staged tells whether effects are staged for the claim: then its work has had no effect before it is committed. It is for wrappers.
func (c *Claim) Staged() bool {
	c.mustExist()
	c.staging.mu.Lock()
	defer c.staging.mu.Unlock()

	return !c.staging.effects.isEmpty()
}

// Fits tells whether a result fits into the record and into the transaction, beside what is staged for the claim. A result that does not
// fit would be omitted by Complete. It is for wrappers, which have a smaller one then.
func (c *Claim) Fits(result []byte) bool {
	c.mustExist()

	return c.staging.fits(result)
}

// EndStaging lets the work of the claim stage no more, because it did not return in time. It is for wrappers.
func (c *Claim) EndStaging() {
	c.mustExist()
	c.staging.end()
}
