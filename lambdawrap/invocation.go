package lambdawrap

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/engine"
	"github.com/idemddb/go-idemddb/internal/schedule"
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

	messages []*message
	keys     *search
	group    *engine.Group // of the writes of the invocation
	counts   *counts       // of Metrics; nil for none
	time     schedule.Time

	starting     context.Context    //nolint:containedctx // ends when nothing starts any more; the key functions of all messages share it
	stopStarting context.CancelFunc // nothing starts any more

	changes chan struct{} // as many changes of a message's visibility as may be made at a time
	closing chan struct{} // closed when handlers without an answer are late
	running sync.WaitGroup

	mu           sync.Mutex // guards what follows, and the verdicts of the messages
	schedule     *schedule.Schedule
	timer        *time.Timer
	wakeAt       time.Time // when the timer fires; zero if it does not
	failure      error     // the wrapper's own
	stopRenewals []func()  // of the claims of late handlers
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

// serve returns the function for lambda.Start. work works on the messages.
func (w *wrapper) serve(
	work func(v *invocation, ctx context.Context),
) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	return func(ctx context.Context, event events.SQSEvent) (response events.SQSEventResponse, err error) {
		wrongEvent, messages := checkMessages(event), w.plan(event)

		v, err := w.newInvocation(ctx, wrongEvent)
		if err != nil {
			return response, err
		}

		if err := v.run(ctx, messages, func(ctx context.Context) { work(v, ctx) }); err != nil {
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

	v := &invocation{wrapper: w, times: w.timesOf(ctx), changes: make(chan struct{}, visibilityCalls), closing: make(chan struct{})}
	v.time = schedule.Time{Begun: time.Now(), End: v.reserved, Timeout: w.opts.Timeout}

	if err := v.checkTime(ctx); err != nil {
		return nil, err
	}

	v.group = w.engine.NewGroup()
	v.counts, _ = ctx.Value(countsKey{}).(*counts)

	return v, nil
}

// checkTime returns an error if Options.Timeout does not fit into the invocation's time, because then no handler may start. It only
// warns if the reserve alone does not fit, because the invocation may have been held up at its start.
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

// run works on the messages until all of them have ended. When the reserve begins, nothing starts any more; when half of it is left, handlers
// without an answer are late. The error is the wrapper's own.
func (v *invocation) run(ctx context.Context, messages []*message, work func(context.Context)) error {
	ctx, cancel := v.workContext(ctx)
	defer cancel()

	v.starting, v.stopStarting = context.WithCancel(ctx)
	defer v.stopStarting()

	v.keys = v.newSearch(ctx, messages)

	v.makeSchedule(messages)
	defer v.stopTimer()

	if ctx.Err() != nil {
		v.stop() // at once, before anything can start
	}

	defer context.AfterFunc(ctx, v.stop)()

	work(ctx)
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
	work := engine.With(ctx, &engine.Invocation{Times: &engine.Times{Deadline: t.deadline, SettleBy: t.answerAt}})
	if t.deadline.IsZero() {
		return context.WithCancel(work)
	}

	return context.WithDeadline(work, t.reserved)
}

// late keeps the key of a handler that may still run: its claim is extended once, by a whole lease. If a hook or another message delays the
// answer, the lease is renewed until then.
func (v *invocation) late(ctx context.Context, work *idemddb.Work) outcome {
	ctx, cancel := v.answerContext(ctx)
	defer cancel()

	stop, err := work.Abandon(engine.With(ctx, &engine.Invocation{Times: &engine.Times{}}))

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
