package lambdawrap

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/engine"
	"github.com/idemddb/go-idemddb/internal/schedule"
	"github.com/idemddb/go-idemddb/internal/sleep"
)

// invocation is one call of a wrapped handler.
//
// Its time is divided by the reserve, which ends at the deadline:
//
//	start ────────────────────── reserve begins ──── half of it left ──── a quarter left ──── deadline
//	handlers start while enough  nothing starts,     handlers without     the answer is sent
//	time is left                 contexts end        an answer are late
type invocation struct {
	*wrapper
	times

	messages []*message // by their index in the schedule; what stands in envelopes is behind what arrived; guarded by mu
	keys     *search
	group    *engine.Group // of the writes of the invocation
	counts   *counts       // of Metrics; nil for none
	time     schedule.Time

	// What the schedule decides begins in the goroutine that reports an event to it: that of a timer, which has no context, or that
	// of another message, which has a context of its own. So the context for the work on all messages stands here.
	ctx context.Context //nolint:containedctx // as above

	stopped      <-chan struct{}    // closed when nothing starts any more
	stopStarting context.CancelFunc // closes stopped

	redelivery redelivery
	closing    chan struct{} // closed when handlers without an answer are late
	running    sync.WaitGroup

	mu           sync.Mutex // guards what follows, and message.decisions
	schedule     *schedule.Schedule
	timer        *time.Timer
	wakeAt       time.Time // when the last step wanted the timer to fire; zero if it did not
	failure      error     // the wrapper's own
	stopRenewals []func()  // of the claims of late handlers
}

// Parts of the reserve, counted from the deadline.
const (
	latePart   = 2  // when half is left, handlers without an answer are late
	answerPart = 4  // when a quarter is left, the answer is sent
	hookPart   = 16 // what is kept before the answer for hooks that are told how a message ended
)

// times say how the time of an invocation is divided. Without a deadline all of them are zero.
type times struct {
	deadline time.Time
	reserved time.Time // when the reserve begins
	lateAt   time.Time // when handlers without an answer are late
	settleBy time.Time // until when records are written and dead letters are sent
	answerAt time.Time // when the answer is sent
}

// newInvocation begins an invocation, unless the wrapper, its event or its time is wrong.
func (w *wrapper) newInvocation(ctx context.Context, wrongEvent error) (*invocation, error) {
	if err := errors.Join(w.invalid, wrongEvent); err != nil {
		return nil, err
	}

	v := &invocation{wrapper: w, times: w.timesOf(ctx), closing: make(chan struct{})}
	v.redelivery = redelivery{w, v.answerAt, make(chan struct{}, visibilityCalls)}
	v.time = schedule.Time{Begun: time.Now(), End: v.reserved, Timeout: w.opts.Timeout}

	if err := v.checkTime(ctx); err != nil {
		return nil, err
	}

	v.counts, _ = ctx.Value(countsKey{}).(*counts)

	return v, nil
}

// checkTime returns an error if Options.Timeout does not fit into the invocation's time, because then no handler may start. It
// only warns if the reserve alone does not fit, because the invocation may have been held up at its start.
func (v *invocation) checkTime(ctx context.Context) error {
	if v.deadline.IsZero() {
		return nil
	}

	left := v.deadline.Sub(v.time.Begun)

	switch {
	case v.opts.Timeout > 0 && v.opts.Timeout > left-v.reserve:
		return fmt.Errorf("lambdawrap: %[1]s.Timeout: %[2]v and %[1]s.Reserve of %[3]v do not fit into the %[4]v that the invocation has",
			v.optsName, v.opts.Timeout, v.reserve, left.Round(time.Millisecond))
	case left <= v.reserve:
		return v.warnOfReserve(ctx, left.Round(time.Millisecond))
	default:
		return nil
	}
}

// run works on the messages until all of them have ended: each by itself when the schedule says so, or all of them by one call of
// whole, if that is not nil. When the reserve begins, nothing starts any more; when half of it is left, handlers without an
// answer are late. The error is the wrapper's own.
func (v *invocation) run(ctx context.Context, messages []*message, whole func(*invocation, context.Context)) error {
	inOrder := slices.ContainsFunc(messages, func(m *message) bool { return m.fifo })
	config := v.configOf(messages, inOrder)

	ctx, cancel := v.workContext(ctx)
	defer cancel()

	starting, stop := context.WithCancel(ctx) // ends with ctx, too
	v.ctx, v.stopped, v.stopStarting = ctx, starting.Done(), stop

	v.mu.Lock()

	now := time.Now()
	v.group, config.Ahead = v.engine.NewGroup(), v.engine.Ahead()

	if inOrder {
		v.group.KeepOrder()
	}

	v.messages, v.schedule = messages, schedule.New(config)
	v.timer = time.AfterFunc(v.schedule.Wake(now).Sub(now), func() { // without a deadline it fires at once, for nothing
		v.step(func(s *schedule.Schedule) { s.Tick(time.Now()) })
	})
	v.keys = v.newSearch(messages, v.time.UntilLastStart(now, time.Duration(v.durations.longest.Load())))
	v.mu.Unlock()

	defer v.timer.Stop()

	defer context.AfterFunc(ctx, v.stop)()

	v.keys.start(starting)

	if whole != nil {
		v.spawn(func() { whole(v, ctx) })
	} else {
		v.keys.reportAll()
	}

	v.running.Wait()

	for _, stop := range v.stopRenewals {
		stop()
	}

	if v.failure != nil {
		v.logFailure(ctx, v.failure)
	}

	return v.failure
}

// configOf says what the schedule must know, which decides about each of the messages. With inOrder, some wait for each other.
func (v *invocation) configOf(messages []*message, inOrder bool) schedule.Config {
	c := schedule.Config{
		Messages: make([]schedule.Message, len(messages)), Workers: v.workers, Time: v.time,
		Grace: v.reserve / latePart, LateAt: v.lateAt, Optimistic: v.opts.Optimistic, OneHandler: v.hasOneHandler,
		StopAtFailure: v.opts.StopAtFailure && !inOrder,
	}

	for i, m := range messages {
		if c.Messages[i].Unclaimed = m.unclaimed; m.fifo {
			c.Messages[i].Group = m.group
		}
	}

	if !v.hasOneHandler {
		v.running.Add(len(messages)) // until each of them is finished
	}

	return c
}

func (w *wrapper) timesOf(ctx context.Context) (t times) {
	if deadline, ok := ctx.Deadline(); ok {
		t = times{deadline: deadline, reserved: deadline.Add(-w.reserve), lateAt: deadline.Add(-w.reserve / latePart)}
		t.answerAt = deadline.Add(-w.reserve / answerPart)
		t.settleBy = t.answerAt.Add(-w.reserve / hookPart)
	}

	return t
}

// workContext returns the context for all that begins before the reserve does, and ends with it.
func (t times) workContext(ctx context.Context) (context.Context, context.CancelFunc) {
	work := engine.With(ctx, &engine.Invocation{Times: &engine.Times{Deadline: t.deadline, SettleBy: t.answerAt}})
	if t.reserved.IsZero() {
		return context.WithCancel(work)
	}

	return context.WithDeadline(work, t.reserved)
}

// settleContext returns a context for what must still happen when the work is over. It ends in time for the hooks and the answer.
func (t times) settleContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return within(ctx, t.settleBy)
}

// outside returns the context for the user's code: what it asks of the Store is none of the wrapper's own work. What it settles
// itself is written until this time.
func (t times) outside(ctx context.Context, settleBy time.Time) context.Context {
	return engine.With(ctx, &engine.Invocation{
		Times: &engine.Times{Deadline: t.deadline, SettleBy: settleBy}, Noted: engine.Of(ctx).Noted,
	})
}

// late keeps the key of a handler that may still run: its claim is extended once, by a whole lease. If a hook or another message
// delays the answer, the lease is renewed until then.
func (v *invocation) late(ctx context.Context, work *idemddb.Work) outcome {
	ctx, cancel := v.settleContext(ctx)
	defer cancel()

	stop, err := work.Abandon(ctx)

	v.mu.Lock()
	v.stopRenewals = append(v.stopRenewals, stop)
	v.mu.Unlock()

	claim := work.Claim()
	if claim == nil {
		return outcome{name: OutcomeLate, err: errLateUnclaimed}
	}

	return outcome{name: OutcomeLate, err: errors.Join(errLate, err), until: claim.Deadline()}
}

// fail makes the invocation fail. Nothing starts any more.
func (v *invocation) fail(err error) {
	v.mu.Lock()

	if v.failure == nil {
		v.failure = fmt.Errorf("lambdawrap: the wrapper or the DynamoDB client failed, so the whole batch comes back: %w", err)
	}
	v.mu.Unlock()

	v.stop()
}

// stop lets nothing start any more.
func (v *invocation) stop() { v.step((*schedule.Schedule).Stop) }

// hasTime reports whether another handler may start, or its key be claimed.
func (v *invocation) hasTime() bool {
	return v.time.HasTime(time.Now(), time.Duration(v.durations.longest.Load()))
}

// untilLastStart returns how much time is left until it is too late for a handler to start, in an invocation with a deadline.
func (v *invocation) untilLastStart() time.Duration {
	return v.time.UntilLastStart(time.Now(), time.Duration(v.durations.longest.Load()))
}

// split gives the schedule what else stood in the envelope of a message. It is called with v.mu held, before the message's own
// key is reported.
func (v *invocation) split(s *schedule.Schedule, m *message) {
	first, ok := s.Split(m.index, len(m.parts))
	if !ok { // it is reported failed, and all of it comes back
		m.parts = nil

		return
	}

	m.around = &envelope{open: 1 + len(m.parts), seconds: notHidden}

	for i, p := range m.parts {
		p.index, p.around = first+i, m.around
		v.messages = append(v.messages, p)

		if !v.hasOneHandler {
			v.running.Add(1) // until it is finished
		}
	}
}

// waitForHolder waits until the message's key may be claimed once more. It gives the message's place back meanwhile. It returns
// false if the time is over.
func (v *invocation) waitForHolder(ctx context.Context, m *message, poll *sleep.Poll) bool {
	own, isOwn := v.inHand.Load(m.asks.Key)
	ended, _ := own.(chan struct{})

	if m.unclaimed {
		return false
	}

	return v.standAside(m, func() bool {
		if isOwn {
			return v.waitForOwn(ended)
		}

		return poll.Next(ctx)
	})
}

// standAside gives the message's place back while it waits, and lets the schedule decide about it anew. It returns false if wait
// does.
func (v *invocation) standAside(m *message, wait func() bool) bool {
	v.step(func(s *schedule.Schedule) { s.Waits(m.index) })

	if !wait() {
		return false
	}

	v.step(func(s *schedule.Schedule) { s.Again(m.index) })

	return true
}

// waitForTwin lets a message that needs no claim wait until another invocation of this process has ended its work on the same
// key. Then the message is claimed: if that work was completed, its record answers, and the handler does not run for nothing. An
// outcome with a name says why nothing begins.
func (v *invocation) waitForTwin(m *message, twin any) (o outcome) {
	v.step(func(*schedule.Schedule) { m.decisions = make(chan schedule.Action, 1) }) // it has had its worker, and gives it back

	ended, _ := twin.(chan struct{})
	if !v.standAside(m, func() bool { return v.waitForOwn(ended) }) {
		return outcome{name: OutcomeNoTime, err: ErrNoTime}
	}

	if o, goesOn := v.goesOn(m); !goesOn {
		return o
	}

	m.unclaimed = false

	return o
}

// waitForOwn waits until another invocation of this process has ended its work on a key. It returns false if nothing starts any
// more.
func (v *invocation) waitForOwn(ended <-chan struct{}) bool {
	select {
	case <-ended:
		return true
	case <-v.stopped:
		return false
	}
}
