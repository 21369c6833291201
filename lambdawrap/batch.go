package lambdawrap

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/schedule"
)

// batchHandler is an existing handler of whole events that reports failures message by message.
type batchHandler = func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)

// Batch wraps an existing handler of whole events for lambda.Start. The handler gets one event with just the messages that it
// must work on, in their order, and its answer is applied message by message. It is not called if there are none.
//
// Messages whose key was completed before, is held by another worker or has failed for good are not in its event, nor the second
// message of a key, nor, on a FIFO queue, the messages behind one that is reported failed. The messages that the handler reports
// in BatchItemFailures are released and come back, and so do those behind them in their FIFO groups; the others are completed. An
// error, a panic, an empty id and an id that the handler was not given fail all, as they do in SQS. An error marked [Permanent]
// ends the keys of all for good.
//
// While the handler runs, the leases of all its messages are renewed. Its context carries no claim. It ends after
// Options.Timeout, when Options.Reserve begins, or, with idemddb.ErrFenced as its cause, when the last of the claims is lost. A
// handler that stops then and reports what it has not done loses nothing: its answer counts until half of the reserve is left.
// Options.Workers is how many calls of the dead-letter hook run at a time.
//
// For a handler without answers for single messages, use [SQS] with [Whole]. The returned function is as that of SQS. Batch
// panics for a nil store or handler.
func Batch(
	store *idemddb.Store, h func(context.Context, events.SQSEvent) (events.SQSEventResponse, error), opts *Options,
) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	if h == nil {
		panic("lambdawrap: handler: must not be nil")
	}

	w := newWrapper(store, opts, "Options")

	if w.opts.StopAtFailure {
		w.invalid = errors.Join(w.invalid, errors.New(
			"lambdawrap: Options.StopAtFailure: must not be set with Batch, whose handler decides what it works on"))
	}

	if w.opts.Optimistic {
		w.invalid = errors.Join(w.invalid, errors.New("lambdawrap: Options.Optimistic: must not be set with Batch, where one call has many keys"))
	}

	return w.serve(func(v *invocation, ctx context.Context) { v.handleBatch(ctx, h) })
}

var (
	errReported  = errors.New("lambdawrap: the handler reported it failed")
	errUnknownID = errors.New("lambdawrap: the handler's answer has an empty id, or one that it was not given: all of its messages come back")
)

// handleBatch waits for all keys and claims them, calls the handler with what must be worked on, and settles its answer.
func (v *invocation) handleBatch(ctx context.Context, h batchHandler) {
	v.findAll(ctx)

	pieces := v.claimAll(ctx)

	held, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	renewAll(held, cancel, pieces)

	given := v.choose(ctx, pieces)
	isLost := func(p *piece) bool { return !p.work.Claim().Held() }

	var o outcome // without a name if the handler has answered

	switch {
	case len(given) == 0:
	case !v.hasTime():
		o = outcome{name: OutcomeNoTime, err: ErrNoTime}
	case slices.ContainsFunc(given, isLost): // a claim can be lost while choose waits for the dead-letter hook of a FIFO message
		o = outcome{name: OutcomeReleased, err: errLost}
	case v.callBatch(held, given, h): // it is late
		o.name = OutcomeLate
	}

	v.endAll(ctx, given, o)
}

// callBatch calls the handler with the event of these messages and notes which of them failed. It reports whether the handler is
// late; what that returns is not read. A message behind a failed one of its FIFO group fails although the handler did not report
// it, because it must run again after that message.
func (v *invocation) callBatch(ctx context.Context, given []*piece, h batchHandler) (isLate bool) {
	var response events.SQSEventResponse

	v.step(func(s *schedule.Schedule) { s.Call(time.Now()) })

	err, isLate := v.durations.handle(v.outside(ctx, v.lateAt), v.opts.Timeout, v.closing, func(ctx context.Context) (err error) {
		response, err = h(ctx, eventOf(given))

		return err
	})

	v.step((*schedule.Schedule).Called)

	if err == nil && !isLate {
		err = readAnswer(response, given)
	}

	for _, p := range given {
		if p.failure = errors.Join(p.failure, err); p.failure == nil && isBehind(given, p.message) {
			p.failure = errBlocked
		}
	}

	return isLate
}

func eventOf(given []*piece) (event events.SQSEvent) {
	for _, p := range given {
		event.Records = append(event.Records, p.given)
	}

	return event
}

// readAnswer notes the failure of each piece that the handler reported. If the handler reported an id that it was not given,
// readAnswer returns errUnknownID, because the answer then proves nothing.
func readAnswer(answer events.SQSEventResponse, given []*piece) error {
	for _, failure := range answer.BatchItemFailures {
		known := false

		for _, p := range given {
			if p.given.MessageId == failure.ItemIdentifier && p.given.MessageId != "" {
				p.failure, known = errReported, true
			}
		}

		if !known {
			return errUnknownID
		}
	}

	return nil
}

// isBehind reports whether an earlier message of a message's FIFO group failed, by the handler's answer.
func isBehind(given []*piece, m *message) bool {
	return m.fifo && slices.ContainsFunc(given, func(p *piece) bool {
		return p.failure != nil && p.group == m.group && p.place < m.place
	})
}

// endAll ends all pieces, side by side, and finishes their messages. unanswered says why the handler has no answer; it has no
// name if there is one.
func (v *invocation) endAll(ctx context.Context, given []*piece, unanswered outcome) {
	for _, p := range given {
		v.spawn(func() {
			own := v.contextOf(ctx, p.message)
			o := v.endPiece(own, p, unanswered)
			v.finish(own, v.answerAt, p.message, o)
			v.finishOthers(ctx, given, p, o)
		})
	}
}

func (v *invocation) endPiece(ctx context.Context, p *piece, unanswered outcome) outcome {
	switch unanswered.name {
	case "":
		return p.settle(ctx)
	case OutcomeLate:
		return v.late(ctx, p.work)
	default:
		return p.unused(ctx, unanswered)
	}
}

// finishOthers finishes the messages of a piece for which no handler ran. They end as its first message did, unless they are
// behind a message of their FIFO group that the handler reported.
func (v *invocation) finishOthers(ctx context.Context, given []*piece, p *piece, first outcome) {
	for _, m := range p.others {
		o := first.ofDuplicate()
		if first.err == nil && isBehind(given, m) {
			o = outcome{name: OutcomeBlocked, err: errBlocked}
		}

		v.finish(v.contextOf(ctx, m), v.answerAt, m, o)
	}
}
