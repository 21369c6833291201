package idemddb

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/idemddb/go-idemddb/internal/engine"
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/record"
)

// ClaimOptions shape one claim. Nil and zero mean the defaults.
type ClaimOptions struct {
	// Fingerprint identifies the input: a claim of the same key with another fingerprint is refused with ErrMismatch. The record
	// stores a digest of it. A record without a fingerprint matches any. Defaults to "": inputs under one key are not compared.
	Fingerprint string

	// NeedResult makes Run and Do return ErrResultOmitted if the work was done earlier and its result was not kept. Claim ignores it.
	// Defaults to false: Run returns a record without a result, Do a zero value, and neither an error.
	NeedResult bool

	// OnReplay is called by Run and Do with the record that is their answer, when another run has completed the key: to check that
	// the answer still holds, or to replace record.Result. Its error is that of the call; the key stays completed, and the next call
	// calls OnReplay again. Its panic goes on. Claim and Commit ignore it. Defaults to nil.
	OnReplay func(ctx context.Context, record *Record) error

	// OnEnding is called once by Run and Do, before they return, with how the work of the key ended: for the log or a metric of this
	// call. The Ending also says what their error leaves out, such as KindUnrecorded for work that is done and perhaps not recorded.
	// It is called before OnReplay, and also if fn panics or ends its goroutine. Its own panic goes on, and changes nothing of what
	// is written. Claim and Commit ignore it. Defaults to nil.
	OnEnding func(ctx context.Context, e Ending)

	// Optimistic is for Do, and for fn with no effect but what it stages: fn runs without a claim, and one transaction claims and
	// completes the key together with the effects. Two calls at the same time may both run fn; one of them is committed, and the
	// other returns its value. Cost: a duplicate runs fn, too, and is charged for its cancelled transaction, unless Options.Cache has
	// the record. [FromContext] has no claim then. Claim and Run return ErrMisuse, and Commit ignores it, because it never claims a
	// key before. The Store must have a Retention of at least 1 hour and a client that is a [Transactor]; otherwise Do returns
	// ErrBadEffects, and fn does not run. Defaults to false.
	Optimistic bool

	// Redelivered says that the key was probably claimed before, such as by an earlier delivery of the same message. It changes
	// only the cost of a claim in a shared request: a wrong value costs a second statement. Defaults to false.
	Redelivered bool

	// SkipResult says that the caller does not need the Result of a record: one that is kept beside it is then not read. Do ignores
	// it. Defaults to false.
	SkipResult bool

	// Wait is how long the call waits for a key that another worker holds before it returns ErrInProgress. Meanwhile it claims the
	// key again after pauses of 50 ms to 1 s, at 1 request and 1 WCU each. If several calls of the Store wait for one key, one of
	// them sends the claims, and its answer serves all; if it gets the claim, the next waiting call takes over the sending. A commit
	// waits in the same way when its work is done, and each try costs one transaction. Negative means 0. Defaults to 0: it does not
	// wait.
	Wait time.Duration
}

// Claim is the right to do the work of one key, until its lease ends and another worker takes the key over. Settle it with
// Complete, Release or Fail. It is safe for concurrent use. The methods of a nil Claim panic: Store.Claim returns nil if the key
// was completed before, and then its record is the answer.
type Claim struct {
	held        protocol.Held
	store       *Store
	caller      engine.Caller // that claimed it; the writes that settle it are of its Group
	key         string
	fingerprint string // as stored
	skipResult  bool
	trace       string // by Options.Trace; "" for none
	takenFrom   string // of a takeover: the traceparent that the claim before had

	staging staging

	mu       sync.Mutex
	renewers []*renewer // each keeps the lease
	lease    time.Time
	settling bool // the first settlement has begun: the lease is not renewed any more
	settled  Kind
	own      ownCompletion
	lost     *FencedError // the answer to its last write that was fenced
	member   bool         // the group waits for its settlement
}

// ownCompletion is the last completion of a claim. Until Settle makes one, it is one of the work itself.
type ownCompletion struct {
	answer  error // nil if the completion is written, and if there was none
	result  []byte
	omitted error // why there is no result
}

// Key returns the key as it was claimed.
func (c *Claim) Key() string { c.mustExist(); return c.key }

// Fence returns the fencing token: a number that is higher than that of every earlier claim of the key. Store it with the effect,
// and let the other system refuse a lower one than it has seen; then not even a worker that outlived its lease can do harm. It
// also rises across a deletion of the record, unless the key is deleted and claimed again within the difference of the clocks, or
// a claim that was sent before the deletion is applied after it.
func (c *Claim) Fence() int64 { c.mustExist(); return c.held.Fence }

// Attempt returns how many claims of the key have begun work, this one included: 1 for the first. A claim whose worker died
// counts, whether its work had begun or not.
func (c *Claim) Attempt() int { c.mustExist(); return c.held.Attempt }

// Takeover reports whether the lease of an earlier holder ran out: its work may have begun, and its effect may have happened.
func (c *Claim) Takeover() bool { c.mustExist(); return c.held.Previous != 0 }

// Held reports whether the claim can still be completed, as far as this process knows: it is not settled, its lease is not over
// by Options.Now, and no write of it was fenced.
func (c *Claim) Held() bool {
	c.mustExist()

	if c.store.disabled {
		return !c.isSettling()
	}

	return c.isHeld()
}

// TakenFrom returns the traceparent of the claim before, if this claim is a takeover and that one was made with Options.Trace;
// else "".
func (c *Claim) TakenFrom() string { c.mustExist(); return c.takenFrom }

// Deadline returns the end of the lease by Options.Now, as last renewed.
func (c *Claim) Deadline() time.Time {
	c.mustExist()
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.lease
}

// Keep renews the claim's lease at half of it for as long as the work takes. It returns the context for the work: the context
// carries the claim for [FromContext], and it is cancelled with ErrFenced as its cause if the claim is lost, because another
// worker has taken it over or because the lease ran out without having been renewed. Work that ends within half a lease costs no
// request.
//
// Call stop when the work is done. It returns after a renewal that is under way has ended. Renewal goes on when ctx ends, because
// the work may still run; it ends with the first settlement of the claim, without cancelling the context. The lease never goes
// beyond the deadline of ctx, or of the invocation.
func (c *Claim) Keep(ctx context.Context) (work context.Context, stop func()) {
	c.mustExist()

	return c.renewUntil(withWork(ctx, c, &c.staging), engine.LeaseBound(ctx))
}

// renewUntil renews the lease up to the deadline, unless it lasts so long.
func (c *Claim) renewUntil(ctx context.Context, deadline time.Time) (work context.Context, stop func()) {
	if c.store.disabled || c.lastsUntil(deadline) {
		return context.WithCancel(ctx)
	}

	return c.startRenewal(ctx, deadline)
}

func (c *Claim) mustExist() {
	if c == nil {
		panic("idemddb: nil Claim: the key was not claimed; Store.Claim returned its record or an error instead")
	}
}

// isHeld reports whether the claim is not settled, was not fenced and has a lease that is not over.
func (c *Claim) isHeld() bool {
	now := c.store.opts.Now() // the user's code, which may ask for the claim

	c.mu.Lock()
	defer c.mu.Unlock()

	return !c.settling && c.lost == nil && c.lease.After(now)
}

// lastsUntil reports whether the lease lasts to the deadline, so that there is nothing to renew. Without a deadline it does not.
func (c *Claim) lastsUntil(deadline time.Time) bool {
	left := c.left()

	return !deadline.IsZero() && time.Until(deadline) <= left+time.Millisecond
}

// left returns how long the lease lasts from now on.
func (c *Claim) left() time.Duration {
	now := c.store.opts.Now()

	c.mu.Lock()
	defer c.mu.Unlock()

	return c.lease.Sub(now)
}

func (c *Claim) isSettling() bool {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.settling
}

// stamps returns the function that reads the clock for one try. The lease is measured from before the request is sent, so the
// holder never trusts it for longer than the record says. What is left until the deadline is a duration, so its clock and
// Options.Now are never compared.
func (s *Store) stamps(deadline time.Time) func() protocol.Stamp {
	return func() protocol.Stamp {
		lease := s.opts.Lease
		if !deadline.IsZero() {
			lease = max(0, min(lease, time.Until(deadline)))
		}

		now := s.opts.Now()

		return protocol.Stamp{Now: now, Lease: time.UnixMilli(now.Add(lease).UnixMilli())}
	}
}

// running is work that runs with a context.
type running struct {
	claim   *Claim // nil without a claim
	staging *staging
	outer   *running // the work in which it is nested; nil for none
}

// workOf returns the innermost work that runs with a context, or nil.
func workOf(ctx context.Context) *running {
	w, _ := engine.Of(ctx).Work.(*running)

	return w
}

// FromContext returns the claim whose work runs with this context, for its fencing token or to settle it from inside.
func FromContext(ctx context.Context) (*Claim, bool) {
	w := workOf(ctx)
	if w == nil || w.claim == nil {
		return nil, false
	}

	return w.claim, true
}

// withWork returns the context for work. claim is nil for work without a claim.
func withWork(ctx context.Context, claim *Claim, s *staging) context.Context {
	return engine.Inside(ctx, &running{claim, s, workOf(ctx)})
}

// refusal turns the error of a claim's write into the one that the caller gets.
func (c *Claim) refusal(ctx context.Context, op string, found *record.Stored, err error) error {
	if !errors.Is(err, ErrFenced) {
		return keyError(op, c.key, err)
	}

	fenced := c.fencedError(ctx, found, err)

	c.mu.Lock()
	c.lost = fenced
	settled := op == "extend" && c.settling // a renewal that met the claim's own settlement loses nothing
	c.mu.Unlock()

	if !settled {
		c.observe(ctx, KindFenced, fenced)
	}

	if c.store.opts.RedeliverUnsent && fenced.Record != nil && len(found.Outbox) > 0 {
		return fmt.Errorf("%w: %w", fenced, ErrUnsent) // its own worker may be dead
	}

	return fenced
}

// fencedError describes the record that refused a write of the claim. If that record is completed, fencedError reads its result,
// because the caller may answer with it.
func (c *Claim) fencedError(ctx context.Context, found *record.Stored, err error) *FencedError {
	fenced := &FencedError{Key: c.key, Held: c.held.Fence}

	switch {
	case found != nil:
		fenced.Current, fenced.Holder = *found.Fence, found.Holder()
		fenced.hasFailed = fenced.Current == fenced.Held && found.State == record.Failed

		if found.State == record.Completed {
			fenced.Record = answerOf(found, c.key)
			if !c.skipResult {
				fenced.unread = c.store.results.read(ctx, fenced.Record, c.held.Partition, found.Result)
			}
		}
	case errors.Is(err, ErrCorrupt):
		fenced.Current = -1
	}

	return fenced
}

func (c *Claim) observe(ctx context.Context, kind Kind, err error) {
	c.store.observe(ctx, c.event(kind, err))
}

func (c *Claim) event(kind Kind, err error) Event {
	return Event{Kind: kind, Key: c.key, Fence: c.held.Fence, Attempt: c.held.Attempt, Err: err}
}

// observe emits an event.
func (s *Store) observe(ctx context.Context, e Event) {
	if s.isQuiet(&e) {
		s.observeQuiet(ctx, e)
	} else {
		s.opts.Observe(ctx, e)
	}
}

// isQuiet reports whether no returned error reports what an event says.
func (s *Store) isQuiet(e *Event) bool {
	switch e.Kind {
	case KindPanicked, KindParked:
		return true
	case KindCompleted: // the caller has the result, and the next one will miss it
		return e.Err != nil
	case KindUnsent: // else the call that finds the record returns the error
		return !s.opts.RedeliverUnsent
	default:
		return false
	}
}
