package lambdawrap

import (
	"context"
	"errors"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/engine"
	"github.com/idemddb/go-idemddb/internal/panicerror"
	"github.com/idemddb/go-idemddb/internal/schedule"
	"github.com/idemddb/go-idemddb/internal/sleep"
)

// follow is the goroutine of a message, which begins with the first decision of the schedule about it. ctx is that of the
// invocation.
func (v *invocation) follow(ctx context.Context, m *message, decided schedule.Action) {
	o := outcome{name: OutcomeReleased, err: errExited} // if the client of DynamoDB panics
	m.end = o

	defer v.running.Done()
	defer v.step(func(s *schedule.Schedule) { s.Finished(m.index, m.failed, o.recorded) })

	if decided.Kind == schedule.NoTime || decided.Kind == schedule.Blocked || m.quest.hookFailure != nil { // else the search has ended
		v.keys.conclude(ctx, m)
	}

	ctx = v.contextOf(ctx, m)

	o = v.endOf(ctx, m, decided)
	m.end = o.ofDuplicate()

	if v.has.ended || o.permanent && v.has.deadLetter { // the key is freed before the hook runs, because a hook may take long
		v.step(func(s *schedule.Schedule) { s.Settled(m.index, o.recorded) })
	}

	v.finish(ctx, v.settleBy, m, o)
}

// step reports an event to the schedule and does what follows from it. Nothing of that waits.
func (v *invocation) step(event func(s *schedule.Schedule)) {
	v.mu.Lock()
	defer v.mu.Unlock()

	v.schedule.Longest = time.Duration(v.durations.longest.Load())
	event(v.schedule)

	now := time.Now()
	actions, wakeAt := v.schedule.Actions(now), v.schedule.Wake(now)

	for _, a := range actions {
		if a.Message >= 0 && v.messages[a.Message].decisions != nil {
			v.messages[a.Message].decisions <- a
		} else {
			v.act(a)
		}
	}

	if !wakeAt.IsZero() && !wakeAt.Equal(v.wakeAt) { // a timer that nobody needs any more may fire
		v.timer.Reset(wakeAt.Sub(now))
	}

	v.wakeAt = wakeAt
}

// act does what the schedule says. It is called with v.mu held, and the calls of the group take the Engine's mutex inside it.
// While the Engine holds its own, it calls only the planner, and nothing that takes v.mu.
func (v *invocation) act(a schedule.Action) {
	switch a.Kind {
	case schedule.Expect:
		v.group.Expect(a.Other)
	case schedule.Idle:
		v.group.Flush()
	case schedule.Stop:
		v.stopStarting()
	case schedule.Late:
		close(v.closing)
	case schedule.Warn:
		m := v.messages[a.Other]
		v.spawn(func() { v.warnOfTrouble(v.contextOf(v.ctx, m)) })
	default: // the first decision about a message, whose goroutine begins with it
		m := v.messages[a.Message]
		if a.Kind == schedule.Claim {
			m.decisions = make(chan schedule.Action, 1) // it is given a worker later
		}

		v.spawn(func() { v.follow(v.ctx, m, a) })
	}
}

// spawn runs a task of the wrapper. A panic in it is the wrapper's own, or one of the DynamoDB client: the whole batch comes
// back.
func (v *invocation) spawn(task func()) {
	v.running.Go(func() {
		err := errExited

		defer func() {
			if p := recover(); p != nil {
				err = newPanicError(p)
			}

			if err != nil {
				v.fail(err)
			}
		}()

		task()

		err = nil
	})
}

// endOf works on a message, or returns why that is not to be done.
func (v *invocation) endOf(ctx context.Context, m *message, decided schedule.Action) outcome {
	v.mu.Lock()
	other := v.messages[decided.Other]
	v.mu.Unlock()

	switch decided.Kind {
	case schedule.NoKey:
		return noKeyOutcome(m.noKey)
	case schedule.NoTime:
		if m.noKey != nil {
			return noKeyOutcome(m.noKey)
		}

		return outcome{name: OutcomeNoTime, err: ErrNoTime}
	case schedule.Blocked:
		return m.blockedBy(other)
	case schedule.Same:
		return other.end
	default:
		return v.work(ctx, m, decided.Kind == schedule.Start)
	}
}

// contextOf returns the context for the work of a message, made from its own one or, if it has none, from that of the invocation.
// The writes that are made with it are of the invocation's group, and report to the schedule.
func (v *invocation) contextOf(ctx context.Context, m *message) context.Context {
	if m.derived != nil {
		ctx = m.derived
	}

	i := &engine.Invocation{
		Times: &engine.Times{Deadline: v.deadline, SettleBy: v.settleBy}, Group: v.group,
		Inside: &engine.Times{Deadline: v.deadline, SettleBy: v.lateAt},
		Noted:  func(kind, key string, err error) { v.logNote(ctx, note{kind, key, err}, m.id) },
	}

	if !v.hasOneHandler {
		i.Retried = func() { v.step(func(s *schedule.Schedule) { s.TryFailed(m.index) }) }
		i.Settling = func(hasEffect bool) { // the worker is free from here on: a commit waits only while handlers are at work
			v.step(func(s *schedule.Schedule) { s.Ran(time.Now(), m.index, hasEffect) })
		}
	}

	return engine.With(ctx, i)
}

// work begins the work of a message's key, runs the handler and settles the work.
func (v *invocation) work(ctx context.Context, m *message, hasWorker bool) outcome {
	work, o := v.beginWork(ctx, m)
	if work == nil {
		return o
	}

	ended := make(chan struct{})
	v.inHand.Store(m.asks.Key, ended)

	defer func() {
		v.inHand.CompareAndDelete(m.asks.Key, ended) // else it was taken over, by this very process
		close(ended)
	}()

	o, err := v.runHandler(ctx, m, work, hasWorker)

	switch o.name {
	case "": // until the work is settled, an effect counts as unrecorded
		if err != nil && (!panicerror.IsPermanent(err) || !v.has.deadLetter) {
			v.step(func(s *schedule.Schedule) { s.Failed(m.index) })
		}

		e := work.Settle(ctx, nil, err)
		o = outcomeOf(e)
		o.recorded = !e.Unknown && e.Kind != idemddb.KindUnrecorded && e.Kind != idemddb.KindUncommitted

		return o
	case OutcomeLate:
		return v.late(ctx, work)
	default:
		return givenBack(o, work.GiveBack(ctx))
	}
}

// beginWork begins the work of a message's key, and waits for another worker that holds it. Without work the outcome says why.
func (v *invocation) beginWork(ctx context.Context, m *message) (*idemddb.Work, outcome) {
	twin, isTwin := v.inHand.Load(m.asks.Key)
	if isTwin = isTwin && m.unclaimed; isTwin {
		if o := v.waitForTwin(m, twin); o.name != "" {
			return nil, o
		}
	}

	opts := m.claimOptions()
	opts.Redelivered = opts.Redelivered || isTwin // the other one has probably written the key's record
	poll := sleep.Poll{End: time.Now().Add(v.opts.Wait)}

	if m.unclaimed { // without a claim, the commit waits for another worker, so this loop does not
		opts.Wait, poll.End = v.opts.Wait, time.Time{}
	}

	for {
		if ctx.Err() != nil { // no request would be sent, so the outcome is no_time, not unanswered
			return nil, outcome{name: OutcomeNoTime, err: ErrNoTime}
		}

		work, ending := v.store.Begin(ctx, m.asks.Key, opts)
		if work != nil {
			return work, outcome{}
		}

		if ending.Kind != idemddb.KindInProgress || !v.waitForHolder(ctx, m, &poll) {
			return nil, outcomeOf(ending)
		}

		if o, goesOn := v.goesOn(m); !goesOn {
			return nil, o
		}

		opts.Redelivered = true
	}
}

// goesOn waits for what the schedule decides about a message that has stood aside. If it is not to be claimed, the outcome says
// why.
func (v *invocation) goesOn(m *message) (outcome, bool) {
	decided := <-m.decisions
	if decided.Kind != schedule.NoTime && decided.Kind != schedule.Blocked {
		return outcome{}, true
	}

	return v.notStarted(m, decided), false
}

// notStarted returns the outcome of a message that was claimed, or was waiting for its claim, when nothing started any more.
func (v *invocation) notStarted(m *message, decided schedule.Action) outcome {
	if decided.Kind != schedule.Blocked {
		return outcome{name: OutcomeNoTime, err: ErrNoTime}
	}

	v.mu.Lock()
	other := v.messages[decided.Other]
	v.mu.Unlock()

	return m.blockedBy(other)
}

// claimOptions returns the options for a claim of the message's key that does not wait.
func (m *message) claimOptions() *idemddb.ClaimOptions {
	return &idemddb.ClaimOptions{Fingerprint: m.asks.Fingerprint, Redelivered: m.receives > 1, SkipResult: true, Optimistic: m.unclaimed}
}

// runHandler runs the handler when there is a worker for it. An outcome with a name says that the handler did not run, or has not
// answered in time.
func (v *invocation) runHandler(ctx context.Context, m *message, work *idemddb.Work, hasWorker bool) (o outcome, err error) {
	claim, kept := work.Claim(), work.Context(ctx)

	if !hasWorker {
		v.step(func(s *schedule.Schedule) { s.Claimed(m.index) })
		decided := <-m.decisions
		if hasWorker = decided.Kind == schedule.Start; decided.Kind == schedule.Blocked {
			return v.notStarted(m, decided), nil
		}
	}

	switch cause := context.Cause(kept); {
	case !hasWorker, cause != nil && !errors.Is(cause, idemddb.ErrFenced):
		return outcome{name: OutcomeNoTime, err: ErrNoTime}, nil
	case cause != nil, claim != nil && !claim.Held():
		return outcome{name: OutcomeReleased, err: errors.Join(errLost, cause)}, nil
	}

	err, isLate := v.durations.handle(kept, v.opts.Timeout, v.closing, func(handling context.Context) error {
		if claim != nil && claim.Takeover() { // a panic of the logger is one of the handler here: the claim must not be kept
			logTakeover(ctx, v.logger(), m.asks.Key, m.id)
		}

		return m.work(handling)
	})
	if isLate {
		o.name = OutcomeLate
	}

	return o, err
}

// finish ends one message: it calls the dead-letter hook of one that will never succeed, writes the log line of one that did not
// end well, and sets the time of the next delivery. ctx is the message's own; end is that of the time for the dead-letter hook.
func (v *invocation) finish(ctx context.Context, end time.Time, m *message, o outcome) {
	m.outcome = o.name
	m.failed = !o.done
	err := o.err

	if o.permanent && v.has.deadLetter {
		err = v.deadLetter(ctx, end, m, o.err)
	}

	if v.counts != nil {
		v.counts.add(o.name, m.failed, o.permanent && !m.failed)
	}

	if err != nil {
		v.report(ctx, m, o, err)
	}

	if v.opts.Visibility != nil {
		if seconds := v.redelivery.ended(ctx, m, o); seconds != notHidden {
			v.spawn(func() { v.redelivery.hide(ctx, m, seconds) })
		}
	}

	if v.has.ended {
		v.callEnded(ctx, m, o.name)
	}
}

// blockedBy returns the outcome of a message that does not start because another one has failed.
func (m *message) blockedBy(other *message) outcome {
	if !m.fifo {
		return outcome{name: OutcomeBlocked, err: errStopped}
	}

	return outcome{name: OutcomeBlocked, err: errBlocked, seconds: other.seconds.Load()}
}
