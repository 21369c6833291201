package idemddb

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/sleep"
)

// ClaimOptions shape one claim. Nil and zero mean the defaults.
type ClaimOptions struct {
	// Fingerprint identifies the input: a claim of the same key with another fingerprint is refused with ErrMismatch. The record
	// stores a digest of it. A record without a fingerprint matches any. Defaults to "": inputs under one key are not compared.
	Fingerprint string

	// Wait is how long the call waits for a key that another worker holds before it returns ErrInProgress. Meanwhile it claims
	// the key again after pauses of 50 ms to 1 s, at 1 request and 1 WCU each. A commit waits in the same way when its work is done,
	// and each time costs its transaction. Zero and negative: it does not wait.
	Wait time.Duration

	// NeedResult makes Do return ErrResultOmitted if the work was done earlier and its result was not kept. Claim ignores it.
	// Defaults to false: Do returns a zero value and no error.
	NeedResult bool

	// Optimistic is for Do, and for fn with no effect but what it stages: fn runs without a claim, and one transaction claims and
	// completes the key together with the effects. Two calls at the same time may both run fn; one of them is committed, and the other
	// returns its value. [FromContext] has no claim then. Claim returns an error. Defaults to false.
	Optimistic bool

	// Redelivered says that the key was probably claimed before, such as by an earlier delivery of the same message. It changes
	// only the cost of a claim in a [Batch]: a wrong value costs a second statement. Defaults to false.
	Redelivered bool

	// SkipResult says that a record needs no Result: one that is in Options.Results is not read. Do ignores it. Defaults to false.
	SkipResult bool
}

// Claim is the right to do the work of one key, until its lease ends and another worker takes the key over. Settle it with Complete,
// Release or Fail. It is safe for concurrent use. The methods of a nil Claim panic: Store.Claim returns nil if the key was
// completed before, and then its record is the answer.
type Claim struct {
	store       *Store
	batch       *Batch // nil for a claim of Store.Claim
	key         string
	partition   string
	token       string
	fingerprint string // as stored
	fence       int64
	attempt     int
	takeover    bool
	skipResult  bool
	trace       string // by Options.Trace; "" for none
	takenFrom   string // of a takeover: the traceparent that the claim before had

	staging staging

	mu       sync.Mutex
	renewer  *renewer // nil if the lease is not kept
	lease    time.Time
	settling bool // the first settlement has begun: the lease is not renewed any more
	settled  Kind
	lost     *FencedError // the answer to its last write that was fenced
	member   bool         // the batch waits for its settlement
}

// Claim asks for the right to do the work of a key. Exactly one of claim, record and error is non-nil.
//
//   - A claim: the key is new, was released, its holder's lease ran out, or its record is past its retention. Do the work,
//     then call Complete.
//   - A record: the work was done before, and the record holds its result.
//
// It costs 1 request and 1 WCU for each KB of the record, and 2 requests for a record past its retention that Time to Live has not
// deleted yet. A record from Options.Cache costs none. The claim lasts for Options.Lease, but not beyond ctx's deadline.
//
// A claim that is returned is held: if less than half of its lease is left when its answer arrives, after an outage for example,
// the lease is extended first, with one more request.
//
// Errors: ErrInProgress, ErrMismatch, ErrFailed, ErrCorrupt, ErrBadKey. Nothing was written, with one exception: the claim that
// finds the attempts used up (Options.MaxAttempts) or a lease that ran out (Options.NoTakeover) writes FAILED before it answers
// ErrFailed. After any other error the key may be claimed, without a worker, until the lease ends. A request without an answer
// is sent again until Options.ClaimPatience or ctx ends. If the key is completed and Options.Results cannot read its result now, that
// is an error, too; a result that is not the one of the record is ErrCorrupt.
func (s *Store) Claim(ctx context.Context, key string, opts *ClaimOptions) (*Claim, *Record, error) {
	return s.acquire(ctx, nil, key, opts)
}

// acquisition is one call of Claim. All of its tries share the owner token.
type acquisition struct {
	store       *Store
	key         string
	partition   string
	token       string
	fingerprint string    // as stored; "" for none
	trace       string    // by Options.Trace; "" for none
	deadline    time.Time // bounds the lease; zero for none
	redelivered bool
	skipResult  bool
	answers     int // of the batch, when this claim began

	// How the write is sent, and what the last try would have written.
	insert bool // in a shared request: as an INSERT, because there is probably no record
	turns  int  // how often the answer asked for the other statement
	last   stamp

	// The answer. Exactly one of claim, record and err is set.
	claim  *Claim
	record *Record
	err    error
	result types.AttributeValue // of the record, as stored
	unsent *storedRecord        // the record of the answer, if it has messages that are not sent
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

	if s.disabled {
		return s.claimDisabled(ctx, key), nil, nil
	}

	partition, err := s.partition(key)
	if err != nil {
		return nil, nil, keyError("claim", key, err)
	}

	a := s.newAcquisition(ctx, key, partition, opts)
	a.deadline = leaseBound(ctx)

	if !a.cached() {
		a.trace = s.trace(ctx)
		a.wait(ctx, opts.Wait, func() { a.try(ctx, b) })
	}

	if a.record != nil {
		a.useRecord(ctx, b)
	}

	s.observe(ctx, a.event())

	return a.claim, a.record, a.err
}

func (s *Store) newAcquisition(ctx context.Context, key, partition string, opts *ClaimOptions) *acquisition {
	return &acquisition{
		store: s, key: key, partition: partition, token: newToken(requestID(ctx)), fingerprint: storedFingerprint(opts.Fingerprint),
		redelivered: opts.Redelivered, skipResult: opts.SkipResult,
	}
}

// cached looks the key up in memory. It returns false if the key is not there.
func (a *acquisition) cached() bool {
	if a.store.cache == nil {
		return false
	}

	found := a.store.cache.get(a.partition, a.key, a.store.opts.Now())
	if found == nil {
		return false
	}

	if a.fingerprint != "" && found.fingerprint != "" && a.fingerprint != found.fingerprint {
		a.err = keyError("claim", a.key, ErrMismatch)
	} else {
		a.record, a.result = &found.record, found.result
	}

	return true
}

// wait tries to claim the key, and again for as long as the caller waits for another worker.
func (a *acquisition) wait(ctx context.Context, limit time.Duration, try func()) {
	end := time.Now().Add(limit)

	for pause := pollMin; ; pause = min(2*pause, pollMax) {
		try()

		left := time.Until(end)
		if left <= 0 || !errors.Is(a.err, ErrInProgress) {
			return
		}

		if !sleep.For(ctx, min(pause, left)) {
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

		if time.Until(p.end) < retryBase || !sleep.For(ctx, retryBase) {
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

// Key returns the key as it was claimed.
func (c *Claim) Key() string { c.mustExist(); return c.key }

// Fence returns the fencing token: a number that is higher than that of every earlier claim of the key. Store it with the effect, and
// let the other system refuse a lower one than it has seen; then not even a worker that outlived its lease can do harm. It also
// rises across a deletion of the record, unless the key is deleted and claimed again within the difference of the clocks, or a
// claim that was sent before the deletion is applied after it.
func (c *Claim) Fence() int64 { c.mustExist(); return c.fence }

// Attempt returns how many claims of the key have begun work, this one included: 1 for the first. A claim whose worker died counts,
// whether its work had begun or not.
func (c *Claim) Attempt() int { c.mustExist(); return c.attempt }

// Takeover tells whether the lease of an earlier holder ran out: its work may have begun, and its effect may have happened.
func (c *Claim) Takeover() bool { c.mustExist(); return c.takeover }

// TakenFrom returns the traceparent of the claim before, if this claim is a takeover and that one was made with Options.Trace; else "".
func (c *Claim) TakenFrom() string { c.mustExist(); return c.takenFrom }

// Deadline returns the end of the lease by Options.Now, as last renewed.
func (c *Claim) Deadline() time.Time {
	c.mustExist()
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.lease
}

// Settled returns how the claim ended: Completed, Released or Failed. It returns "" while the claim is open and if the outcome of its
// settlement is unknown. It is for wrappers, whose handler may settle the claim itself.
func (c *Claim) Settled() Kind {
	c.mustExist()
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.settled
}

// Held tells whether the claim's lease is not over by Options.Now, and no write of the claim was fenced. It is for wrappers, whose work
// may begin some time after the claim.
func (c *Claim) Held() bool {
	c.mustExist()

	if c.store.disabled {
		return true
	}

	c.mu.Lock()
	defer c.mu.Unlock()

	return c.lost == nil && c.lease.After(c.store.opts.Now())
}

func (c *Claim) mustExist() {
	if c == nil {
		panic("idemddb: nil Claim: the key was not claimed; Store.Claim returned its record or an error instead")
	}
}

// left is how long the lease lasts.
func (c *Claim) left() time.Duration { return c.Deadline().Sub(c.store.opts.Now()) }

// tokenMark ends the request id in an owner token.
const tokenMark = "/"

// newToken returns the owner token of one call of Claim: the record that an earlier try of the same call wrote is recognised by it.
// The request id is there for operators.
func newToken(requestID string) string {
	if requestID == "" {
		return rand.Text()
	}

	return requestID + tokenMark + rand.Text()
}

// requestID is the id of the Lambda invocation; "" outside of Lambda.
func requestID(ctx context.Context) string {
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		return lc.AwsRequestID
	}

	return ""
}
