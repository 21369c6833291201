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

// workAll works on all messages of a batch, in the order and at the times that the schedule says.
func (v *invocation) workAll(context.Context) {
	v.keys.start()
	v.keys.reportAll()
}

// follow is the goroutine of a message, which begins with the first decision of the schedule about it.
func (v *invocation) follow(m *message, decided schedule.Action) {
	o := outcome{name: OutcomeReleased, err: errExited} // if the client of DynamoDB panics
	m.end = o

	defer v.running.Done()
	defer v.step(func(s *schedule.Schedule, now time.Time) { s.Finished(now, m.index, m.failed, o.recorded) })

	v.keys.conclude(m)
	m.own = v.contextOf(v.keys.work, m)

	o = v.endOf(m, decided)
	m.end = o.ofDuplicate()

	if m.onOutcome != nil || o.permanent && m.deadLetter != nil { // a hook may take long, and nothing waits for it that waits for the work
		v.step(func(s *schedule.Schedule, now time.Time) { s.Settled(now, m.index, o.recorded) })
	}

	v.finish(m.own, m, o)
}

// endOf works on a message, or returns why that is not to be done.
func (v *invocation) endOf(m *message, decided schedule.Action) outcome {
	switch other := v.messages[decided.Other]; decided.Kind {
	case schedule.NoKey:
		return noKeyOutcome(m.noKey)
	case schedule.NoTime:
		if m.noKey != nil {
			return noKeyOutcome(m.noKey)
		}

		return outcome{name: OutcomeNoTime, err: errNoTime}
	case schedule.Blocked:
		return outcome{name: OutcomeBlocked, err: errBlocked, seconds: other.seconds}
	case schedule.Same:
		return other.end
	default:
		return v.work(m.own, m, decided.Kind == schedule.Start)
	}
}

// contextOf returns the context for the work of a message, made from its own one or, if it has none, from that of the invocation. The writes that
// are made with it are of the invocation's group, and report to the schedule.
func (v *invocation) contextOf(ctx context.Context, m *message) context.Context {
	if m.derived != nil {
		ctx = m.derived
	}

	i := &engine.Invocation{
		Times: &engine.Times{Deadline: v.deadline, SettleBy: v.answerAt}, Group: v.group,
		Unsent: func(key string, isParked bool, err error) { v.logUnsent(ctx, key, isParked, err, m.id) },
	}

	if !v.isWhole {
		i.Retried = func() { v.step(func(s *schedule.Schedule, now time.Time) { s.Refused(now, m.index) }) }
		i.Settling = func(hasEffect bool) { // the worker is free from here on: a commit waits only while handlers are at work
			v.step(func(s *schedule.Schedule, now time.Time) { s.Ran(now, m.index, hasEffect) })
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

	o, err := v.runHandler(ctx, m, work, hasWorker)

	switch o.name {
	case "":
		return settle(ctx, work, err)
	case OutcomeLate:
		return v.late(ctx, work)
	default:
		return givenBack(o, work.GiveBack(ctx))
	}
}

// beginWork begins the work of a message's key, and waits for another worker that holds it. Without work the outcome says why.
func (v *invocation) beginWork(ctx context.Context, m *message) (*idemddb.Work, outcome) {
	opts := m.claimOptions()
	poll := sleep.Poll{End: time.Now().Add(v.opts.Wait)}

	if m.unclaimed { // its commit waits for another worker, and not the claim that it does not have
		opts.Wait, poll.End = v.opts.Wait, time.Time{}
	}

	for {
		if ctx.Err() != nil { // DynamoDB would not be asked, so it is not what did not answer
			return nil, outcome{name: OutcomeNoTime, err: errNoTime}
		}

		work, ending := v.store.Begin(ctx, m.asks.Key, opts)
		if work != nil {
			return work, outcome{}
		}

		if ending.Kind != idemddb.KindInProgress || !v.waitForHolder(ctx, m, &poll) {
			return nil, outcomeOf(ending)
		}

		if decided := <-m.verdict; decided.Kind == schedule.NoTime {
			return nil, outcome{name: OutcomeNoTime, err: errNoTime}
		}

		opts.Redelivered = true
	}
}

// waitForHolder waits until the message's key may be claimed once more. It gives the message's place back meanwhile. It returns false if the time
// is over.
func (v *invocation) waitForHolder(ctx context.Context, m *message, poll *sleep.Poll) bool {
	if !time.Now().Before(poll.End) {
		return false
	}

	v.step(func(s *schedule.Schedule, now time.Time) { s.Waits(now, m.index) })

	if !poll.Next(ctx) {
		return false
	}

	v.step(func(s *schedule.Schedule, now time.Time) { s.Again(now, m.index) })

	return true
}

// claimOptions returns the options for a claim of the message's key that does not wait.
func (m *message) claimOptions() *idemddb.ClaimOptions {
	return &idemddb.ClaimOptions{Fingerprint: m.asks.Fingerprint, Redelivered: m.receives > 1, SkipResult: true, Optimistic: m.unclaimed}
}

// runHandler runs the handler when there is a worker for it. An outcome with a name says that the handler did not run, or has not answered
// in time.
func (v *invocation) runHandler(ctx context.Context, m *message, work *idemddb.Work, hasWorker bool) (o outcome, err error) {
	claim, kept := work.Claim(), work.Context(ctx)

	if !hasWorker && !v.waitForWorker(m) {
		return outcome{name: OutcomeNoTime, err: errNoTime}, nil
	}

	if o = mayRun(kept, claim); o.name != "" {
		return o, nil
	}

	if claim != nil && claim.Takeover() {
		logTakeover(ctx, v.logger(), m.asks.Key, m.id)
	}

	err, isLate := v.handle(v.outside(kept, v.lateAt), m.work)
	if isLate {
		o.name = OutcomeLate
	}

	return o, err
}

// waitForWorker waits for a worker. It returns false if nothing starts any more.
func (v *invocation) waitForWorker(m *message) bool {
	v.step(func(s *schedule.Schedule, now time.Time) { s.Claimed(now, m.index) })

	decided := <-m.verdict

	return decided.Kind == schedule.Start
}

// mayRun returns an outcome with a name if the handler must not run: the claim is lost, or the time is over.
func mayRun(ctx context.Context, claim *idemddb.Claim) (o outcome) {
	switch cause := context.Cause(ctx); {
	case cause != nil && !errors.Is(cause, idemddb.ErrFenced):
		return outcome{name: OutcomeNoTime, err: errNoTime}
	case cause != nil, claim != nil && !claim.Held():
		return outcome{name: OutcomeReleased, err: errors.Join(errLost, cause)}
	default:
		return o
	}
}

// outside returns the context for the user's code: what it asks of the Store is none of the wrapper's own work. What it settles itself is
// written until this time.
func (t times) outside(ctx context.Context, settleBy time.Time) context.Context {
	return engine.With(ctx, &engine.Invocation{
		Times: &engine.Times{Deadline: t.deadline, SettleBy: settleBy}, Unsent: engine.Of(ctx).Unsent,
	})
}

// handle runs a handler and returns its error. It returns late if the handler has not answered when the answer of the invocation is due;
// what the handler returns after that is dropped.
func (v *invocation) handle(ctx context.Context, h func(context.Context) error) (err error, late bool) { //nolint:revive // the error belongs to the handler
	ctx, cancel := withTimeout(ctx, v.opts.Timeout)
	defer cancel()

	begun := time.Now()
	answer := background(func() error { return h(ctx) })

	select {
	case err = <-answer:
	case <-v.closing:
		select {
		case err = <-answer: // both happened at once
		default:
			return nil, true
		}
	}

	if err == nil {
		v.durations.add(max(time.Since(begun), 1)) // 0 says that none is known
	}

	return err, false
}

// withTimeout returns the context of a handler, which ends after its Timeout. Zero means that it has no Timeout.
func withTimeout(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout <= 0 {
		return ctx, func() {}
	}

	return context.WithTimeout(ctx, timeout)
}

// errExited is the failure of code that ended its goroutine, as t.FailNow does.
var errExited = errors.New("lambdawrap: the code ended its goroutine (runtime.Goexit)")

// catch keeps a panic of the user's code in err. It is for a defer statement.
func catch(err *error) {
	if v := recover(); v != nil {
		*err = newPanicError(v)
	}
}

// background runs user code in a goroutine of its own, so that a panic, the end of its goroutine and code that never returns cost no
// more than its own message. The channel gives the code's error, once. An error that cannot be read, such as a typed nil pointer,
// is replaced here by the panic, so that no later code panics when it reads the error.
func background(code func() error) <-chan error {
	answer := make(chan error, 1) // code that is abandoned can always end

	go func() {
		err := errExited

		defer func() { answer <- err }()
		defer catch(&err)

		if err = code(); err != nil {
			err = panicerror.Readable(err)
		}
	}()

	return answer
}

// errHung is the failure of a hook or a client that did not return in time.
var errHung = errors.New("lambdawrap: the hook or client was still running when the answer was due")

// await runs user code until ctx ends. After that the code is abandoned.
func await(ctx context.Context, code func() error) error {
	select {
	case err := <-background(code):
		return err
	case <-ctx.Done():
		return errHung
	}
}
