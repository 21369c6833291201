package lambdawrap

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/turns"
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

	batch   *idemddb.Batch
	counts  *counts // of Metrics; nil for none
	starts  turns.StartRule
	limits  *turns.Limits
	keys    turns.Keys[outcome]
	start   time.Time
	hooks   chan struct{} // as many calls of the dead-letter hook as may run at a time
	changes chan struct{} // the same for changes of a message's visibility
	closing chan struct{} // closed when handlers without an answer are late
	running sync.WaitGroup

	closeOnce sync.Once // for closing

	starting context.Context //nolint:containedctx // ends when nothing starts any more; the key functions of all messages share it

	mu           sync.Mutex
	tasks        int // goroutines of the wrapper
	overdue      int // of these, waiting for a handler whose time is over
	closed       bool
	failure      error    // the wrapper's own
	stopRenewals []func() // of the claims of late handlers
}

// Parts of the reserve, counted from the deadline.
const (
	latePart   = 2 // when half is left, handlers without an answer are late
	answerPart = 4 // when a quarter is left, the answer is sent
)

// times say how the time of an invocation is divided. Without a deadline all of them are zero.
type times struct {
	deadline time.Time
	reserved time.Time // when the reserve begins
	lateAt   time.Time // when handlers without an answer are late
	answerAt time.Time // when the answer is sent
}

// serve returns the function for lambda.Start. begin spawns the tasks that work on the messages.
func (w *wrapper) serve(
	begin func(v *invocation, ctx context.Context, messages []*message),
) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	return func(ctx context.Context, event events.SQSEvent) (response events.SQSEventResponse, err error) {
		v, err := w.newInvocation(ctx, checkMessages(event))
		if err != nil {
			return response, err
		}

		messages := w.plan(event)

		if err := v.run(ctx, func(ctx context.Context) { begin(v, ctx, messages) }); err != nil {
			return response, err
		}

		return w.answer(messages)
	}
}

// newInvocation begins an invocation, unless the wrapper, its event or its time is wrong.
func (w *wrapper) newInvocation(ctx context.Context, wrongEvent error) (*invocation, error) {
	if err := errors.Join(w.invalid, wrongEvent); err != nil {
		return nil, err
	}

	v := &invocation{
		wrapper: w, times: w.timesOf(ctx), start: time.Now(), hooks: make(chan struct{}, w.workers),
		changes: make(chan struct{}, visibilityCalls), closing: make(chan struct{}),
	}
	if err := v.checkTime(ctx); err != nil {
		return nil, err
	}

	v.batch = w.store.Batch()
	v.counts, _ = ctx.Value(countsKey{}).(*counts)
	v.starts = turns.StartRule{Begun: v.start, End: v.reserved, Timeout: w.opts.Timeout, Durations: &w.durations}
	v.limits = &turns.Limits{Workers: w.workers, HasTime: v.starts.HasTime, Ahead: v.batch.Ahead, Expect: v.batch.Expect}

	if w.opts.Optimistic {
		v.limits.Idle = v.batch.FlushCommits
	}

	return v, nil
}

// checkTime returns an error if Options.Timeout does not fit into the invocation's time, because then no handler may start. It only
// warns if the reserve alone does not fit, because the invocation may have been held up at its start.
func (v *invocation) checkTime(ctx context.Context) error {
	if v.deadline.IsZero() {
		return nil
	}

	left := v.deadline.Sub(v.start)

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

// run runs the tasks until they have ended. When the reserve begins, nothing starts any more; when half of it is left, handlers without
// an answer are late. The error is the wrapper's own.
func (v *invocation) run(ctx context.Context, begin func(context.Context)) error {
	work, cancel := v.workContext(ctx)
	defer cancel()

	if !v.deadline.IsZero() {
		closing := time.AfterFunc(time.Until(v.lateAt), v.close)
		defer closing.Stop()
	}

	v.starting, v.limits.OnStop = context.WithCancel(work)
	defer v.limits.OnStop()

	if work.Err() != nil {
		v.limits.Stop() // at once, before anything can start
	}

	defer context.AfterFunc(work, v.limits.Stop)()

	begin(work)
	v.running.Wait()

	for _, stop := range v.stopRenewals {
		stop()
	}

	if v.failure != nil {
		v.logFailure(ctx)
	}

	return v.failure
}

func (w *wrapper) timesOf(ctx context.Context) (t times) {
	if deadline, ok := ctx.Deadline(); ok {
		t = times{deadline, deadline.Add(-w.reserve), deadline.Add(-w.reserve / latePart), deadline.Add(-w.reserve / answerPart)}
	}

	return t
}

// workContext returns the context for all that begins before the reserve does, and ends with it.
func (t times) workContext(ctx context.Context) (context.Context, context.CancelFunc) {
	work := idemddb.WithInvocation(ctx, t.deadline, t.answerAt)
	if t.deadline.IsZero() {
		return context.WithCancel(work)
	}

	return context.WithDeadline(work, t.reserved)
}

// spawn runs a task of the wrapper. A panic in it is the wrapper's own, or one of the DynamoDB client: the whole batch comes back.
func (v *invocation) spawn(task func()) {
	v.change(func() { v.tasks++ })
	v.running.Go(func() {
		err := errExited

		defer func() {
			if p := recover(); p != nil {
				err = newPanicError(p)
			}

			if err != nil {
				v.fail(err)
			}

			v.change(func() { v.tasks-- })
		}()

		task()

		err = nil
	})
}

// fail makes the invocation fail. Nothing starts any more.
func (v *invocation) fail(err error) {
	v.mu.Lock()

	if v.failure == nil {
		v.failure = fmt.Errorf("lambdawrap: the wrapper or the DynamoDB client failed, so the whole batch comes back: %w", err)
	}
	v.mu.Unlock()

	v.limits.Stop()
}

func (v *invocation) close() { v.change(func() { v.closed = true }) }

// change changes the counts. If all tasks wait for handlers whose time is over, these are late, and the answer is sent. If all workers
// are kept by such handlers, nothing more starts.
func (v *invocation) change(f func()) {
	v.mu.Lock()
	f()

	stuck := v.overdue >= v.workers
	closes := v.closed || v.overdue > 0 && v.overdue == v.tasks

	if closes {
		v.closeOnce.Do(func() { close(v.closing) })
	}
	v.mu.Unlock()

	if stuck || closes {
		v.limits.Stop()
	}
}

// late keeps the key of a handler that may still run: its claim is extended once, by a whole lease. If a hook or another message delays the
// answer, the lease is renewed until then.
func (v *invocation) late(ctx context.Context, work *idemddb.Work) outcome {
	ctx, cancel := v.answerContext(ctx)
	defer cancel()

	stop, err := work.Abandon(idemddb.WithInvocation(ctx, time.Time{}, time.Time{}))

	v.mu.Lock()
	v.stopRenewals = append(v.stopRenewals, stop)
	v.mu.Unlock()

	claim := work.Claim()
	if claim == nil {
		return outcome{name: OutcomeLate, err: errLateUnclaimed}
	}

	return outcome{name: OutcomeLate, err: errors.Join(errLate, err), until: claim.Deadline()}
}

// answerContext returns a context for what must still happen when the work is over. It ends in time for the answer.
func (v *invocation) answerContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return within(ctx, v.answerAt)
}

// within returns a context with the values of ctx that ends at this time, or not at all if it is zero.
func within(ctx context.Context, end time.Time) (context.Context, context.CancelFunc) {
	ctx = context.WithoutCancel(ctx)
	if end.IsZero() {
		return context.WithCancel(ctx)
	}

	return context.WithDeadline(ctx, end)
}

// answer reports the messages that must come back. Lambda takes an empty id for success or for total failure, depending on the version
// that reads it.
func (w *wrapper) answer(messages []*message) (events.SQSEventResponse, error) {
	response := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}} // null would be a success as well, but says less
	reported := map[string]bool{}

	for _, m := range messages {
		switch {
		case !m.failed || reported[m.MessageId] && m.MessageId != "":
		case m.MessageId == "":
			return events.SQSEventResponse{}, errors.New("lambdawrap: a message without messageId failed, so the whole batch must come back")
		default:
			reported[m.MessageId] = true
			response.BatchItemFailures = append(response.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
		}
	}

	if w.opts.FailOnOutage && isOutage(messages) {
		return events.SQSEventResponse{}, errors.New("lambdawrap: DynamoDB answered no claim of the batch, and Options.FailOnOutage is set")
	}

	return response, nil
}
