package lambdawrap

import (
	"context"
	"errors"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/sleep"
	"github.com/idemddb/go-idemddb/internal/turns"
)

// lane holds the messages of a FIFO message group, which must be worked on in order, or one message that has no such group. Lanes are worked on
// side by side.
type lane struct {
	messages []*message
	blocked  blockedGroups
	seat     *turns.Seat[outcome] // of the first message, if its key was known when the lane was made; nil afterwards
	turn     *turns.Turn          // of that message, if it has its key; nil afterwards
}

// lane returns the name of the lane of a message; "" for a lane of its own.
func (m *message) lane() string {
	if m.fifo {
		return m.group
	}

	return ""
}

// place returns where a message stands in the order of its batch.
func (m *message) place() turns.Place { return turns.Place{Index: m.index, Unclaimed: m.unclaimed} }

// workAll works on all messages of a batch: those of one lane one after the other, and the lanes side by side. Lanes whose first keys are found
// in quick succession begin together, so that their claims share requests. The others begin when their keys are known.
func (v *invocation) workAll(ctx context.Context, messages []*message) {
	var waiting []*lane

	keys := v.newSearch(ctx, messages, 0)

	for _, messages := range turns.Lanes(messages, (*message).lane) {
		waiting = append(waiting, &lane{messages: messages})
	}

	for isQuick := true; len(waiting) > 0 && isQuick; {
		var known []*lane

		known, waiting = keys.known(waiting)
		v.begin(ctx, keys, known)

		if isQuick = len(known) >= quickKeys; isQuick {
			keys.isOver(shareTime)
		}
	}

	for _, l := range waiting {
		v.spawn(func() { v.follow(ctx, keys, l) })
	}
}

// quickKeys is how many keys found within shareTime are quick: those of a full request.
const quickKeys = 25

// known divides lanes into those whose first key is known, or known to be missing, and the others.
func (s *search) known(lanes []*lane) (known, others []*lane) {
	for _, l := range lanes {
		if s.hasEnded(l.messages[0]) {
			known = append(known, l)
		} else {
			others = append(others, l)
		}
	}

	return known, others
}

// begin begins with lanes whose first key is known. The messages that must be worked on enter the limits together.
func (v *invocation) begin(ctx context.Context, keys *search, lanes []*lane) {
	var (
		heads []turns.Place
		of    []*lane
	)

	for _, l := range lanes {
		m := l.messages[0]
		if m.noKey != nil {
			continue
		}

		if l.seat = v.keys.Join(m.index, m.asks); l.seat.Works() {
			heads, of = append(heads, m.place()), append(of, l)
		}
	}

	for i, t := range v.limits.Enter(heads...) {
		of[i].turn = t
	}

	for _, l := range lanes {
		v.spawn(func() { v.follow(ctx, keys, l) })
	}
}

// follow works on the messages of one lane, one after the other.
func (v *invocation) follow(ctx context.Context, keys *search, l *lane) {
	for _, m := range l.messages {
		o, isBlocked := l.blocked.outcomeOf(m)

		keys.conclude(m, !isBlocked)

		own := v.contextOf(ctx, m)
		if !isBlocked {
			o = v.workOnce(own, l, m)
		}

		v.finish(own, m, o)

		if len(l.messages) > 1 { // else no message is behind it
			l.note(m)
		}
	}
}

// contextOf returns the message's own context, or one of the invocation if it has none.
func (v *invocation) contextOf(ctx context.Context, m *message) context.Context {
	if m.derived != nil {
		ctx = m.derived
	}

	return v.logUnsent(ctx, m.id)
}

// workOnce works on a message, unless it has no key or another message of the batch asks for the same work: then it ends as that one does.
func (v *invocation) workOnce(ctx context.Context, l *lane, m *message) outcome {
	if m.noKey != nil {
		return noKeyOutcome(m.noKey)
	}

	seat, t := l.seat, l.turn
	if l.seat, l.turn = nil, nil; seat == nil {
		seat = v.keys.Join(m.index, m.asks)
	}

	if t == nil {
		if o, isEnded := seat.Wait(); isEnded {
			return o
		}

		t = v.limits.Enter(m.place())[0]
	}

	o := outcome{name: OutcomeReleased, err: errExited} // if the client of DynamoDB panics
	defer func() { seat.End(o.ofDuplicate()) }()

	o = v.work(ctx, m, t)

	return o
}

// work begins the work of a message's key, runs the handler and settles the work.
func (v *invocation) work(ctx context.Context, m *message, t *turns.Turn) outcome {
	work, t, o := v.beginWork(ctx, m, t)
	if work == nil {
		return o
	}

	o, err := v.runHandler(ctx, m, t, work)

	switch o.name {
	case "":
		return v.settle(ctx, t, work, err)
	case OutcomeLate:
		return v.late(ctx, work)
	default:
		return givenBack(o, work.GiveBack(ctx))
	}
}

// runHandler runs the handler when there is a worker for it. An outcome with a name says that the handler did not run, or has not answered
// in time.
func (v *invocation) runHandler(ctx context.Context, m *message, t *turns.Turn, work *idemddb.Work) (o outcome, err error) {
	kept := work.Context(ctx)

	if o = start(kept, t, work); o.name != "" {
		return o, nil
	}

	if work.Takeover() {
		logTakeover(ctx, v.logger(), m.asks.Key, m.id)
	}

	err, isLate := v.handle(idemddb.WithInvocation(kept, v.deadline, v.lateAt), m.work)
	if isLate {
		t.End(false)

		o.name = OutcomeLate
	}

	return o, err
}

// start waits for a worker. An outcome with a name says why the handler must not run: the claim is lost, or the time is over.
func start(ctx context.Context, t *turns.Turn, work *idemddb.Work) (o outcome) {
	if !t.Start() {
		return outcome{name: OutcomeNoTime, err: errNoTime}
	}

	switch cause := context.Cause(ctx); {
	case cause != nil && !errors.Is(cause, idemddb.ErrFenced):
		o = outcome{name: OutcomeNoTime, err: errNoTime}
	case cause != nil, !work.Held():
		o = outcome{name: OutcomeReleased, err: errors.Join(errLost, cause)}
	default:
		return o
	}

	t.End(false)

	return o
}

// beginWork begins the work of a message's key when the limits let it. Without work the outcome says why.
func (v *invocation) beginWork(ctx context.Context, m *message, t *turns.Turn) (*idemddb.Work, *turns.Turn, outcome) {
	opts := m.claimOptions()
	poll := sleep.Poll{End: time.Now().Add(v.opts.Wait)}

	if m.unclaimed { // its commit waits for another worker, and not the claim that it does not have
		opts.Wait, poll.End = v.opts.Wait, time.Time{}
	}

	for {
		if !<-t.Answer() {
			return nil, nil, outcome{name: OutcomeNoTime, err: errNoTime}
		}

		if ctx.Err() != nil { // DynamoDB would not be asked, so it is not what did not answer
			t.Leave()

			return nil, nil, outcome{name: OutcomeNoTime, err: errNoTime}
		}

		work, ending := v.batch.Begin(ctx, m.asks.Key, opts)
		if work != nil {
			return work, t, outcome{}
		}

		t.Leave()

		if ending.Kind != idemddb.KindInProgress || !poll.Next(ctx) {
			return nil, nil, outcomeOf(ending)
		}

		opts.Redelivered = true
		t = v.limits.Enter(m.place())[0]
	}
}

// claimOptions returns the options for a claim of the message's key that does not wait.
func (m *message) claimOptions() *idemddb.ClaimOptions {
	return &idemddb.ClaimOptions{Fingerprint: m.asks.Fingerprint, Redelivered: m.receives > 1, SkipResult: true, Optimistic: m.unclaimed}
}

// note keeps whether a message failed, for those behind it.
func (l *lane) note(m *message) {
	if l.blocked == nil {
		l.blocked = blockedGroups{}
	}

	l.blocked.note(m)
}

// blockedGroups holds the FIFO message groups one of whose messages failed: the messages behind it must wait for it. Each group has the
// seconds until that message comes back.
type blockedGroups map[string]int32

// outcomeOf returns the outcome of a message that is behind a failed one of its group, and false for any other message.
func (b blockedGroups) outcomeOf(m *message) (outcome, bool) {
	seconds, ok := b[m.group]

	return outcome{name: OutcomeBlocked, err: errBlocked, seconds: seconds}, ok && m.fifo
}

// note blocks the group of a message that failed.
func (b blockedGroups) note(m *message) {
	if m.fifo && m.failed {
		b[m.group] = m.seconds
	}
}
