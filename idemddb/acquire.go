package idemddb

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/engine"
	"github.com/idemddb/go-idemddb/internal/planner"
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/record"
	"github.com/idemddb/go-idemddb/internal/sleep"
	"github.com/idemddb/go-idemddb/internal/wire"
)

// Claim asks for the right to do the work of a key. Exactly one of claim, record and error is non-nil. Look at all three: a
// caller that ignores the record does finished work again, with a nil claim. [Run] looks for you.
//
//   - A claim: the key is new, was released, its holder's lease ran out, or its record is past its retention. Do the work,
//     then call Complete.
//   - A record: the work was done before, and the record holds its result.
//
// It costs 1 request and 1 WCU for each KB of the record, and 2 requests for a record past its retention that Time to Live has
// not deleted yet. A record from Options.Cache costs none. The claim lasts for Options.Lease, but not beyond ctx's deadline.
//
// A claim that is returned is held: if less than half of its lease is left when its answer arrives, after an outage for example,
// the lease is extended first, with one more request.
//
// Errors: ErrInProgress, ErrFailed, ErrMismatch, ErrCorrupt, ErrChanged, ErrBadKey, ErrMisuse. Nothing was written, with two
// exceptions: the claim that finds the attempts used up (Options.MaxAttempts) or a lease that ran out (Options.NoTakeover) writes
// FAILED before it answers ErrFailed; and after [ErrCorrupt] the key may stay claimed until a lease ends. ErrUnsent: the key is
// completed (see Options.RedeliverUnsent). ErrUnread: the key is completed, and its result cannot be read now; a result that is
// not the one of the record is ErrCorrupt. After any other error the key may be claimed, without a worker, until the lease ends.
// A request without an answer is sent again until Options.ClaimPatience or ctx ends.
func (s *Store) Claim(ctx context.Context, key string, opts *ClaimOptions) (claim *Claim, rec *Record, err error) {
	if s == nil || s.engine == nil {
		panic(nilStore)
	}

	caller := s.engine.Caller(ctx)
	caller.Group.Arrive()

	defer func() { claim.join(caller) }() // also if the client panics or ends the goroutine: then there is no claim

	if opts == nil {
		opts = &ClaimOptions{}
	}

	if s.disabled {
		return s.claimDisabled(ctx, key), nil, nil
	}

	if opts.Optimistic {
		return nil, nil, keyError("claim", key, errOptimistic)
	}

	a, err := s.newAcquisition(caller, key, opts)
	if err != nil {
		return nil, nil, keyError("claim", key, err)
	}

	switch {
	case caller.Invocation.Work != nil && a.refuseNested(ctx):
	case a.cached():
	default:
		if s.opts.Trace != nil {
			a.askTrace(ctx)
		}

		if opts.Wait > 0 {
			a.claimInLine(ctx, opts.Wait)
		} else {
			a.try(ctx)
		}
	}

	a.useRecord(ctx)
	a.observe(ctx)

	return a.claim, a.record, a.err
}

// acquisition is one call of Claim. All of its tries share the owner token.
type acquisition struct {
	protocol.Claiming

	store       *Store
	caller      engine.Caller
	key         string
	redelivered bool
	skipResult  bool
	answers     int // of the group, when this claim began

	// The answer: at most one of claim, record, committed and err is set. None is set after a commit or a rejection that was written
	// at once.
	claim        *Claim
	committed    *record.Stored // the record of this very commit: an earlier try of it was applied
	isShort      bool           // the claim's lease is less than half of the one that it could have now
	record       *Record
	err          error
	refusal      *record.Stored       // the last record for which the condition was false
	result       types.AttributeValue // of the record, as stored
	unsentRecord *record.Stored       // the record of the answer, if it has messages that are not sent
}

// errLate: the answer came when the lease was already over, so the claim begins anew.
var errLate = errors.New("the answer to the claim came after its lease")

var errOptimistic = fmt.Errorf("%w: ClaimOptions.Optimistic is for Do; a claim is never optimistic", ErrMisuse)

// useRecord does what the record that answers asks for, if there is one: it sends the messages that were left in it, and reads
// its result, unless the caller does not need it.
func (a *acquisition) useRecord(ctx context.Context) {
	if a.unsentRecord != nil {
		if err := a.store.newDelivering(a.caller.Group, a.key, a.Partition, a.unsentRecord).deliverLeft(ctx); err != nil {
			a.record, a.err = nil, err
		}
	}

	if a.record == nil || a.skipResult {
		return
	}

	if err := a.store.results.read(ctx, a.record, a.Partition, a.result); err != nil {
		a.record, a.err = nil, err
	}
}

// cached looks the key up in memory. It returns false if there is no record, or if its retention has ended.
func (a *acquisition) cached() bool {
	if a.store.opts.Cache == 0 {
		return false
	}

	rec := a.store.cache.get(a.Partition, a.store.opts.Now().Unix())

	switch {
	case rec == nil:
		return false
	case !rec.Matches(a.Fingerprint):
		a.err = a.mismatch(rec)
	default:
		a.record, a.result = answerOf(rec, a.key), rec.Result
		a.record.Result = bytes.Clone(a.record.Result)
	}

	return true
}

// newAcquisition returns ErrBadKey for a key that no record can have.
func (s *Store) newAcquisition(caller engine.Caller, key string, opts *ClaimOptions) (*acquisition, error) {
	token := newToken(caller.RequestID)
	partition, err := record.Partition(s.namespace, key, s.opts.HashKeys)

	return &acquisition{
		Claiming: protocol.Claiming{
			Claimant: protocol.Claimant{Partition: partition, Token: token, Fingerprint: record.FingerprintOf(opts.Fingerprint)},
			Table:    s.records, Stamp: s.stamps(caller.LeaseBound),
		},
		store: s, caller: caller, key: key, redelivered: opts.Redelivered, skipResult: opts.SkipResult,
	}, err
}

const claimCap = time.Second // the longest pause between the tries of a claim

// try asks for the claim until it has an answer or its time is over.
func (a *acquisition) try(ctx context.Context) {
	p := planner.Policy{Pause: claimCap}

	if isOver := a.repeatWhileChanged(ctx, &p, func() { a.sendClaim(ctx, &p) }); isOver {
		a.err = errors.Join(a.err, sleep.EndOf(ctx))
	}
}

// repeatWhileChanged calls once, and calls it again while the record changes between two of its requests. once sends one
// conditional claim and stores the answer in a. Repeating it is safe: if an earlier turn was applied after all, the record has
// our owner token. repeatWhileChanged returns true if it ends only because no time is left for another turn.
func (a *acquisition) repeatWhileChanged(ctx context.Context, p *planner.Policy, once func()) (isOver bool) {
	for turn := 1; ; turn++ {
		a.claim, a.committed, a.record, a.err = nil, nil, nil, nil
		once()

		if !errors.Is(a.err, ErrChanged) && !errors.Is(a.err, errLate) || turn == protocol.MaxTurns {
			return false
		}

		if time.Until(p.End) < planner.FirstPause || !sleep.For(ctx, planner.FirstPause) {
			return true
		}
	}
}

// join makes a claim a member of its group until it is settled. A call that got no claim leaves the group.
func (c *Claim) join(caller engine.Caller) {
	if c == nil {
		caller.Group.Leave()

		return
	}

	c.caller, c.member = caller, caller.Group != nil
}

// sendClaim sends the claim and what its answer requires: a second request, or an extension of a lease that is short. If p has no
// end yet, sendClaim sets it by Options.ClaimPatience.
func (a *acquisition) sendClaim(ctx context.Context, p *planner.Policy) {
	a.IsNew, a.Turns = !a.redelivered, 0
	w := a.write(*p, &a.Claiming)

	if p.End.IsZero() {
		p.End, a.answers = a.caller.Group.Patience(ctx, a.store.opts.ClaimPatience)
		w.Policy = *p
	}

	if err := a.store.engine.Send(ctx, w); err != nil {
		a.caller.Group.Answered(!wire.IsTransient(err), a.answers)
		a.err = keyError("claim", a.key, a.store.explain(err))

		return
	}

	a.caller.Group.Answered(true, a.answers)

	if a.conclude(a.Answer); a.err != nil {
		a.follow(ctx, *p, a.recreate)
	}

	if a.claim != nil && !a.ensureLease(ctx, *p) {
		a.claim, a.err = nil, keyError("claim", a.key, errLate)
	}
}

// conclude sets what the answer to a claim means: a claim, a record, the record of this very commit, or an error.
func (a *acquisition) conclude(answer protocol.ClaimAnswer) {
	rec := answer.Found
	a.refusal = rec

	switch answer.Verdict {
	case protocol.Won:
		a.makeClaim(answer)
	case protocol.Committed:
		a.committed = rec
	case protocol.Withdrawn: // a new token, because no claim is granted to the one in the record
		a.Token, a.err = newToken(rec.Holder()), keyError("claim", a.key, ErrChanged)
	case protocol.PastEnd:
		a.err = &secondRequestError{rec, true}
	case protocol.Mismatch:
		a.err = a.mismatch(rec)
	case protocol.Completed:
		a.answerWith(rec)
	case protocol.Failed:
		a.err = &FailedError{Key: a.key, Cause: rec.Error, Attempts: rec.Attempts}
	case protocol.InUse:
		a.err = a.inProgress(rec)
	case protocol.GivenUp:
		a.err = &secondRequestError{rec, false}
	case protocol.Unreadable:
		a.err = keyError("claim", a.key, answer.Err)
	case protocol.Changed:
		a.err = keyError("claim", a.key, ErrChanged)
		if answer.Err != nil {
			a.err = keyError("claim", a.key, fmt.Errorf("%w: %w", ErrChanged, answer.Err))
		}
	}
}

// makeClaim makes the claim that was won. Its lease is short if the answer came late, after an outage or in a frozen process.
func (a *acquisition) makeClaim(won protocol.ClaimAnswer) {
	a.claim = &Claim{
		store: a.store, key: a.key, held: won.Held, fingerprint: a.Fingerprint, skipResult: a.skipResult, lease: won.Lease, trace: a.Trace,
		takenFrom: won.TakenFrom, staging: staging{store: a.store, key: a.key, partition: a.Partition},
	}

	now := a.Stamp()
	a.isShort = won.Lease.Sub(now.Now) <= now.Lease.Sub(now.Now)/2
}

// answerWith keeps the record of a completed key as the answer.
func (a *acquisition) answerWith(rec *record.Stored) {
	a.record, a.result = answerOf(rec, a.key), rec.Result

	if len(rec.Outbox) > 0 {
		a.unsentRecord = rec
	} else {
		a.store.cache.add(a.Partition, rec)
	}
}

// write returns the write of an operation on the record that is claimed.
func (a *acquisition) write(p planner.Policy, op engine.Operation) engine.Write {
	return engine.Write{Operation: op, Policy: p, Key: a.key, Record: a.Partition, Group: a.caller.Group}
}

// ensureLease extends a lease that is short, once. It returns false if the claim is lost or its lease is over.
func (a *acquisition) ensureLease(ctx context.Context, p planner.Policy) bool {
	if !a.isShort {
		return true
	}

	_, err := a.claim.lengthen(ctx, a.caller.LeaseBound, p)

	return err == nil && a.claim.left() > 0
}

// observe emits the event for the answer.
func (a *acquisition) observe(ctx context.Context) {
	e := Event{Key: a.key, Err: a.err}

	switch {
	case a.claim != nil:
		e.Kind, e.Fence, e.Attempt = KindClaimed, a.claim.held.Fence, a.claim.held.Attempt
		if a.claim.held.Previous != 0 {
			e.Kind, e.Trace = KindTakeover, a.claim.takenFrom
		}
	case errors.Is(a.err, ErrUnread), errors.Is(a.err, ErrUnsent): // completed, but its record cannot answer now
		e.Kind = KindReplayed
	case a.record != nil:
		e.Kind, e.Fence, e.Attempt, e.Trace = KindReplayed, a.record.Fence, a.record.Attempts, a.record.Trace
	default:
		e.Kind = cmp.Or(kindOf(a.err), KindUnanswered)
	}

	a.store.opts.Observe(ctx, e)
}

// newToken returns the owner token of one call of Claim: the record that an earlier try of the same call wrote is recognised by
// it. The request id is there for operators.
func newToken(requestID string) string {
	if requestID == "" {
		return rand.Text()
	}

	return requestID + record.TokenMark + rand.Text()
}
