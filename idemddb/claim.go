package idemddb

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// ClaimOptions shape one claim. Nil and zero mean the defaults.
type ClaimOptions struct {
	// Fingerprint stands for the input: the same key with another one is refused with ErrMismatch. A digest of it is stored;
	// records from before fingerprints were used match any. Defaults to "": inputs under one key are not compared.
	Fingerprint string

	// Wait is for how long to wait for a key that another worker holds before ErrInProgress: it is asked for again after
	// pauses of 50 ms to 1 s, at 1 request and 1 write unit each. Negative counts as zero. Defaults to 0.
	Wait time.Duration
}

// Claim is the right to do the work of one key, until its lease ends or another worker takes over. Settle it with Complete,
// Release or Fail. It is safe for concurrent use.
type Claim struct {
	store       *Store
	key         string
	partition   string
	token       string
	fingerprint string // as stored
	fence       int64
	attempt     int
	takeover    bool
	group       *Group // nil for a claim of Store.Claim

	mu      sync.Mutex
	lease   time.Time
	settled Kind
	lost    *FencedError // of its last write that was fenced
	awaited bool         // the Group counts it as open
}

// Claim asks for the right to do the work of a key. Exactly one of claim, record and error is non-nil.
//
//   - A claim: the key is new, was released, its holder's lease ran out, or its record is past its retention. Do the work,
//     then Complete.
//   - A record: the work was done before; this is its answer.
//
// It costs 1 request and 1 write unit for each KB of the record; for a record past its retention that Time to Live has not
// deleted yet, 2. A record from Options.Cache costs none. The claim lasts for Options.Lease, and not beyond ctx's deadline.
//
// Errors: ErrInProgress, ErrMismatch, ErrFailed, ErrCorrupt, ErrBadKey, each with nothing written, except that the claim which
// finds the attempts used up (Options.MaxAttempts) or a lease that ran out (Options.NoTakeover) writes FAILED before it answers
// ErrFailed. After any other error the key may be claimed, with nobody to work on it, until the lease ends. Requests without
// an answer are repeated until ctx's deadline, or for 10 s where it has none.
func (s *Store) Claim(ctx context.Context, key string, opts *ClaimOptions) (*Claim, *Record, error) {
	if opts == nil {
		opts = &ClaimOptions{}
	}

	c, done := s.newClaim(ctx, key, opts.Fingerprint)
	if c != nil {
		claim, rec, err := c.wait(ctx, opts.Wait)
		done = c.ended(ctx, claim, rec, err)
	}

	return done.Claim, done.Record, done.Err
}

// newClaim begins a claim. Where no request is needed, there is an answer instead of a call.
func (s *Store) newClaim(ctx context.Context, key, fingerprint string) (*claimCall, ClaimAnswer) {
	if s.disabled {
		s.told.Do(func() { s.observe(ctx, Event{Kind: Disabled}) })

		return nil, ClaimAnswer{Claim: &Claim{store: s, key: key, attempt: 1, lease: s.attempt(ctx).lease}}
	}

	partition, err := s.partition(key)
	if err != nil {
		return nil, ClaimAnswer{Err: keyError("claim", key, err)}
	}

	c := &claimCall{
		store:       s,
		key:         key,
		partition:   partition,
		token:       newToken(ctx),
		fingerprint: storedFingerprint(fingerprint),
	}

	if rec, err := c.cached(); rec != nil || err != nil {
		return nil, c.ended(ctx, nil, rec, err)
	}

	return c, ClaimAnswer{}
}

// Key returns the key as it was claimed.
func (c *Claim) Key() string { return c.key }

// Fence returns a number that is higher than that of every earlier claim of the key. Store it with the effect, and have the
// other system refuse a lower one than it has seen: then not even a worker that outlived its lease can do harm.
func (c *Claim) Fence() int64 { return c.fence }

// Attempt returns how many claims of the key have begun work, this one included: 1 for the first.
func (c *Claim) Attempt() int { return c.attempt }

// Takeover tells whether the lease of an earlier holder ran out: its effect may have happened.
func (c *Claim) Takeover() bool { return c.takeover }

// Deadline returns the end of the lease by Options.Now, as last renewed.
func (c *Claim) Deadline() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.lease
}

// Settled returns how the claim ended, Completed, Released or Failed; "" while it is open or the outcome is unknown.
func (c *Claim) Settled() Kind {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.settled
}

// tokenMark ends the request id in a token.
const tokenMark = "/"

// newToken is unique to one call of Claim: the record of an earlier attempt of the same call is recognised by it. The request
// id is there for people.
func newToken(ctx context.Context) string {
	if lc, ok := lambdacontext.FromContext(ctx); ok && lc.AwsRequestID != "" {
		return lc.AwsRequestID + tokenMark + rand.Text()
	}

	return rand.Text()
}

// claimCall is one call of Claim: its attempts share the token.
type claimCall struct {
	store       *Store
	key         string
	partition   string
	token       string
	fingerprint string // as stored, "" for none
}

// attempted is what one claim request wrote, or would have written.
type attempted struct {
	now   time.Time
	lease time.Time
}

// errAgain means: the record changed under us, ask again.
var errAgain = errors.New("the record changed meanwhile, again and again; try later")

const (
	maxTries = 5 // of a claim whose refusal does not say why

	pollMin = 50 * time.Millisecond
	pollMax = time.Second
)

// cached answers from memory; both nil if the key is not there.
func (c *claimCall) cached() (*Record, error) {
	rec, fingerprint := c.store.cache.get(c.partition, c.key, c.store.opts.Now())
	if rec != nil && c.fingerprint != "" && fingerprint != "" && c.fingerprint != fingerprint {
		return nil, keyError("claim", c.key, ErrMismatch)
	}

	return rec, nil
}

// wait asks again while another worker holds the key, for as long as the caller said.
func (c *claimCall) wait(ctx context.Context, patience time.Duration) (*Claim, *Record, error) {
	end := time.Now().Add(patience)

	for pause := pollMin; ; pause = min(2*pause, pollMax) {
		claim, rec, err := c.try(ctx)

		left := time.Until(end)
		if left <= 0 || !errors.Is(err, ErrInProgress) {
			return claim, rec, err
		}

		if !sleep(ctx, min(pause, left)) {
			return nil, nil, errors.Join(err, context.Cause(ctx))
		}
	}
}

// try claims, and again where the refusal does not say why or the record changed between two requests.
func (c *claimCall) try(ctx context.Context) (*Claim, *Record, error) {
	var err error

	for n := range maxTries {
		var (
			claim *Claim
			rec   *Record
		)

		if claim, rec, err = c.once(ctx); !errors.Is(err, errAgain) {
			return claim, rec, err
		}

		if n < maxTries-1 && !sleep(ctx, retryBase) {
			return nil, nil, errors.Join(err, context.Cause(ctx))
		}
	}

	return nil, nil, err
}

func (c *claimCall) once(ctx context.Context) (*Claim, *Record, error) {
	var last attempted

	out, err := send(ctx, c.store, c.key, func(actx context.Context) (*dynamodb.UpdateItemOutput, error) {
		last = c.store.attempt(ctx)

		return c.store.api.UpdateItem(actx, c.update(last), once...)
	})
	if err == nil {
		claim, err := c.won(out.Attributes, last)

		return claim, nil, err
	}

	found, ok := refusedItem(err)
	if !ok {
		return nil, nil, keyError("claim", c.key, c.store.explain(err))
	}

	if found == nil {
		return nil, nil, keyError("claim", c.key, fmt.Errorf("%w: %w", errAgain, err))
	}

	return c.decide(ctx, found, last)
}

// attempt takes the clock for one request. The lease is measured from before the request, so that the holder never trusts it
// for longer than the record says; what is left until the context's deadline is a span, so that its clock and Options.Now
// are never compared.
func (s *Store) attempt(ctx context.Context) attempted {
	lease := s.opts.Lease
	if deadline, ok := ctx.Deadline(); ok {
		lease = max(0, min(lease, time.Until(deadline)))
	}

	now := s.opts.Now()

	return attempted{now: now, lease: time.UnixMilli(now.Add(lease).UnixMilli())}
}

func (c *claimCall) update(a attempted) *dynamodb.UpdateItemInput {
	s := c.store
	condition, update := &s.expr.claim, updateClaim+updateDropFP

	if c.fingerprint != "" {
		condition, update = &s.expr.claimFP, updateClaim+updateSetFP
	}

	values := c.values(a)
	values[":nowms"] = numberValue(a.now.UnixMilli())

	return &dynamodb.UpdateItemInput{
		TableName:                           &s.table,
		Key:                                 s.key(c.partition),
		ConditionExpression:                 condition,
		UpdateExpression:                    &update,
		ExpressionAttributeNames:            s.expr.names,
		ExpressionAttributeValues:           values,
		ReturnValues:                        types.ReturnValueAllOld,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// again is update for a record that is there.
func (c *claimCall) again(a attempted) write {
	s := c.store
	if c.fingerprint != "" {
		return write{c.partition, s.expr.againFP, updateAgain + updateSetFP, c.values(a)}
	}

	return write{c.partition, s.expr.again, updateAgain + updateDropFP, c.values(a)}
}

func (c *claimCall) values(a attempted) item {
	s := c.store
	values := item{
		":v":          versionValue,
		":inprogress": inProgressValue,
		":zero":       zeroValue,
		":one":        oneValue,
		":mine":       stringValue(c.token),
		":nowsec":     numberValue(a.now.Unix()),
		":lease":      numberValue(a.lease.UnixMilli()),
		":exp":        numberValue(s.expiry(a.now, a.lease)),
		":dead":       numberValue(a.now.Add(-s.opts.ClockSkew).UnixMilli()),
	}

	if s.opts.MaxAttempts > 0 {
		values[":max"] = numberValue(int64(s.opts.MaxAttempts))
	}

	if c.fingerprint != "" {
		values[":fp"] = stringValue(c.fingerprint)
	}

	return values
}

// record is a new record of this claim.
func (c *claimCall) record(fence int64, a attempted) item {
	s := c.store
	record := s.key(c.partition)
	record[attrVersion] = versionValue
	record[attrState] = inProgressValue
	record[attrToken] = stringValue(c.token)
	record[attrFence] = numberValue(fence)
	record[attrPrevious] = zeroValue
	record[attrLease] = numberValue(a.lease.UnixMilli())
	record[attrAttempts] = oneValue
	record[attrBorn] = numberValue(a.now.UnixMilli())
	record[s.opts.TTLAttribute] = numberValue(s.expiry(a.now, a.lease))

	if c.fingerprint != "" {
		record[attrFingerprint] = stringValue(c.fingerprint)
	}

	return record
}

// Values that every request shares: never written.
var (
	versionValue    = numberValue(formatVersion)
	zeroValue       = numberValue(0)
	oneValue        = numberValue(1)
	inProgressValue = stringValue(stateInProgress)
	completedValue  = stringValue(stateCompleted)
	failedValue     = stringValue(stateFailed)
	returnedValue   = numberValue(-1)
	sortValue       = stringValue(sortKeyValue)
)

// won makes the claim that follows from the record as it was before: new fence and attempt are one more than the old ones. What
// it can't follow from is not worked on: a claim with a wrong fence could never be completed.
func (c *claimCall) won(old item, a attempted) (*Claim, error) {
	if len(old) == 0 {
		return c.claim(firstFence(a), 1, false, a.lease), nil
	}

	rec, err := c.store.decode(old)
	if err != nil {
		return nil, keyError("claim", c.key, err)
	}

	return c.claim(*rec.Fence+1, rec.Attempts+1, *rec.Lease != 0, a.lease), nil
}

// firstFence is the fence of a new record.
func firstFence(a attempted) int64 { return a.now.UnixMilli() + 1 }

func (c *claimCall) claim(fence int64, attempt int, takeover bool, lease time.Time) *Claim {
	return &Claim{
		store: c.store, key: c.key, partition: c.partition, token: c.token, fingerprint: c.fingerprint,
		fence: fence, attempt: attempt, takeover: takeover, lease: lease,
	}
}

// decide reads a refusal, and does what the record that it carries asks for.
func (c *claimCall) decide(ctx context.Context, found item, a attempted) (*Claim, *Record, error) {
	claim, rec, err := c.answerOf(found, a)

	rare, ok := errors.AsType[*rareError](err)
	if !ok {
		return claim, rec, err
	}

	if rare.expired {
		claim, err = c.renew(ctx, rare.found)

		return claim, nil, err
	}

	return nil, nil, c.giveUp(ctx, rare.found)
}

// rareError is a refusal that only another request can answer.
type rareError struct {
	found   *storedRecord
	expired bool // past its retention; else its lease is over, and still it may not be taken
}

func (*rareError) Error() string { return "the record asks for another request" }

// answerOf is what a refusal says by itself: the record that it carries is the one that the condition was false for, at the
// attempt's time.
func (c *claimCall) answerOf(found item, a attempted) (*Claim, *Record, error) {
	s := c.store

	rec, err := s.decode(found)

	switch {
	case err != nil:
		return nil, nil, keyError("claim", c.key, err)
	case rec.isOwn(c.token):
		claim, err := c.own(rec)

		return claim, nil, err
	case rec.expired(a.now) && (rec.State != stateInProgress || rec.Lease == nil || rec.leaseOver(a.now, s.opts.ClockSkew)):
		return nil, nil, &rareError{found: rec, expired: true}
	case !rec.matches(c.fingerprint):
		return nil, nil, keyError("claim", c.key, ErrMismatch)
	case rec.State == stateCompleted:
		answer := rec.record(c.key)
		s.cache.add(c.partition, answer, rec.Fingerprint)

		return nil, answer, nil
	case rec.State == stateFailed:
		return nil, nil, &FailedError{Key: c.key, Cause: rec.Error, Attempts: rec.Attempts}
	case !rec.leaseOver(a.now, s.opts.ClockSkew):
		return nil, nil, &InProgressError{Key: c.key, Until: rec.until(), Holder: rec.holder()}
	}

	return nil, nil, &rareError{found: rec}
}

// own is our claim, seen again: an earlier attempt of this call was applied and its reply lost. What it found stands in the
// record.
func (c *claimCall) own(rec *storedRecord) (*Claim, error) {
	if rec.State != stateInProgress || rec.Lease == nil || *rec.Lease <= 0 {
		return nil, &FencedError{Key: c.key, Held: *rec.Fence, Current: *rec.Fence}
	}

	return c.claim(*rec.Fence, rec.Attempts, rec.Previous != 0, rec.until()), nil
}

// ended ends the call: the answer, and the event.
func (c *claimCall) ended(ctx context.Context, claim *Claim, rec *Record, err error) ClaimAnswer {
	c.store.observe(ctx, c.event(claim, rec, err))

	return ClaimAnswer{Claim: claim, Record: rec, Err: err}
}

func (c *claimCall) event(claim *Claim, rec *Record, err error) Event {
	e := Event{Key: c.key, Err: err}

	switch {
	case claim != nil:
		e.Kind, e.Fence, e.Attempt = Claimed, claim.fence, claim.attempt
		if claim.takeover {
			e.Kind = Takeover
		}
	case rec != nil:
		e.Kind, e.Fence, e.Attempt = Replayed, rec.Fence, rec.Attempts
	case errors.Is(err, ErrInProgress):
		e.Kind = InProgress
	case errors.Is(err, ErrMismatch):
		e.Kind = Mismatch
	case errors.Is(err, ErrFailed):
		e.Kind = Refused
	case errors.Is(err, ErrCorrupt):
		e.Kind = Corrupt
	default:
		e.Kind = Unanswered
	}

	return e
}
