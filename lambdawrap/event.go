package lambdawrap

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

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
// failed and left to its leases. Options.Workers is how many calls of the dead-letter hook there are at a time.
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
	w.run = func(b *batch, work, settle context.Context, messages []*message) error {
		return b.runWhole(work, settle, messages, h)
	}

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
	claim   *idemddb.Claim  // nil if it is not to be worked on
	kept    context.Context //nolint:containedctx // ends when the claim is lost
	stop    func()          // the keeping of its lease
	outcome outcome
}

// runWhole claims all keys, has the handler work on what must be worked on, and settles that.
func (b *batch) runWhole(
	work, settle context.Context, messages []*message,
	h func(context.Context, events.SQSEvent) (events.SQSEventResponse, error),
) error {
	held, stop, pieces := b.claimPieces(work, messages)
	defer stop()

	given, others := b.choose(work, settle, messages, pieces)
	failures := map[*piece]error{}

	if len(given) > 0 {
		failures = b.handleWhole(work, held, given, h)
	}

	stop()

	tasks := make([]func(), 0, len(given)+len(others))

	for _, p := range given {
		tasks = append(tasks, func() {
			o := settleClaim(settle, p.claim, failures[p])
			b.finish(settle, p.message, o)

			for _, twin := range p.twins {
				b.finish(settle, twin, o)
			}
		})
	}

	for _, other := range others {
		tasks = append(tasks, func() { b.finish(settle, other.message, other.outcome) })
	}

	if err := runAll(tasks); err != nil {
		return err
	}

	return b.hideAll(settle, messages)
}

func (b *batch) hideAll(settle context.Context, messages []*message) error {
	var tasks []func()

	for _, m := range messages {
		if m.hidden() {
			tasks = append(tasks, func() { b.hide(settle, m) })
		}
	}

	return runAll(tasks)
}

// runAll does tasks side by side, up to settlers at a time. Its error is their panics.
func runAll(tasks []func()) error {
	var (
		running sync.WaitGroup
		queue   = make(chan func(), len(tasks))
		panics  = make([]error, min(settlers, len(tasks)))
	)

	for _, task := range tasks {
		queue <- task
	}

	close(queue)

	for i := range panics {
		running.Go(func() {
			for task := range queue {
				panics[i] = errors.Join(panics[i], recovered(func() error {
					task()

					return nil
				}))
			}
		})
	}

	running.Wait()

	return errors.Join(panics...)
}

// claimPatience is how long the whole event waits for a key that gets no answer, such as one that is throttled; it is then
// reported failed, and the others are worked on.
const claimPatience = 5 * time.Second

// claimPieces claims the first message of each key, and keeps the leases until stop is called. The context for the work ends when
// the last claim is lost.
func (b *batch) claimPieces(
	work context.Context, messages []*message,
) (held context.Context, stop func(), pieces map[[2]string]*piece) {
	var (
		first []*piece
		asked []idemddb.ClaimRequest
	)

	pieces = map[[2]string]*piece{}

	for _, m := range messages {
		if _, ok := pieces[m.same()]; !ok && m.unplanned == nil {
			p := &piece{message: m, outcome: outcome{err: errNoTime}, stop: func() {}}
			pieces[m.same()] = p
			first, asked = append(first, p), append(asked, m.request())
		}
	}

	held, cancel := context.WithCancelCause(work)
	k := &keeper{work: held, cancel: cancel}
	k.held.Add(1) // until all are known

	if work.Err() == nil {
		// Not a deadline: the leases would be cut to it.
		claims, enough := context.WithCancel(work)
		defer enough()

		patience := time.AfterFunc(claimPatience, enough)
		defer patience.Stop()

		b.group.ClaimEach(claims, asked, func(answers []idemddb.ClaimAnswer) {
			for _, a := range answers {
				first[a.Index].claim, first[a.Index].outcome = a.Claim, b.refused(a.Err)
				k.keep(first[a.Index])
			}
		})
	}

	k.lost(nil)

	return held, func() {
		for _, p := range pieces {
			p.stop()
		}

		cancel(nil)
	}, pieces
}

// keeper keeps the leases of an event's pieces, and ends its context with the last of them.
type keeper struct {
	work   context.Context //nolint:containedctx // of the handler, for as long as its claims are kept
	cancel context.CancelCauseFunc
	held   atomic.Int64
}

func (k *keeper) keep(p *piece) {
	if p.claim == nil {
		return
	}

	k.held.Add(1)

	kept, stop := p.claim.Keep(k.work)
	ignore := context.AfterFunc(kept, func() { k.lost(context.Cause(kept)) })
	p.kept, p.stop = kept, func() {
		if ignore() {
			k.lost(nil)
		}

		stop()
	}
}

// lost takes one claim out. A cause is that it was lost, and not given back.
func (k *keeper) lost(cause error) {
	if k.held.Add(-1) == 0 && cause != nil {
		k.cancel(cause)
	}
}

// choose returns what must be worked on, in the order of the batch, and the rest of a standard queue with its outcomes. On a FIFO
// queue the rest is answered for here: whether the hook has taken a message decides what becomes of those behind it.
func (b *batch) choose(
	work, settle context.Context, messages []*message, pieces map[[2]string]*piece,
) (given, others []*piece) {
	blocked := map[string]int32{} // :: FIFO group one of whose messages failed → seconds until that one comes back

	for _, m := range messages {
		p := pieces[m.same()]
		seconds, isBlocked := blocked[m.group]

		var o outcome

		switch {
		case m.unplanned != nil:
			o = outcome{err: m.unplanned}
		case m.fifo && isBlocked:
			o = outcome{err: errBlocked, seconds: seconds}
			if p.message == m {
				b.giveBack(settle, p, o)
				o = p.outcome
			}
		case p.claim != nil && p.kept.Err() != nil:
			b.giveBack(settle, p, outcome{err: errors.Join(errUnbegun, context.Cause(p.kept))}) //nolint:contextcheck // its own
			o = p.outcome
		case p.claim == nil:
			o = p.outcome
		case p.message == m:
			given = append(given, p)

			continue
		default:
			p.twins = append(p.twins, m) // as the one that is given
			if m.fifo && m.group != p.group {
				blocked[m.group] = 0 // and nothing behind it before that is known
			}

			continue
		}

		if !m.fifo {
			others = append(others, &piece{message: m, outcome: o})

			continue
		}

		b.finish(work, m, o)

		if m.failed {
			blocked[m.group] = m.seconds
		}
	}

	return given, others
}

// giveBack ends a piece that will not be given to the handler.
func (b *batch) giveBack(settle context.Context, p *piece, o outcome) {
	if p.claim != nil {
		p.stop()

		if err := p.claim.ReleaseUnused(settle); !errors.Is(err, idemddb.ErrFenced) { // that it was lost is in the outcome
			o.err = errors.Join(o.err, err)
		}
	}

	p.claim, p.outcome = nil, o
}

// handleWhole calls the handler and reads its answer: an error for each message that failed.
func (b *batch) handleWhole(
	work, held context.Context, given []*piece, h func(context.Context, events.SQSEvent) (events.SQSEventResponse, error),
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
		err = await(work, b.reserve/answerPart, errLate, func() error {
			answer, err := h(held, event)
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
