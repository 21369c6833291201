package lambdawrap

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/schedule"
)

// piece is one piece of work of a batch: the first message with its key, and the others with the same key.
type piece struct {
	*message

	others  []*message
	work    *idemddb.Work // nil if it is not to be worked on
	out     outcome       // without work
	failure error         // by the handler's answer
}

// findAll waits for the keys of all messages, which are looked for side by side. A message whose key is not found in time is
// reported failed, and the others are claimed.
func (v *invocation) findAll(ctx context.Context) {
	v.keys.await()

	for _, m := range v.messages {
		v.keys.conclude(ctx, m)
	}

	v.splitAll()
}

// claimAll claims the first message of each key, all at once. If too little time is left, no key is claimed, and each piece has
// the outcome no_time.
func (v *invocation) claimAll(ctx context.Context) map[schedule.Work]*piece {
	pieces := map[schedule.Work]*piece{}

	for _, m := range v.ordered {
		if pieces[m.asks] == nil && m.noKey == nil {
			pieces[m.asks] = &piece{message: m, out: outcome{name: OutcomeNoTime, err: ErrNoTime}}
		}
	}

	if !v.hasTime() {
		return pieces
	}

	var claims sync.WaitGroup

	v.group.Expect(len(pieces))

	for _, p := range pieces {
		claims.Add(1)
		v.spawn(func() {
			defer claims.Done()

			p.work, p.out = v.claimPiece(ctx, p.message)
		})
	}

	claims.Wait()

	return pieces
}

func (v *invocation) claimPiece(ctx context.Context, m *message) (*idemddb.Work, outcome) {
	opts := m.claimOptions()

	opts.Wait = v.opts.Wait
	if !v.deadline.IsZero() { // all messages wait together, and the others must not come back unworked because of this one
		opts.Wait = max(0, min(opts.Wait, v.untilLastStart()-v.reserve/latePart))
	}

	ctx = v.contextOf(ctx, m)

	work, ending := v.store.Begin(ctx, m.asks.Key, opts)
	if work == nil {
		return nil, outcomeOf(ending)
	}

	if work.Claim().Takeover() {
		logTakeover(ctx, v.logger(), m.asks.Key, m.id)
	}

	return work, outcome{}
}

// renewAll renews the leases of all pieces until their work is settled or given back. When the last of the claims that are then
// held is lost, the handler's context is cancelled, because none of its work could be recorded.
func renewAll(held context.Context, cancel context.CancelCauseFunc, pieces map[schedule.Work]*piece) {
	isUnclaimed := func(p *piece) bool { return p.work == nil }
	claimed := slices.DeleteFunc(slices.Collect(maps.Values(pieces)), isUnclaimed)

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
}

// choose returns what must be worked on, in the order of the batch, and finishes the other messages.
func (v *invocation) choose(ctx context.Context, pieces map[schedule.Work]*piece) (given []*piece) {
	blocked := blockedGroups{}

	for _, m := range v.ordered {
		p := pieces[m.asks]

		switch o, ended := endedBefore(ctx, m, p, blocked); {
		case !ended && p.message == m:
			given = append(given, p)
		case !ended:
			p.others = append(p.others, m) // ends as the first one does
			if m.group != p.group {
				blocked[m.group] = 0 // and nothing behind it may run before that is known
			}
		case !m.fifo:
			v.spawn(func() { v.finish(v.contextOf(ctx, m), v.answerAt, m, o) })
		default:
			v.finish(v.contextOf(ctx, m), v.reserved, m, o) // then there is time left to give the claims behind it back
			blocked.note(m)
		}
	}

	return given
}

// endedBefore returns the outcome of a message that the handler does not get, and gives the claim of its piece back. It returns
// false for a message that the handler gets, or another one with its key.
func endedBefore(ctx context.Context, m *message, p *piece, blocked blockedGroups) (o outcome, ended bool) {
	o, isBlocked := blocked.outcomeOf(m)

	switch {
	case m.noKey != nil && isBlocked: // it has no piece
		return o, true
	case m.noKey != nil:
		return noKeyOutcome(m.noKey), true
	case isBlocked:
	case p.work == nil:
		return p.out, true
	case p.message == m && !p.work.Claim().Held():
		o = outcome{name: OutcomeReleased, err: errLost}
	default:
		return o, false
	}

	if p.message == m {
		o = p.unused(ctx, o)
	}

	return o, true
}

// unused gives back the claim of a piece that the handler does not get.
func (p *piece) unused(ctx context.Context, o outcome) outcome {
	if p.work != nil {
		o = givenBack(o, p.work.GiveBack(ctx))
	}

	p.work, p.out = nil, o

	return o
}

// settle settles the claim of a piece after its handler.
func (p *piece) settle(ctx context.Context) outcome {
	o := outcomeOf(p.work.Settle(ctx, nil, p.failure))
	if o.name == OutcomeReleased && errors.Is(p.failure, errBlocked) {
		o.name = OutcomeBlocked
	}

	return o
}

// blockedGroups holds the FIFO message groups one of whose messages failed: the messages behind it must wait for it. Each group
// has the seconds until that message comes back.
type blockedGroups map[string]int32

// outcomeOf returns the outcome of a message that is behind a failed one of its group, and false for any other message.
func (b blockedGroups) outcomeOf(m *message) (outcome, bool) {
	seconds, ok := b[m.group]

	return outcome{name: OutcomeBlocked, err: errBlocked, seconds: seconds}, ok && m.fifo
}

// note blocks the group of a message that failed.
func (b blockedGroups) note(m *message) {
	if m.failed {
		b[m.group] = m.seconds
	}
}
