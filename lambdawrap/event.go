package lambdawrap

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
)

// Batch wraps an existing handler of whole events for lambda.Start: it gets one event with just the messages that it must work on,
// in their order, and its answer is applied message by message. It is not called when there are none.
//
// Not in its event are messages whose key was completed before, is held by another worker or has failed for good, the second
// message of a key, and on a FIFO queue what comes after one that is reported failed. What it reports in
// BatchItemFailures is released and comes back, the rest is completed; an error, a panic, an empty id and one that it was not given
// fail all, as they do in SQS; an error marked [Permanent] ends the keys of all for good.
//
// The leases of all its messages are renewed while it runs. Its context carries no claim; it ends when Options.Reserve begins,
// or, with idemddb.ErrFenced as its cause, when the last of the claims is lost. Then all that it was given is reported
// failed and left to its leases. Options.Workers is not used.
//
// Where the handler gives no answer for single messages, use [SQS] with [Whole]. The function returned is as that of SQS. Batch
// panics for a nil store or handler.
func Batch(
	store *idemddb.Store, h func(context.Context, events.SQSEvent) (events.SQSEventResponse, error), opts *Options,
) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	if h == nil {
		panic("lambdawrap: handler: must not be nil")
	}

	w := newWrapper(store, opts)
	w.run = func(b *batch, ctx context.Context, messages []*message) error { return b.runWhole(ctx, messages, h) }

	return w.serve
}

var (
	errReported = errors.New("lambdawrap: the handler reported it failed")
	errStrange  = errors.New("lambdawrap: the handler's answer has an empty id, or one that it was not given: all of its messages come back")
)

// piece is one piece of work of a batch: the first message with its key, and the others.
type piece struct {
	*message

	twins   []*message
	claim   *idemddb.Claim // nil if it is not to be worked on
	stop    func()         // the keeping of its lease
	outcome outcome
}

// runWhole claims all keys, has the handler work on what must be worked on, and settles that.
func (b *batch) runWhole(
	ctx context.Context, messages []*message, h func(context.Context, events.SQSEvent) (events.SQSEventResponse, error),
) error {
	work, cancel := b.toWork(ctx)
	defer cancel()

	pieces := b.claimPieces(work, messages)
	work, stop := keepPieces(work, pieces)

	defer stop()

	given := b.choose(ctx, messages, pieces)
	if len(given) == 0 {
		return nil
	}

	failures := b.handleWhole(work, given, h)

	stop()

	return b.settlePieces(ctx, given, failures)
}

// claimPieces claims the first message of each key.
func (b *batch) claimPieces(work context.Context, messages []*message) map[[2]string]*piece {
	var (
		pieces = map[[2]string]*piece{}
		first  []*message
	)

	for _, m := range messages {
		p, ok := pieces[m.same()]

		switch {
		case m.unplanned != nil:
		case ok:
			p.twins = append(p.twins, m)
		default:
			pieces[m.same()] = &piece{message: m, outcome: outcome{err: errNoTime}, stop: func() {}}
			first = append(first, m)
		}
	}

	if work.Err() == nil {
		for i, answer := range b.group.Claim(work, requests(first)) {
			p := pieces[first[i].same()]
			p.claim, p.outcome = answer.Claim, b.refused(answer.Err)
		}
	}

	return pieces
}

// keepPieces keeps the leases. The context that it returns ends when the last claim is lost.
func keepPieces(work context.Context, pieces map[[2]string]*piece) (context.Context, func()) {
	work, cancel := context.WithCancelCause(work)

	var held atomic.Int64

	for _, p := range pieces {
		if p.claim == nil {
			continue
		}

		held.Add(1)

		kept, stop := p.claim.Keep(work)
		watch := context.AfterFunc(kept, func() {
			if held.Add(-1) == 0 {
				cancel(context.Cause(kept))
			}
		})
		p.stop = func() {
			watch()
			stop()
		}
	}

	return work, func() {
		for _, p := range pieces {
			p.stop()
		}

		cancel(nil)
	}
}

// choose answers for what need not be worked on, in the order of the batch, and returns the rest.
func (b *batch) choose(ctx context.Context, messages []*message, pieces map[[2]string]*piece) []*piece {
	var (
		given   []*piece
		blocked = map[string]int32{} // :: FIFO group one of whose messages failed → seconds until that one comes back
	)

	for _, m := range messages {
		p := pieces[m.same()]
		seconds, isBlocked := blocked[m.group]
		ended := true

		switch {
		case m.unplanned != nil:
			b.finish(ctx, m, outcome{err: m.unplanned})
		case m.fifo && isBlocked:
			o := outcome{err: errBlocked, seconds: seconds}

			if p.message == m && p.claim != nil {
				p.stop()

				o.err = errors.Join(o.err, b.unused(ctx, p.claim))
				p.claim, p.outcome = nil, o
			}

			b.finish(ctx, m, o)
		case p.claim == nil:
			b.finish(ctx, m, p.outcome)
		case p.message == m:
			given = append(given, p)
			ended = false
		default: // as the one that is given
			ended = false
		}

		if ended && m.failed && m.fifo {
			blocked[m.group] = m.seconds
		}
	}

	return given
}

// handleWhole calls the handler and reads its answer: an error for each message that failed.
func (b *batch) handleWhole(
	work context.Context, given []*piece, h func(context.Context, events.SQSEvent) (events.SQSEventResponse, error),
) map[*piece]error {
	var (
		event    events.SQSEvent
		response = make(chan events.SQSEventResponse, 1)
	)

	for _, p := range given {
		event.Records = append(event.Records, p.SQSMessage)
	}

	err := errNoTime
	if work.Err() == nil {
		err = await(work, b.reserve/answerPart, func() error {
			answer, err := h(work, event)
			response <- answer

			return err
		})
	}

	failures := map[*piece]error{}

	if err == nil {
		failures, err = readAnswer(<-response, given)
	}

	if err != nil {
		for _, p := range given {
			failures[p] = err
		}
	}

	return failures
}

func readAnswer(response events.SQSEventResponse, given []*piece) (map[*piece]error, error) {
	failures := map[*piece]error{}

	for _, failure := range response.BatchItemFailures {
		known := false

		for _, p := range given {
			if p.MessageId == failure.ItemIdentifier && p.MessageId != "" {
				failures[p], known = errReported, true
			}
		}

		if !known {
			return failures, errStrange
		}
	}

	return failures, nil
}

// settlePieces settles the claims, all in a group, and answers for their messages.
func (b *batch) settlePieces(ctx context.Context, given []*piece, failures map[*piece]error) error {
	var (
		running sync.WaitGroup
		panics  = make([]error, len(given))
	)

	for i, p := range given {
		running.Go(func() {
			panics[i] = recovered(func() error {
				o := b.settle(ctx, p.claim, failures[p])
				b.finish(ctx, p.message, o)

				for _, twin := range p.twins {
					b.finish(ctx, twin, o)
				}

				return nil
			})
		})
	}

	running.Wait()

	return errors.Join(panics...)
}
