package idemddb

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/dbitem"
	"github.com/idemddb/go-idemddb/internal/engine"
	"github.com/idemddb/go-idemddb/internal/planner"
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/record"
	"github.com/idemddb/go-idemddb/internal/strictjson"
)

// Complete records that the work is done, with its result (nil for none), and ends the claim. From then on the key is answered
// from its record until the retention ends, counted from now. It costs 1 request, and 1 WCU for each KB of the record; every
// later request for the key costs the record's size again. Completing again with the same result is no error.
//
// It does not matter whether the lease is over, as long as nobody has taken the key over. The end of ctx does not keep the
// completion from being written: it is sent until ctx's deadline and for at least 2 s, or for one Lease if ctx has no deadline.
//
// [Claim.IsDone] says of each error whether the work is done, so that its message may be acknowledged:
//
//	if err := claim.Complete(ctx, result); !claim.IsDone(err) {
//		return err
//	}
//
// Errors: ErrFenced (the work ran and its completion was refused), ErrUnrecorded (the work is done and perhaps not recorded; the
// error also wraps the last answer), ErrTooLarge (the completion is written without its result: it is above 6 MB, the table or
// Options.Results did not take it, or Options.Codec did not seal it; the error wraps why), ErrUnsent, ErrNotStaged (nothing was
// written, and the claim is still held: the work ignored an error of [Stage]). What was staged is written, too: the errors are
// then those of [Claim.CompleteWith].
func (c *Claim) Complete(ctx context.Context, result []byte) error {
	c.mustExist()

	if err := c.staging.failure(); err != nil {
		return keyError("complete", c.key, err)
	}

	return c.completeStaged(ctx, result, nil)
}

// IsDone reports whether work that succeeded is done after its completion answered with err, which may be nil: the error of
// Complete or of CompleteWith. If it is, acknowledge the message. [Run] and [Do] use the same rule inside of themselves. Do not
// pass IsDone an error of Run or Do: it may come from the work, and may wrap ErrUnrecorded of another key.
//
// It is true also if the completion is not recorded, because the work has succeeded, and would be done twice if it ran again. It
// is false if another worker holds the key and has not completed it, so that the key still needs that worker, or if the record is
// unreadable. Work with staged effects is done only if the key is completed, because they have not happened otherwise. For an
// error that no completion returns it is false.
func (c *Claim) IsDone(err error) bool {
	c.mustExist()

	return isDone(err)
}

// completeStaged completes the claim, together with what is staged. omitted says why there is no result, if the work had one.
func (c *Claim) completeStaged(ctx context.Context, result []byte, omitted error) error {
	return c.completeWith(ctx, result, omitted, c.staging.take())
}

// completeWith completes the claim, together with the effects if there are any. omitted says why there is no result, if the work
// had one.
func (c *Claim) completeWith(ctx context.Context, result []byte, omitted error, e effects) (err error) {
	var value types.AttributeValue

	switch {
	case omitted != nil:
		value = omittedValue
	case result != nil && !c.store.disabled:
		of := owner{c.held.Partition, c.held.Token, c.left(), c.store.room(c.held.Partition, e)}
		value, omitted = c.store.results.value(ctx, of, result)
	}

	if e.isEmpty() {
		err = c.complete(ctx, result, value, omitted)
	} else {
		err = c.commit(ctx, value, e, omitted)
	}

	if err == nil && omitted != nil {
		err = keyError("complete", c.key, omitted)
	}

	c.mu.Lock()
	defer c.mu.Unlock()

	c.own = ownCompletion{err, result, omitted}

	return err
}

// take ends the staging and returns what a completion writes. After a CompleteWith whose outcome is not known, it returns the
// same effects again.
func (s *staging) take() effects {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.closed = true

	if s.sent != nil {
		return *s.sent
	}

	return s.effects
}

// complete completes the claim with a result, of which value is stored.
func (c *Claim) complete(ctx context.Context, result []byte, value types.AttributeValue, omitted error) error {
	s := c.store

	w := &completing{claim: c, result: result, value: value}
	isLarge := value != nil && dbitem.ValueSize(value) > planner.LargeValue

	err := c.settle(ctx, settlement{write: w, kind: KindCompleted, cause: omitted, large: isLarge})

	if err == nil && s.opts.Cache > 0 && !s.disabled {
		c.cacheRecord(&w.done)
	}

	if err != nil && !errors.Is(err, ErrFenced) {
		err = fmt.Errorf("%w: %w", err, ErrUnrecorded)
		c.observe(ctx, KindUnrecorded, err)
	}

	return err
}

// completing is a completion without effects.
type completing struct {
	claim  *Claim
	result []byte
	value  types.AttributeValue // of the result, as it is stored
	done   record.Stored        // the record as the last try leaves it
}

func (w *completing) build() protocol.Write {
	s := w.claim.store
	w.done = s.records.Completion("", nil, w.value, s.opts.Now())

	return s.records.Complete(&w.claim.held, &w.done)
}

// matches reports whether the stored record is what this completion writes: of this claim, COMPLETED, with the same result.
func (w *completing) matches(ctx context.Context, f *protocol.Fenced) bool {
	c := w.claim

	if !c.held.Matches(f.Found) || f.Found.State != record.Completed ||
		!sameResult(f.Found.Result, w.value) && !c.store.results.isSame(ctx, c.held.Partition, f.Found.Result, w.result) {
		return false
	}

	w.done = *f.Found // an earlier try wrote it, with that try's times

	return true
}

// cacheRecord keeps a copy in memory of what a completion of the claim has left in the record.
func (c *Claim) cacheRecord(done *record.Stored) {
	done.Fence, done.Attempts, done.Trace, done.Fingerprint = new(c.held.Fence), c.held.Attempt, c.trace, new(c.fingerprint)
	c.store.cache.add(c.held.Partition, done)
}

// doneBy reports whether err, which the work returned, is nothing but the answer to its own completion, perhaps with a text
// before it, and says that the work is done. An error that is joined with the answer is a failure of the work.
func (c *Claim) doneBy(err error) bool {
	answer := c.ownCompletion().answer

	for err != nil && err != answer { //nolint:errorlint // errors.Is also looks at what is joined
		err = errors.Unwrap(err)
	}

	return err != nil && isDone(err)
}

// completeAgain returns the answer to the work's own completion. If that is perhaps not recorded, it is sent once more before:
// the work may have had less time for it than its settlement has.
func (c *Claim) completeAgain(ctx context.Context) error {
	own := c.ownCompletion()
	if !own.isUnknown() {
		return own.answer
	}

	return c.completeStaged(ctx, own.result, own.omitted)
}

// isUnknown reports whether the completion is perhaps not written. Whatever the work returns then, its result is the one that the
// completion has.
func (o *ownCompletion) isUnknown() bool {
	return errors.Is(o.answer, ErrUnrecorded) || errors.Is(o.answer, ErrUncommitted)
}

func (c *Claim) ownCompletion() ownCompletion {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.own
}

// settlementWrite is the write of a settlement.
type settlementWrite interface {
	build() protocol.Write // the next try

	// matches reports whether the record that made the condition false has the content that this write leaves, or shows that it had
	// it. Then an earlier try of this call was applied, and the settlement is a success.
	matches(ctx context.Context, f *protocol.Fenced) bool
}

// settlement ends a claim.
type settlement struct {
	write settlementWrite
	kind  Kind
	cause error
	large bool // the write has a result that must not delay others
	anew  bool // a release is sent although an earlier settlement of the claim has no known outcome
}

// settle writes the end of a claim, or finds that an earlier try of the same call has written it.
func (c *Claim) settle(ctx context.Context, with settlement) error {
	if c.store.disabled {
		c.staging.end()
		c.end(with.kind)

		return nil
	}

	defer c.leave()

	goesOn, err := c.markSettling(with.kind, with.anew)
	if !goesOn {
		return err
	}

	if with.kind != KindCompleted { // a completion has taken what was staged
		c.staging.end()
	}

	f := &protocol.Fenced{Table: c.store.records, Build: with.write.build}
	isLast := c.endMembership()

	write, p, cancel := engine.SettleContext(ctx, c.store.opts.Lease)
	defer cancel()

	err = c.store.engine.Send(write, engine.Write{
		Operation: f, Policy: p, Key: c.key, Record: c.held.Partition, Group: c.caller.Group, IsAlone: with.large, IsLast: isLast,
	})
	if (err != nil || f.IsRefused) && !with.write.matches(ctx, f) {
		return c.refusal(write, verbs[with.kind], f.Found, cmp.Or(c.store.explain(err), refusalOf(f)))
	}

	c.end(with.kind)
	c.observe(ctx, with.kind, with.cause)

	return nil
}

// markSettling marks the first settlement. It returns false if there is nothing to send: a release of a claim that is settled
// already, or that another worker has. A settlement without a known outcome counts as one, unless the release is made anew.
func (c *Claim) markSettling(kind Kind, anew bool) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()

	if kind == KindReleased {
		switch {
		case c.settling && !anew:
			return false, nil
		case c.lost != nil && c.lost.Current != c.held.Fence:
			return false, c.lost
		}
	}

	c.settling = true

	return true, nil
}

func (c *Claim) end(as Kind) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.settling, c.settled = true, as
}

// leave ends the claim's membership in its group with its first settlement.
func (c *Claim) leave() {
	if c.endMembership() {
		c.caller.Group.Leave()
	}
}

// endMembership returns true if the claim is a member of its group, which the caller ends.
func (c *Claim) endMembership() bool {
	c.mu.Lock()
	defer c.mu.Unlock()

	isMember := c.member
	c.member = false

	return isMember
}

var verbs = map[Kind]string{KindCompleted: "complete", KindReleased: "release", KindFailed: "fail"}

// endingOfCompletion reads the answer to a completion. The work is done, and runs again only if another worker is at work on the
// key. But what was staged has happened only if it is committed.
func endingOfCompletion(err error) Ending {
	if isWritten(err) {
		return Ending{Kind: KindCompleted, Done: true}
	}

	e := Ending{Kind: cmp.Or(kindOf(err), KindUnrecorded), Err: err, Done: isDone(err)}

	fenced, ok := errors.AsType[*FencedError](err)
	if !ok {
		return e
	}

	switch e.Kind = KindFenced; {
	case fenced.unread != nil && fenced.Current != fenced.Held:
		e.Done, e.Err = false, fenced.unread
	case !e.Done && fenced.hasFailed:
		e.Kind = KindRefused
	case !errors.Is(err, ErrUnsent):
		e.Record = fenced.other()
	}

	return e
}

// isWritten reports whether a completion is written, perhaps without its result, and its messages are sent. ErrUnsent wraps the
// errors of senders, which may wrap any error.
func isWritten(err error) bool {
	return err == nil || !errors.Is(err, ErrUnsent) && (errors.Is(err, ErrTooLarge) || errors.Is(err, strictjson.ErrEncode))
}

// isDone is [Claim.IsDone].
func isDone(err error) bool {
	fenced, ok := errors.AsType[*FencedError](err)

	switch {
	case errors.Is(err, ErrUnsent):
		return false
	case isWritten(err):
		return true
	case ok:
		return fenced.Record != nil || !fenced.staged && (fenced.Current == 0 || fenced.Current == fenced.Held)
	default:
		return errors.Is(err, ErrUnrecorded) || errors.Is(err, ErrResultOmitted)
	}
}
