package lambdawrap

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
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

	return w.serve(func(v *invocation, ctx context.Context) { (&batchCall{invocation: v, handler: h}).handle(ctx) })
}

var (
	errReported  = errors.New("lambdawrap: the handler reported it failed")
	errUnknownID = errors.New("lambdawrap: the handler's answer has an empty id, or one that it was not given: all of its messages come back")
)

// batchCall is what Batch does in one invocation: it makes one call of the handler for all messages.
type batchCall struct {
	*invocation

	handler batchHandler
	ordered []*message               // what arrived and what stood in envelopes, in the order of the batch
	pieces  map[schedule.Work]*piece // of the messages that have a key
	given   []*piece                 // what the handler must work on, in the order of the batch
}

// handle waits for all keys and claims them, calls the handler with what must be worked on, and settles its answer: it ends all
// pieces, side by side.
func (c *batchCall) handle(ctx context.Context) {
	c.findAll(ctx)
	c.claimAll(ctx)

	held, cancel := c.renewAll(ctx)
	defer cancel()

	c.choose(ctx)

	isLost := func(p *piece) bool { return !p.work.Claim().Held() }

	var o outcome // without a name if the handler has answered

	switch {
	case len(c.given) == 0:
	case !c.hasTime():
		o = outcome{name: OutcomeNoTime, err: ErrNoTime}
	case slices.ContainsFunc(c.given, isLost): // a claim can be lost while choose waits for the dead-letter hook of a FIFO message
		o = outcome{name: OutcomeReleased, err: errLost}
	case c.call(held): // it is late
		o.name = OutcomeLate
	}

	for _, p := range c.given {
		c.spawn(func() { c.endPiece(ctx, p, o) })
	}
}

// findAll waits for the keys of all messages, which are looked for side by side. A message whose key is not found in time is
// reported failed, and the others are claimed.
func (c *batchCall) findAll(ctx context.Context) {
	c.keys.await()

	for _, m := range c.messages {
		c.keys.conclude(ctx, m)
	}

	c.splitAll()
}

// splitAll puts what stood in the envelopes of all messages behind these, in the order of the batch.
func (c *batchCall) splitAll() {
	arrived := c.messages

	c.step(func(s *schedule.Schedule) {
		for _, m := range arrived {
			c.split(s, m)
		}
	})

	for _, m := range arrived {
		c.ordered = append(append(c.ordered, m), m.parts...)
	}

	for place, m := range c.ordered {
		m.place = place
	}
}

// claimAll claims the first message of each key, all at once. If too little time is left, no key is claimed, and each piece has
// the outcome no_time.
func (c *batchCall) claimAll(ctx context.Context) {
	c.pieces = map[schedule.Work]*piece{}

	for _, m := range c.ordered {
		if c.pieces[m.asks] == nil && m.noKey == nil {
			c.pieces[m.asks] = &piece{message: m, out: outcome{name: OutcomeNoTime, err: ErrNoTime}}
		}
	}

	if !c.hasTime() {
		return
	}

	var claims sync.WaitGroup

	c.group.Expect(len(c.pieces))

	for _, p := range c.pieces {
		claims.Add(1)
		c.spawn(func() {
			defer claims.Done()

			p.work, p.out = c.claim(ctx, p.message)
		})
	}

	claims.Wait()
}

// claim claims the key of a message, and waits for another worker that holds it. Without work the outcome says why.
func (c *batchCall) claim(ctx context.Context, m *message) (*idemddb.Work, outcome) {
	opts := m.claimOptions()

	opts.Wait = c.opts.Wait
	if !c.deadline.IsZero() { // all messages wait together, and the others must not come back unworked because of this one
		opts.Wait = max(0, min(opts.Wait, c.untilLastStart()-c.reserve/latePart))
	}

	ctx = c.contextOf(ctx, m)

	work, ending := c.store.Begin(ctx, m.asks.Key, opts)
	if work == nil {
		return nil, outcomeOf(ending)
	}

	if work.Claim().Takeover() {
		logTakeover(ctx, c.logger(), m.asks.Key, m.id)
	}

	return work, outcome{}
}

// renewAll renews the leases of all pieces until their work is settled or given back. It returns the context for the handler.
// When the last of the claims that are now held is lost, that context is cancelled, because none of the handler's work could be
// recorded.
func (c *batchCall) renewAll(ctx context.Context) (context.Context, context.CancelFunc) {
	isUnclaimed := func(p *piece) bool { return p.work == nil }
	claimed := slices.DeleteFunc(slices.Collect(maps.Values(c.pieces)), isUnclaimed)

	held, cancel := context.WithCancelCause(ctx)

	var left atomic.Int64 // claims that are held

	left.Store(int64(len(claimed)))

	for _, p := range claimed {
		kept := p.work.Context(held)
		context.AfterFunc(kept, func() {
			if left.Add(-1) == 0 {
				cancel(context.Cause(kept))
			}
		})
	}

	return held, func() { cancel(nil) }
}

// choose finds out what the handler must work on, and finishes the messages that it does not get. If the logger or the client
// panics meanwhile, no claim is kept: without a deadline it would be renewed for ever.
func (c *batchCall) choose(ctx context.Context) {
	blocked := blockedGroups{}
	chosen := false

	defer func() {
		if chosen {
			return
		}

		for _, p := range c.pieces {
			c.spawn(func() { p.unused(c.contextOf(ctx, p.message), outcome{}) })
		}
	}()

	for _, m := range c.ordered {
		p, own := c.pieces[m.asks], c.contextOf(ctx, m)

		switch o, ended := endedBefore(own, m, p, blocked); {
		case !ended && p.message == m:
			c.given = append(c.given, p)
		case !ended:
			p.others = append(p.others, m) // ends as the first one does
			if m.group != p.group {
				blocked[m.group] = 0 // and nothing behind it may run before that is known
			}
		case !m.fifo:
			c.spawn(func() { c.finish(own, c.settleBy, m, o) })
		default:
			c.finish(own, c.reserved, m, o) // then there is time left to give the claims behind it back
			blocked.note(m)
		}
	}

	chosen = true
}

// call calls the handler with the event of the given messages and notes which of them failed. It reports whether the handler is
// late; what that returns is not read. A message behind a failed one of its FIFO group fails although the handler did not report
// it, because it must run again after that message.
func (c *batchCall) call(ctx context.Context) (isLate bool) {
	var response events.SQSEventResponse

	c.step(func(s *schedule.Schedule) { s.Call(time.Now()) })

	err, isLate := c.durations.handle(c.outside(ctx, c.lateAt), c.opts.Timeout, c.closing, func(ctx context.Context) (err error) {
		response, err = c.handler(ctx, c.event())

		return err
	})

	c.step((*schedule.Schedule).Called)

	if err == nil && !isLate {
		err = c.readAnswer(response)
	}

	for _, p := range c.given {
		if p.failure = errors.Join(p.failure, err); p.failure == nil && c.isBehind(p.message) {
			p.failure = errBlocked
		}
	}

	return isLate
}

// event returns the event for the handler.
func (c *batchCall) event() (event events.SQSEvent) {
	for _, p := range c.given {
		event.Records = append(event.Records, p.given)
	}

	return event
}

// readAnswer notes the failure of each piece that the handler reported. If the handler reported an id that it was not given,
// readAnswer returns errUnknownID, because the answer then proves nothing.
func (c *batchCall) readAnswer(answer events.SQSEventResponse) error {
	for _, failure := range answer.BatchItemFailures {
		known := false

		for _, p := range c.given {
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
func (c *batchCall) isBehind(m *message) bool {
	return m.fifo && slices.ContainsFunc(c.given, func(p *piece) bool {
		return p.failure != nil && p.group == m.group && p.place < m.place
	})
}

// endPiece ends the work of a piece and finishes its messages. unanswered says why the handler has no answer; it has no name if
// there is one.
func (c *batchCall) endPiece(ctx context.Context, p *piece, unanswered outcome) {
	own, o := c.contextOf(ctx, p.message), unanswered

	switch o.name {
	case "":
		o = p.settle(own)
	case OutcomeLate:
		o = c.late(own, p.work)
	default:
		o = p.unused(own, o)
	}

	c.finish(own, c.settleBy, p.message, o)

	for _, m := range p.others { // no handler ran for them: they end as the first one did
		same := o.ofDuplicate()
		if o.err == nil && c.isBehind(m) {
			same = outcome{name: OutcomeBlocked, err: errBlocked}
		}

		c.finish(c.contextOf(ctx, m), c.settleBy, m, same)
	}
}
