package lambdawrap

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/idemddb/go-idemddb/idemddb"
)

// piece is one piece of work of a batch: the first message with its key, and the others with the same key.
type piece struct {
	*message

	others []*message
	work   *idemddb.Work // nil if it is not to be worked on
	stop   func()        // ends the watch over its claim
	out    outcome
}

// claimAll claims the first message of each key, all at once.
func (v *invocation) claimAll(ctx context.Context, messages []*message) map[identity]*piece {
	pieces := piecesOf(messages)

	var claims sync.WaitGroup

	if v.starts.HasTime() {
		v.batch.Expect(len(pieces))

		for _, p := range pieces {
			claims.Add(1)
			v.spawn(func() {
				defer claims.Done()

				p.work, p.out = v.claimPiece(ctx, p.message)
			})
		}
	}

	claims.Wait()

	return pieces
}

// piecesOf returns a piece of work for the first message of each key. Until its key is claimed, its outcome is that there was no time.
func piecesOf(messages []*message) map[identity]*piece {
	pieces := map[identity]*piece{}

	for _, m := range messages {
		if pieces[m.identity()] == nil && m.noKey == nil {
			pieces[m.identity()] = &piece{message: m, out: outcome{name: OutcomeNoTime, err: errNoTime}, stop: func() {}}
		}
	}

	return pieces
}

func (v *invocation) claimPiece(ctx context.Context, m *message) (*idemddb.Work, outcome) {
	wait := v.opts.Wait
	if !v.deadline.IsZero() { // all messages wait together, and the others must not come back unworked because of this one
		wait = max(0, min(wait, v.starts.UntilLastStart()-v.reserve/latePart))
	}

	ctx = v.contextOf(ctx, m)

	work, ending := v.batch.Begin(ctx, m.key, &idemddb.ClaimOptions{
		Fingerprint: m.fingerprint, Redelivered: m.receives > 1, SkipResult: true, Wait: wait,
	})
	if work == nil {
		return nil, outcomeOf(ending)
	}

	if work.Takeover() {
		logTakeover(ctx, v.logger(), m.key, m.id)
	}

	return work, outcome{}
}

// keepAll renews the leases of all pieces. When the last claim is lost, the handler's context is cancelled.
func keepAll(held context.Context, cancel context.CancelCauseFunc, pieces map[identity]*piece) {
	var left atomic.Int64

	for _, p := range pieces {
		if p.work != nil {
			left.Add(1)
		}
	}

	for _, p := range pieces {
		if p.work != nil {
			p.keep(held, cancel, &left)
		}
	}
}

// keep renews the lease of a piece until its work is settled, and watches its claim until stop is called. left counts the claims of the
// batch that are held. When the last one is lost, the handler's context is cancelled, because none of its work could be recorded.
func (p *piece) keep(held context.Context, cancel context.CancelCauseFunc, left *atomic.Int64) {
	kept := p.work.Context(held)
	ignore := context.AfterFunc(kept, func() {
		if left.Add(-1) == 0 {
			cancel(context.Cause(kept))
		}
	})
	p.stop = func() {
		if ignore() {
			left.Add(-1)
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
	case p.message == m && p.work != nil && !p.work.Held():
		return v.unused(ctx, p, outcome{name: OutcomeFailed, err: errLost}), true
	case p.work == nil:
		return p.out, true
	default:
		return outcome{}, false
	}
}

// unused gives back the claim of a piece that the handler does not get.
func (v *invocation) unused(ctx context.Context, p *piece, o outcome) outcome {
	if p.work != nil {
		p.stop()

		o.err = givenBack(o, p.work.GiveBack(ctx)).err
	}

	p.work, p.out = nil, o

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
