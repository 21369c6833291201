package idemddb

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// acquisition is one call of Claim. All of its tries share the owner token.
type acquisition struct {
	store       *Store
	key         string
	partition   string
	token       string
	fingerprint string    // as stored; "" for none
	deadline    time.Time // bounds the lease; zero for none
	redelivered bool
	answers     int // of the batch, when this claim began

	// How the write is sent, and what the last try would have written.
	insert bool // in a shared request: as an INSERT, because there is probably no record
	turns  int  // how often the answer asked for the other statement
	last   stamp

	// The answer. Exactly one of claim, record and err is set.
	claim  *Claim
	record *Record
	err    error
	unsent *storedRecord // the record of the answer, if it has messages that are not sent
}

var (
	// errChanged: the record changed while it was claimed, so the claim begins anew.
	errChanged = errors.New("the record changed meanwhile, several times in a row; try again later")

	// errLate: the answer came when the lease was already over, so the claim begins anew.
	errLate = errors.New("the answer to the claim came after its lease")

	// errExpired and errTakeable are refusals whose records ask for another request.
	errExpired  = errors.New("the record is past its retention")
	errTakeable = errors.New("the lease is over")
)

const (
	maxTurns = 5 // of a claim whose record changes between two requests

	pollMin = 50 * time.Millisecond
	pollMax = time.Second
)

// acquire is Store.Claim and Batch.Claim.
func (s *Store) acquire(ctx context.Context, b *Batch, key string, opts *ClaimOptions) (*Claim, *Record, error) {
	if opts == nil {
		opts = &ClaimOptions{}
	}

	if opts.Optimistic {
		return nil, nil, keyError("claim", key, errors.New("ClaimOptions.Optimistic is for Do; a claim is never optimistic"))
	}

	s.tellDisabled(ctx)

	if s.disabled {
		claim := &Claim{store: s, key: key, attempt: 1, lease: s.stamp(leaseBound(ctx)).lease}
		claim.staging.store, claim.staging.key = s, key

		return claim, nil, nil
	}

	partition, err := s.partition(key)
	if err != nil {
		return nil, nil, keyError("claim", key, err)
	}

	a := &acquisition{
		store: s, key: key, partition: partition, token: newToken(requestID(ctx)), fingerprint: storedFingerprint(opts.Fingerprint),
		deadline: leaseBound(ctx), redelivered: opts.Redelivered,
	}
	if !a.cached() {
		a.wait(ctx, b, opts.Wait)
		a.sendLeft(ctx, b)
	}

	s.observe(ctx, a.event())

	return a.claim, a.record, a.err
}

// tellDisabled emits the event Disabled, once.
func (s *Store) tellDisabled(ctx context.Context) {
	if s.disabled {
		s.told.Do(func() { s.observe(ctx, Event{Kind: Disabled}) })
	}
}

// sendLeft sends the messages of a completed record that its own process has not sent for a while. If there is no sweep
// (Options.Unswept), the key is not answered before they are sent.
func (a *acquisition) sendLeft(ctx context.Context, b *Batch) {
	rec, s := a.unsent, a.store
	if rec == nil || a.record == nil {
		return
	}

	var err error

	if s.opts.Now().Sub(time.UnixMilli(rec.Done)) >= unsentAfter {
		d := &delivering{store: s, batch: b, key: a.key, partition: a.partition, rec: rec}
		if err = d.run(ctx); err == nil {
			return
		}
	}

	s.observe(ctx, Event{Kind: Unsent, Key: a.key, Err: err})

	if s.opts.Unswept {
		a.record, a.err = nil, keyError("send", a.key, errors.Join(ErrUnsent, err))
	}
}

// cached looks the key up in memory. It returns false if the key is not there.
func (a *acquisition) cached() bool {
	rec, fingerprint := a.store.cache.get(a.partition, a.key, a.store.opts.Now())
	if rec == nil {
		return false
	}

	if a.fingerprint != "" && fingerprint != "" && a.fingerprint != fingerprint {
		a.err = keyError("claim", a.key, ErrMismatch)
	} else {
		a.record = rec
	}

	return true
}

// wait claims the key, and again for as long as the caller waits for another worker.
func (a *acquisition) wait(ctx context.Context, b *Batch, limit time.Duration) {
	end := time.Now().Add(limit)

	for pause := pollMin; ; pause = min(2*pause, pollMax) {
		a.try(ctx, b)

		left := time.Until(end)
		if left <= 0 || !errors.Is(a.err, ErrInProgress) {
			return
		}

		if !sleep(ctx, min(pause, left)) {
			a.err = errors.Join(a.err, context.Cause(ctx))

			return
		}
	}
}

// try claims the key within its patience. It begins anew if the record changed between two requests.
func (a *acquisition) try(ctx context.Context, b *Batch) {
	p := policy{pause: claimCap}
	p.end, a.answers = b.patience(ctx, a.store.opts.ClaimPatience)

	for turn := range maxTurns {
		a.ask(ctx, b, p)

		if !errors.Is(a.err, errChanged) && !errors.Is(a.err, errLate) || turn == maxTurns-1 {
			return
		}

		if time.Until(p.end) < retryBase || !sleep(ctx, retryBase) {
			a.err = errors.Join(a.err, context.Cause(ctx))

			return
		}
	}
}

// ask sends the claim and does what its answer asks for.
func (a *acquisition) ask(ctx context.Context, b *Batch, p policy) {
	a.claim, a.record, a.err = nil, nil, nil
	a.insert, a.turns = !a.redelivered, 0

	if err := a.store.send(ctx, b, a.key, p, a); err != nil {
		b.answered(!isTransient(err), a.answers)
		a.err = keyError("claim", a.key, a.store.explain(err))

		return
	}

	b.answered(true, a.answers)

	if rare, ok := errors.AsType[*rareError](a.err); ok {
		a.err = nil

		if errors.Is(rare.reason, errExpired) {
			a.recreate(ctx, p, rare.found)
		} else {
			a.err = a.markFailed(ctx, p, rare.found)
		}
	}

	if a.claim != nil && !a.hold(ctx, p) {
		a.claim, a.err = nil, keyError("claim", a.key, errLate)
	}
}

// hold makes sure that a claim has at least half of the lease that it could have now: its answer may have come late, after an
// outage or in a frozen process. It extends the lease once. It returns false if the claim is lost or its lease is over.
func (a *acquisition) hold(ctx context.Context, p policy) bool {
	now := a.store.stamp(a.deadline)
	if possible := now.lease.Sub(now.now); a.claim.left() >= possible/2 {
		return true
	}

	_, err := a.claim.lengthen(ctx, a.deadline, p)

	return err == nil && a.claim.left() > 0
}

// stamp is the time of one try and the end of the lease that it asks for.
type stamp struct {
	now   time.Time
	lease time.Time
}

// stamp reads the clock for one try. The lease is measured from before the request is sent, so the holder never trusts it for longer
// than the record says. What is left until the deadline is a duration, so its clock and Options.Now are never compared.
func (s *Store) stamp(deadline time.Time) stamp {
	lease := s.opts.Lease
	if !deadline.IsZero() {
		lease = max(0, min(lease, time.Until(deadline)))
	}

	now := s.opts.Now()

	return stamp{now: now, lease: time.UnixMilli(now.Add(lease).UnixMilli())}
}

// single is the claim as a request of its own.
func (a *acquisition) single() *dynamodb.UpdateItemInput {
	s := a.store
	a.last = s.stamp(a.deadline)

	condition, update := &s.expr.claim, updateClaim+updateDropFP
	if a.fingerprint != "" {
		condition, update = &s.expr.claimFP, updateClaim+updateSetFP
	}

	values := a.values()
	values[":nowms"] = numberValue(a.last.now.UnixMilli())

	return &dynamodb.UpdateItemInput{
		TableName:                           &s.table,
		Key:                                 s.key(a.partition),
		ConditionExpression:                 condition,
		UpdateExpression:                    &update,
		ExpressionAttributeNames:            s.expr.names,
		ExpressionAttributeValues:           values,
		ReturnValues:                        types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// statement is the claim as one statement of a shared request.
func (a *acquisition) statement() types.BatchStatementRequest {
	s := a.store
	a.last = s.stamp(a.deadline)

	switch {
	case a.insert:
		return s.insertion(a.newRecord(firstFence(a.last)), a.fingerprint != "")
	case a.fingerprint != "":
		return write{a.partition, s.expr.againFP, updateAgain + updateSetFP, a.values()}.statement(s)
	default:
		return write{a.partition, s.expr.again, updateAgain + updateDropFP, a.values()}.statement(s)
	}
}

func (a *acquisition) values() item {
	s := a.store
	values := item{
		":v":          versionValue,
		":inprogress": inProgressValue,
		":zero":       zeroValue,
		":one":        oneValue,
		":mine":       stringValue(a.token),
		":nowsec":     numberValue(a.last.now.Unix()),
		":lease":      numberValue(a.last.lease.UnixMilli()),
		":exp":        numberValue(s.expiry(a.last.now, a.last.lease)),
		":dead":       numberValue(a.last.now.Add(-s.opts.ClockSkew).UnixMilli()),
	}

	if s.opts.MaxAttempts > 0 {
		values[":max"] = numberValue(int64(s.opts.MaxAttempts))
	}

	if a.fingerprint != "" {
		values[":fp"] = stringValue(a.fingerprint)
		values[":fpver"] = fingerprintVersionValue
	}

	return values
}

// newRecord is the item of a new record of this claim.
func (a *acquisition) newRecord(fence int64) item {
	s := a.store
	record := s.key(a.partition)
	record[attrVersion] = versionValue
	record[attrState] = inProgressValue
	record[attrToken] = stringValue(a.token)
	record[attrFence] = numberValue(fence)
	record[attrPrevious] = zeroValue
	record[attrLease] = numberValue(a.last.lease.UnixMilli())
	record[attrAttempts] = oneValue
	record[attrBorn] = numberValue(a.last.now.UnixMilli())
	record[s.opts.TTLAttribute] = numberValue(s.expiry(a.last.now, a.last.lease))

	if a.fingerprint != "" {
		record[attrFingerprint] = stringValue(a.fingerprint)
	}

	return record
}

// firstFence is the fencing token of a new record.
func firstFence(t stamp) int64 { return t.now.UnixMilli() + 1 }

// read takes the answer to the last try.
func (a *acquisition) read(r response) (step, error) {
	if r.err == nil {
		return a.won(r)
	}

	_, duplicate := errors.AsType[*types.DuplicateItemException](r.err)
	found, isRefused := refusedItem(r.err)

	switch {
	case (duplicate || isRefused && found == nil) && r.shared: // there is a record after all, or there is none
		if a.turns++; a.turns == maxTurns {
			return goSingle, nil
		}

		a.insert = !duplicate

		return sendOther, nil
	case isRefused && found == nil:
		a.err = keyError("claim", a.key, fmt.Errorf("%w: %w", errChanged, r.err))

		return answered, nil
	case isRefused:
		a.conflict(found)

		return answered, nil
	default:
		return sendAgain, r.err
	}
}

// won reads the answer to a claim that was applied. A claim with a wrong fencing token could never be completed, so an answer from
// which the token does not follow is not accepted.
func (a *acquisition) won(r response) (step, error) {
	switch {
	case r.shared && a.insert:
		a.take(firstFence(a.last), 1, false, a.last.lease)

		return answered, nil
	case len(r.item) == 0 && r.shared:
		return goSingle, nil
	case len(r.item) == 0:
		return sendAgain, errNoContent
	}

	rec, err := a.store.decode(r.item)

	switch {
	case err != nil && r.shared: // the record as it was cannot be read; as it is now, it perhaps can
		return goSingle, nil
	case err != nil:
		a.err = keyError("claim", a.key, err)
	case r.shared: // the item as it was before
		a.take(*rec.Fence+1, rec.Attempts+1, *rec.Lease != 0, a.last.lease)
	default:
		a.take(*rec.Fence, rec.Attempts, rec.Previous != 0, rec.until())
	}

	return answered, nil
}

func (a *acquisition) take(fence int64, attempt int, takeover bool, lease time.Time) {
	a.claim = &Claim{
		store: a.store, key: a.key, partition: a.partition, token: a.token, fingerprint: a.fingerprint,
		fence: fence, attempt: attempt, takeover: takeover, lease: lease,
		staging: staging{store: a.store, key: a.key, partition: a.partition},
	}
}

// rareError is a refusal that only another request can answer.
type rareError struct {
	found  *storedRecord
	reason error
}

func (e *rareError) Error() string { return e.reason.Error() }

// conflict reads a refused condition: the record that it carries is the one for which the condition was false at the try's time.
func (a *acquisition) conflict(found item) {
	s, now := a.store, a.last.now

	rec, err := s.decode(found)

	switch {
	case err != nil:
		a.err = keyError("claim", a.key, err)
	case rec.isOwn(a.token):
		a.own(rec)
	case rec.expired(now) && (rec.State != stateInProgress || rec.Lease == nil || rec.leaseOver(now, s.opts.ClockSkew)):
		a.err = &rareError{rec, errExpired}
	case !rec.matches(a.fingerprint):
		a.err = keyError("claim", a.key, ErrMismatch)
	case rec.State == stateCompleted && len(rec.Outbox) > 0:
		a.record, a.unsent = rec.record(a.key), rec
	case rec.State == stateCompleted:
		a.record = rec.record(a.key)
		s.cache.add(a.partition, a.record, rec.Fingerprint)
	case rec.State == stateFailed:
		a.err = &FailedError{Key: a.key, Cause: rec.Error, Attempts: rec.Attempts}
	case !rec.leaseOver(now, s.opts.ClockSkew):
		a.err = &InProgressError{Key: a.key, Until: rec.until(), Holder: rec.holder()}
	default:
		a.err = &rareError{rec, errTakeable}
	}
}

// own reads a record that has this call's owner token: an earlier try was applied, and its answer was lost. If the key was ended or
// released meanwhile, by another claimant or an operator, the claim is not held.
func (a *acquisition) own(rec *storedRecord) {
	switch {
	case rec.State == stateFailed:
		a.err = &FailedError{Key: a.key, Cause: rec.Error, Attempts: rec.Attempts}
	case rec.State == stateInProgress && rec.Lease != nil && *rec.Lease > 0:
		a.take(*rec.Fence, rec.Attempts, rec.Previous != 0, rec.until())
	default: // a new token, because no claim is granted to the one in the record
		a.token, a.err = newToken(rec.holder()), keyError("claim", a.key, errChanged)
	}
}

// recreate claims a record past its retention by a whole new record in its place, so that nothing of the old life remains.
func (a *acquisition) recreate(ctx context.Context, p policy, old *storedRecord) {
	s := a.store

	var fence int64

	found, err := a.putInPlace(ctx, p, old, func() item {
		a.last = s.stamp(a.deadline)
		fence = max(*old.Fence, a.last.now.UnixMilli()) + 1

		return a.newRecord(fence)
	})

	switch {
	case err == nil:
		a.take(fence, 1, false, a.last.lease)
	case found != nil && found.isOwn(a.token):
		a.own(found)
	case errors.Is(err, ErrFenced): // another worker has claimed or completed it, or Time to Live has deleted it
		a.err = keyError("claim", a.key, errChanged)
	default:
		a.err = keyError("claim", a.key, err)
	}
}

// putInPlace writes a whole new record in the place of one that is past its retention. If the condition is false, it returns ErrFenced,
// and the record if it can be read.
func (a *acquisition) putInPlace(ctx context.Context, p policy, old *storedRecord, build func() item) (*storedRecord, error) {
	s := a.store

	err := s.retry(ctx, a.key, p, func(ctx context.Context) error {
		out, err := s.api.PutItem(ctx, a.put(old, build()), sdkOptions...)
		if err == nil && len(out.Attributes) == 0 {
			err = errNoContent
		}

		return err
	})

	found, ok := refusedItem(err)
	if !ok {
		return nil, s.explain(err)
	}

	rec, err := s.decode(found)
	if err != nil {
		return nil, ErrFenced
	}

	return rec, ErrFenced
}

func (a *acquisition) put(old *storedRecord, record item) *dynamodb.PutItemInput {
	return &dynamodb.PutItemInput{
		TableName:                &a.store.table,
		Item:                     record,
		ConditionExpression:      new(condRecreate),
		ExpressionAttributeNames: a.store.expr.nameOfExp,
		ExpressionAttributeValues: item{
			":own":   stringValue(*old.Token),
			":fence": numberValue(*old.Fence),
			":exp":   numberValue(old.Expires),
		},
		ReturnValues:                        types.ReturnValueAllOld,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// markFailed ends a key for good whose lease is over and which may not be taken over.
func (a *acquisition) markFailed(ctx context.Context, p policy, rec *storedRecord) error {
	s := a.store

	var cause string

	switch {
	case s.opts.NoTakeover && *rec.Lease != 0:
		cause = joinCause("the lease of attempt "+strconv.Itoa(rec.Attempts)+" ran out: outcome unknown, not taken over", rec.Error)
	case s.opts.MaxAttempts > 0 && rec.Attempts >= s.opts.MaxAttempts:
		cause = joinCause("attempts used up", rec.Error)
	default:
		return keyError("claim", a.key, errChanged)
	}

	found, err := s.fenced(ctx, nil, a.key, p, func() write {
		now := s.stamp(a.deadline)

		return write{a.partition, condMarkFailed, updateFail, item{
			":mine": stringValue(*rec.Token), ":fence": numberValue(*rec.Fence), ":inprogress": inProgressValue,
			":seen": numberValue(*rec.Lease), ":failed": failedValue,
			":exp": numberValue(s.expiry(now.now, now.lease)), ":err": stringValue(cause),
		}}
	})

	switch {
	case err == nil:
		return &FailedError{Key: a.key, Cause: cause, Attempts: rec.Attempts}
	case found != nil && found.State == stateFailed: // by another claimant, or by an earlier try of this call
		return &FailedError{Key: a.key, Cause: found.Error, Attempts: found.Attempts}
	case errors.Is(err, ErrFenced):
		return keyError("claim", a.key, errChanged) // it was released, extended or completed after all
	default:
		return keyError("claim", a.key, err)
	}
}

func (a *acquisition) event() Event {
	e := Event{Key: a.key, Err: a.err}

	switch {
	case a.claim != nil:
		e.Kind, e.Fence, e.Attempt = Claimed, a.claim.fence, a.claim.attempt
		if a.claim.takeover {
			e.Kind = Takeover
		}
	case a.record != nil:
		e.Kind, e.Fence, e.Attempt = Replayed, a.record.Fence, a.record.Attempts
	case errors.Is(a.err, ErrInProgress):
		e.Kind = InProgress
	case errors.Is(a.err, ErrMismatch):
		e.Kind = Mismatch
	case errors.Is(a.err, ErrFailed):
		e.Kind = Refused
	case errors.Is(a.err, ErrCorrupt):
		e.Kind = Corrupt
	default:
		e.Kind = Unanswered
	}

	return e
}
