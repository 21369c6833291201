package engine

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/idemddb/go-idemddb/internal/planner"
)

// Invocation is what a wrapper says about the calls of the Store that are made with its context. Its functions must be quick and
// safe for concurrent use, and must not panic.
type Invocation struct {
	Times  *Times // nil: those of the context
	Inside *Times // those of the code of a work, which settles what it claims itself; nil: Times
	Group  *Group // of the writes that claim and settle; nil: each call is a group of its own

	// Work is the innermost work that runs with the context, as the package of the Store knows it. Nil means that of the context
	// around it.
	Work any

	// Retried is called each time that a try of a write has failed and another one follows. The wrapper knows whether its work has
	// had an effect by then: it should not begin new work while the records of finished work do not get through. Defaults to nil.
	Retried func()

	// Settling is called when the code of a work has returned and, if the work has no claim, its commit waits for others. It says
	// whether the code has perhaps had an effect that no record shows yet. Defaults to nil.
	Settling func(hasEffect bool)

	// Noted is called for what an operator should know although no returned error reports it. kind is the Kind of the event that
	// reports it: unsent and parked, for a message of a completed record; completed, without its result; panicked; and, without a
	// key, unshared and reads_denied. Defaults to nil.
	Noted func(kind, key string, err error)
}

// Times divide the time of an invocation. Zero means no such limit.
type Times struct {
	Deadline time.Time // claims have leases up to it, though the context itself may end earlier
	SettleBy time.Time // writes that settle a claim are sent until then, though the context may have ended
}

type invocationKey struct{}

// With returns a context for calls of the Store inside of an invocation.
func With(ctx context.Context, i *Invocation) context.Context {
	if i.Work == nil {
		i.Work = Of(ctx).Work
	}

	return context.WithValue(ctx, invocationKey{}, i)
}

// Inside returns a context for the code of a work. What the code asks of the Store is none of the wrapper's own work, but belongs
// to the code's own group and to its own times.
func Inside(ctx context.Context, work any) context.Context {
	outer := Of(ctx)

	return With(ctx, &Invocation{Times: cmp.Or(outer.Inside, outer.Times), Noted: outer.Noted, Work: work})
}

// Of returns the invocation of a context; an empty one if it has none. It must not be changed.
func Of(ctx context.Context) *Invocation {
	if i, ok := ctx.Value(invocationKey{}).(*Invocation); ok {
		return i
	}

	return &Invocation{}
}

// LeaseBound returns the time that bounds the leases of claims which are made with a context; zero for none.
func LeaseBound(ctx context.Context) time.Time {
	if i, ok := ctx.Value(invocationKey{}).(*Invocation); ok && i.Times != nil {
		return i.Times.Deadline
	}

	deadline, _ := ctx.Deadline()

	return deadline
}

// RequestID returns the id of the Lambda invocation that a context belongs to; "" outside of Lambda.
func RequestID(ctx context.Context) string {
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		return lc.AwsRequestID
	}

	return ""
}

// DurableExecution returns the ARN of the durable execution whose handler has this context. A durable function of Lambda is
// replayed by design: its handler runs again from the beginning with each invocation, and its steps answer from their
// checkpoints. The context of a step is none of these, because a step runs code that is not replayed; neither is one that was
// derived from the handler's.
func DurableExecution(ctx context.Context) (arn string, isDurable bool) {
	d, isDurable := ctx.(interface { // as the contexts of AWS' SDK for durable executions
		ExecutionArn() string
		IsReplaying() bool
	})
	if !isDurable {
		return "", false
	}

	return d.ExecutionArn(), true
}

// SettlePause is the longest pause between the tries of a write that settles finished work: each pause is a window for a crash.
const SettlePause = 200 * time.Millisecond

// settleTime is the least time for a write that settles a claim outside of a wrapper.
const settleTime = 2 * time.Second

// SettleContext returns the context and the policy for a write that settles finished work. The context keeps ctx's values, but
// not its end: that the work was cancelled must not keep its record from being written. The write outlasts an IAM policy that
// takes time to propagate; for a claim, a denial is final. lease is how long a claim lasts.
func SettleContext(ctx context.Context, lease time.Duration) (context.Context, planner.Policy, context.CancelFunc) {
	end := settleEnd(ctx, lease)
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), end)

	return ctx, planner.Policy{End: end, Pause: SettlePause, Denied: lease}, cancel
}

// settleEnd returns until when a write that settles finished work is sent.
func settleEnd(ctx context.Context, lease time.Duration) time.Time {
	times := Of(ctx).Times
	if deadline, ok := ctx.Deadline(); ok && times == nil {
		if least := time.Now().Add(settleTime); deadline.Before(least) {
			return least
		}

		return deadline
	}

	if times == nil || times.SettleBy.IsZero() {
		return time.Now().Add(lease)
	}

	if now := time.Now(); now.After(times.SettleBy) && !now.Before(times.Deadline) { // nothing has ended the process at its deadline
		return now.Add(settleTime)
	}

	return times.SettleBy
}

// Caller is what a context says of a call that is made with it.
type Caller struct {
	Invocation *Invocation
	Group      *Group    // of its writes; nil if the context has none, or one of another Store
	LeaseBound time.Time // as by the function LeaseBound
	RequestID  string    // as by the function RequestID
}

// Caller returns what a context says of a call that is made with it.
func (e *Engine) Caller(ctx context.Context) Caller {
	c := Caller{Invocation: Of(ctx), LeaseBound: LeaseBound(ctx), RequestID: RequestID(ctx)}
	if g := c.Invocation.Group; g != nil && g.engine == e {
		c.Group = g
	}

	return c
}

// Group is what belongs together among the writes of a Store: those of one invocation. A wrapper announces what will come, so
// that the writes of the group wait a moment for each other and share a request. A nil Group is none. A Group needs no closing,
// and is safe for concurrent use.
type Group struct {
	engine *Engine
	plan   planner.Group // guarded by the mutex of the Engine

	mu        sync.Mutex
	answers   int  // claims that DynamoDB has answered
	exhausted bool // a claim had no answer for as long as it is tried, and DynamoDB has answered none since that claim began
}

// NewGroup returns a Group of writes.
func (e *Engine) NewGroup() *Group { return &Group{engine: e} }

// Ahead returns how many keys a wrapper may claim before their work can begin: as many as fit into one request. It returns 0
// where that would save no request, and where a crash would count against a key whose work had not begun (Config.IsCounted).
func (e *Engine) Ahead() int {
	if e.IsCounted || !e.Shares() {
		return 0
	}

	return planner.Size
}

// Shares reports whether writes share requests now.
func (e *Engine) Shares() bool {
	e.mu.Lock()
	defer e.mu.Unlock()

	return e.planner.Shares(time.Now())
}

// KeepOrder says that a member of the group may begin only when the one before has ended, as messages of a FIFO queue. It is
// called before the first write.
func (g *Group) KeepOrder() { g.plan.IsOrdered = true }

// Expect announces n claims that are made at once, so that the first ones wait for the others and share their request. An
// announced claim that never comes delays the others by at most 10 ms.
func (g *Group) Expect(n int) {
	g.engine.mu.Lock()
	defer g.engine.mu.Unlock()

	g.plan.Expected += n
}

// Arrive counts a member of the group that may have been announced, and will still write.
func (g *Group) Arrive() {
	if g == nil {
		return
	}

	g.engine.mu.Lock()
	defer g.engine.mu.Unlock()

	g.plan.Members++
	g.plan.Expected = max(0, g.plan.Expected-1)
}

// Join counts a member of the group, which will still write: the writes of the group wait a moment for it.
func (g *Group) Join() {
	if g != nil {
		g.engine.change(func() { g.plan.Members++ })
	}
}

// Leave ends a membership.
func (g *Group) Leave() {
	if g == nil {
		return
	}

	g.engine.change(func() { g.engine.leave(&g.plan) })
}

// Flush sends the commits that wait for others of the group. A commit waits until Flush is called or a transaction is full, but
// at most 0.1 s and at most half of the time that it has. A wrapper calls Flush when no other commit will come soon.
func (g *Group) Flush() {
	g.engine.change(func() {
		g.plan.Flush()
		g.engine.depart(time.Now())
	})
}

// Patience returns until when a claim without an answer is tried, where limit is the longest time, and how many claims of the
// group DynamoDB has answered so far, for Answered. While DynamoDB answers no claim of the group, only the first claims wait;
// later ones make one try.
func (g *Group) Patience(ctx context.Context, limit time.Duration) (end time.Time, answers int) {
	if g == nil {
		return Earliest(ctx, limit), 0
	}

	end, now := Earliest(ctx, limit), time.Now() // without the mutex: the context may be the user's own

	g.mu.Lock()
	defer g.mu.Unlock()

	if g.exhausted && now.Before(end) {
		end = now
	}

	return end, g.answers
}

// Earliest returns the end of ctx, or limit from now if that is earlier.
func Earliest(ctx context.Context, limit time.Duration) time.Time {
	end := time.Now().Add(limit)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(end) {
		return deadline
	}

	return end
}

// Answered notes that a claim got an answer, or that it was given up without one. If a claim is given up while others are
// answered, the trouble concerns its own key only. answers is the number that Patience returned.
func (g *Group) Answered(isAnswered bool, answers int) {
	if g == nil {
		return
	}

	g.mu.Lock()
	defer g.mu.Unlock()

	if isAnswered {
		g.answers++
	}

	g.exhausted = g.answers == answers
}
