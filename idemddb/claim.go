package idemddb

import (
	"context"
	"sync"
	"time"

	"github.com/idemddb/go-idemddb/internal/engine"
	"github.com/idemddb/go-idemddb/internal/protocol"
)

// ClaimOptions shape one claim. Nil and zero mean the defaults.
type ClaimOptions struct {
	// Fingerprint identifies the input: a claim of the same key with another fingerprint is refused with ErrMismatch. The record
	// stores a digest of it. A record without a fingerprint matches any. Defaults to "": inputs under one key are not compared.
	Fingerprint string

	// Wait is how long the call waits for a key that another worker holds before it returns ErrInProgress. Meanwhile it claims the key
	// again after pauses of 50 ms to 1 s, at 1 request and 1 WCU each. A commit waits in the same way when its work is done, and each try
	// costs one transaction. Zero and negative: it does not wait.
	Wait time.Duration

	// NeedResult makes Run and Do return ErrResultOmitted if the work was done earlier and its result was not kept. Claim ignores it.
	// Defaults to false: Run returns a record without a result, Do a zero value, and neither an error.
	NeedResult bool

	// Optimistic is for Do, and for fn with no effect but what it stages: fn runs without a claim, and one transaction claims and
	// completes the key together with the effects. Two calls at the same time may both run fn; one of them is committed, and the other
	// returns its value. [FromContext] has no claim then. Claim and Run return an error. Defaults to false.
	Optimistic bool

	// Redelivered says that the key was probably claimed before, such as by an earlier delivery of the same message. It changes
	// only the cost of a claim in a shared request: a wrong value costs a second statement. Defaults to false.
	Redelivered bool

	// SkipResult says that the caller does not need the Result of a record: a result in Options.Results is then not read. Do ignores it.
	// Defaults to false.
	SkipResult bool
}

// Claim is the right to do the work of one key, until its lease ends and another worker takes the key over. Settle it with Complete,
// Release or Fail. It is safe for concurrent use. The methods of a nil Claim panic: Store.Claim returns nil if the key was
// completed before, and then its record is the answer.
type Claim struct {
	held        protocol.Held
	store       *Store
	group       *engine.Group // of the writes that settle it; nil for none
	key         string
	fingerprint string // as stored
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
	member   bool         // the group waits for its settlement
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
	s.mustExist()

	return s.acquire(ctx, key, opts)
}

// Key returns the key as it was claimed.
func (c *Claim) Key() string { c.mustExist(); return c.key }

// Fence returns the fencing token: a number that is higher than that of every earlier claim of the key. Store it with the effect, and
// let the other system refuse a lower one than it has seen; then not even a worker that outlived its lease can do harm. It also
// rises across a deletion of the record, unless the key is deleted and claimed again within the difference of the clocks, or a
// claim that was sent before the deletion is applied after it.
func (c *Claim) Fence() int64 { c.mustExist(); return c.held.Fence }

// Attempt returns how many claims of the key have begun work, this one included: 1 for the first. A claim whose worker died counts,
// whether its work had begun or not.
func (c *Claim) Attempt() int { c.mustExist(); return c.held.Attempt }

// Takeover reports whether the lease of an earlier holder ran out: its work may have begun, and its effect may have happened.
func (c *Claim) Takeover() bool { c.mustExist(); return c.held.Previous != 0 }

// Held reports whether the claim can still be completed, as far as this process knows: it is not settled, its lease is not over by Options.Now, and no
// write of it was fenced.
func (c *Claim) Held() bool {
	c.mustExist()

	return c.store.disabled || c.isHeld()
}

// TakenFrom returns the traceparent of the claim before, if this claim is a takeover and that one was made with Options.Trace; else "".
func (c *Claim) TakenFrom() string { c.mustExist(); return c.takenFrom }

func (c *Claim) mustExist() {
	if c == nil {
		panic("idemddb: nil Claim: the key was not claimed; Store.Claim returned its record or an error instead")
	}
}

// isHeld reports whether the claim is not settled, was not fenced and has a lease that is not over.
func (c *Claim) isHeld() bool {
	c.mu.Lock()
	defer c.mu.Unlock()

	return !c.settling && c.lost == nil && c.lease.After(c.store.opts.Now())
}
