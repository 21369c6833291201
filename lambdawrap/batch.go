package lambdawrap

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
)

// batchHandler is an existing handler of whole events that reports failures message by message.
type batchHandler = func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)

// Batch wraps an existing handler of whole events for lambda.Start. The handler gets one event with just the messages that it must work
// on, in their order, and its answer is applied message by message. It is not called if there are none.
//
// Messages whose key was completed before, is held by another worker or has failed for good are not in its event, nor the second
// message of a key, nor, on a FIFO queue, the messages behind one that is reported failed. The messages that the handler reports in
// BatchItemFailures are released and come back, and so do those behind them in their FIFO groups; the others are completed. An error,
// a panic, an empty id and an id that the handler was not given fail all, as they do in SQS. An error marked [Permanent] ends the keys
// of all for good.
//
// While the handler runs, the leases of all its messages are renewed. Its context carries no claim. It ends after Options.Timeout, when
// Options.Reserve begins, or, with idemddb.ErrFenced as its cause, when the last of the claims is lost. A handler that stops then and
// reports what it has not done loses nothing: its answer counts until half of the reserve is left. Options.Workers is how many calls of
// the dead-letter hook run at a time.
//
// For a handler without answers for single messages, use [SQS] with [Whole]. The returned function is as that of SQS. Batch panics for a
// nil store or handler.
func Batch(
	store *idemddb.Store, h func(context.Context, events.SQSEvent) (events.SQSEventResponse, error), opts *Options,
) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	if h == nil {
		panic("lambdawrap: handler: must not be nil")
	}

	w := newWrapper(store, opts, "Options")
	if w.opts.Optimistic {
		w.invalid = errors.Join(w.invalid, errors.New("lambdawrap: Options.Optimistic: must not be set with Batch, where one call has many keys"))
	}

	return w.serve(func(ctx context.Context, v *invocation, messages []*message) {
		v.handleBatch(ctx, messages, h)
	})
}

var (
	errReported = errors.New("lambdawrap: the handler reported it failed")
	errStrange  = errors.New("lambdawrap: the handler's answer has an empty id, or one that it was not given: all of its messages come back")
)

// piece is one piece of work of a batch: the first message with its key, and the others with the same key.
type piece struct {
	*message

	others []*message
	claim  *idemddb.Claim // nil if it is not to be worked on
	stop   func()         // ends the renewal of its lease
	out    outcome
}

// handleBatch claims all keys, calls the handler with what must be worked on, and settles its answer.
func (v *invocation) handleBatch(ctx context.Context, messages []*message, h batchHandler) {
	pieces := v.claimAll(ctx, messages)

	held, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	keepAll(held, cancel, pieces)

	given := v.choose(ctx, messages, pieces)
	if len(given) == 0 {
		return
	}

	isLost := func(p *piece) bool { return !p.claim.Held() }

	switch {
	case !v.limits.hasTime():
		v.giveBack(ctx, given, outcome{name: OutcomeNoTime, err: errNoTime})

		return
	case slices.ContainsFunc(given, isLost): // while the hook had a message of a FIFO queue
		v.giveBack(ctx, given, outcome{name: OutcomeFailed, err: errLost})

		return
	}

	var answer events.SQSEventResponse

	err, isLate := v.handle(held, func(ctx context.Context) (err error) {
		a, err := h(ctx, eventOf(given))
		if err == nil {
			answer = a
		}

		return err
	})

	failures := map[*piece]error{}
	if err == nil && !isLate {
		failures, err = readAnswer(answer, given)
	}

	v.settleAll(ctx, given, failures, err, isLate)
}

// claimAll claims the first message of each key, all at once.
func (v *invocation) claimAll(ctx context.Context, messages []*message) map[identity]*piece {
	pieces := map[identity]*piece{}

	var claims sync.WaitGroup

	for _, m := range messages {
		if pieces[m.identity()] == nil && m.noKey == nil {
			pieces[m.identity()] = &piece{message: m, out: outcome{name: OutcomeNoTime, err: errNoTime}, stop: func() {}}
		}
	}

	if v.limits.hasTime() {
		v.batch.Expect(len(pieces))

		for _, p := range pieces {
			claims.Add(1)
			v.spawn(func() {
				defer claims.Done()

				p.claim, p.out = v.claimPiece(ctx, p.message)
			})
		}
	}

	claims.Wait()

	return pieces
}

func (v *invocation) claimPiece(ctx context.Context, m *message) (*idemddb.Claim, outcome) {
	wait := v.opts.Wait
	if !v.deadline.IsZero() { // all messages wait together, and the others must not come back unworked because of this one
		wait = max(0, min(wait, v.limits.untilLastStart()-v.reserve/latePart))
	}

	ctx = v.contextOf(ctx, m)

	claim, _, err := v.batch.Claim(ctx, m.key, &idemddb.ClaimOptions{
		Fingerprint: m.fingerprint, Redelivered: m.receives > 1, SkipResult: true, Wait: wait,
	})
	if claim == nil {
		return nil, unclaimed(err)
	}

	if claim.Takeover() {
		logTakeover(ctx, v.logger(), m.key, m.id)
	}

	return claim, outcome{}
}

// keepAll renews the leases of all pieces. When the last claim is lost, the handler's context is cancelled.
func keepAll(held context.Context, cancel context.CancelCauseFunc, pieces map[identity]*piece) {
	var left atomic.Int64

	for _, p := range pieces {
		if p.claim != nil {
			left.Add(1)
		}
	}

	for _, p := range pieces {
		if p.claim == nil {
			continue
		}

		kept, stop := p.claim.Keep(held)
		ignore := context.AfterFunc(kept, func() {
			if left.Add(-1) == 0 {
				cancel(context.Cause(kept))
			}
		})
		p.stop = func() {
			if ignore() {
				left.Add(-1)
			}

			stop()
		}
	}
}

// choose returns what must be worked on, in the order of the batch, and finishes the other messages.
func (v *invocation) choose(ctx context.Context, messages []*message, pieces map[identity]*piece) (given []*piece) {
	blocked := map[string]int32{} // :: FIFO group one of whose messages failed → seconds until that message comes back

	for _, m := range messages {
		p := pieces[m.identity()]

		switch o, ended := v.endedBefore(ctx, m, p, blocked); {
		case !ended && p.message == m:
			given = append(given, p)
		case !ended:
			p.others = append(p.others, m) // ends as the first one does
			if m.fifo && m.group != p.group {
				blocked[m.group] = 0 // and nothing behind it may run before that is known
			}
		case !m.fifo:
			v.spawn(func() { v.finishOwn(ctx, m, o) })
		default:
			v.finishBefore(v.contextOf(ctx, m), 1, m, o) // then there is time left to give the claims behind it back

			if m.failed {
				blocked[m.group] = m.seconds
			}
		}
	}

	return given
}

// endedBefore returns the outcome of a message that the handler does not get, and gives the claim of its piece back. It returns false for a
// message that the handler gets, or another one with its key.
func (v *invocation) endedBefore(ctx context.Context, m *message, p *piece, blocked map[string]int32) (outcome, bool) {
	seconds, isBlocked := blocked[m.group]

	switch {
	case m.noKey != nil:
		return noKeyOutcome(m.noKey), true
	case m.fifo && isBlocked:
		o := outcome{name: OutcomeBlocked, err: errBlocked, seconds: seconds}
		if p.message == m {
			o = v.unused(ctx, p, o)
		}

		return o, true
	case p.message == m && p.claim != nil && !p.claim.Held():
		return v.unused(ctx, p, outcome{name: OutcomeFailed, err: errLost}), true
	case p.claim == nil:
		return p.out, true
	default:
		return outcome{}, false
	}
}

// unused gives the claim of a piece back that the handler does not get.
func (v *invocation) unused(ctx context.Context, p *piece, o outcome) outcome {
	if p.claim != nil {
		p.stop()

		o.err = released(o.name, o.err, p.claim.ReleaseUnused(ctx)).err
	}

	p.claim, p.out = nil, o

	return o
}

// giveBack ends a batch that does not begin.
func (v *invocation) giveBack(ctx context.Context, given []*piece, o outcome) {
	for _, p := range given {
		v.spawn(func() {
			o := v.unused(ctx, p, o)
			for _, m := range append([]*message{p.message}, p.others...) {
				v.finishOwn(ctx, m, o)
			}
		})
	}
}

// finishOwn finishes a message with its own context.
func (v *invocation) finishOwn(ctx context.Context, m *message, o outcome) {
	v.finish(v.contextOf(ctx, m), m, o)
}

func eventOf(given []*piece) (event events.SQSEvent) {
	for _, p := range given {
		event.Records = append(event.Records, p.given)
	}

	return event
}

// readAnswer returns an error for each piece that the handler reported. An answer with an id that it was not given says nothing.
func readAnswer(answer events.SQSEventResponse, given []*piece) (map[*piece]error, error) {
	failures := map[*piece]error{}

	for _, failure := range answer.BatchItemFailures {
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

// settleAll settles all claims after the handler, side by side. err is the failure of all of them.
func (v *invocation) settleAll(ctx context.Context, given []*piece, failures map[*piece]error, err error, isLate bool) {
	isBlocked := blockedBy(given, failures)

	for _, p := range given {
		failure := errors.Join(failures[p], err)

		v.spawn(func() {
			p.stop()

			var o outcome

			switch {
			case isLate:
				o = v.late(ctx, p.claim)
			case failure == nil && isBlocked(p.message):
				o = released(OutcomeBlocked, errBlocked, p.claim.Release(ctx, errBlocked))
			default:
				o = settle(ctx, p.claim, failure)
			}

			v.finishOwn(ctx, p.message, o)

			for _, m := range p.others {
				if o.err == nil && isBlocked(m) {
					v.finishOwn(ctx, m, outcome{name: OutcomeBlocked, err: errBlocked})
				} else {
					v.finishOwn(ctx, m, o.ofDuplicate())
				}
			}
		})
	}
}

// blockedBy returns a function that tells whether the handler reported an earlier message of a message's FIFO group.
func blockedBy(given []*piece, failures map[*piece]error) func(*message) bool {
	first := map[string]int{} // :: FIFO group → index of its first message that was reported

	for _, p := range given {
		if _, known := first[p.group]; p.fifo && !known && failures[p] != nil {
			first[p.group] = p.index
		}
	}

	return func(m *message) bool {
		at, ok := first[m.group]

		return ok && m.fifo && m.index > at
	}
}
