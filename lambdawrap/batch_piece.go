package lambdawrap

import (
	"context"
	"errors"

	"github.com/idemddb/go-idemddb/idemddb"
)

// piece is one piece of work of a batch: the first message with its key, and the others with the same key.
type piece struct {
	*message

	others  []*message
	work    *idemddb.Work // nil if it is not to be worked on
	out     outcome       // without work
	failure error         // by the handler's answer
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
		b[m.group] = m.seconds.Load()
	}
}
