package lambdawrap

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/sleep"
	"github.com/idemddb/go-idemddb/internal/turns"
)

// lane holds messages that must be worked on in order: those of one key, or those of a FIFO message group and of all groups that share
// a key with it. Lanes are worked on side by side.
type lane struct {
	messages []*message
	ended    map[identity]outcome // how each piece of work ended in this batch
	blocked  blockedGroups
	turn     *turns.Turn // of the first message, which has entered the limits; nil afterwards
}

// identity is the key and the fingerprint of a message. Two messages with equal identities ask for the same work.
type identity struct{ key, fingerprint string }

func (m *message) identity() identity { return identity{m.key, m.fingerprint} }

// sharedNames returns the key and the FIFO message group of a message, whose messages are in one lane.
func (m *message) sharedNames() (names []string) {
	if m.noKey == nil {
		names = append(names, "key "+m.key)
	}

	if m.fifo {
		names = append(names, "group "+m.group)
	}

	return names
}

// place returns where a message stands in the order of its batch.
func (m *message) place() turns.Place { return turns.Place{Index: m.index, Unclaimed: m.unclaimed} }

// workAll works on all messages of a batch: those of one lane one after the other, and the lanes side by side.
func (v *invocation) workAll(ctx context.Context, messages []*message) {
	var all []*lane

	for _, messages := range turns.Lanes(messages, (*message).sharedNames) {
		all = append(all, &lane{messages: messages})
	}

	v.enter(all)

	for _, l := range all {
		v.spawn(func() { v.follow(ctx, l) })
	}
}

// enter queues the first message of each lane that must be worked on, all together, so that their claims share requests.
func (v *invocation) enter(lanes []*lane) {
	var (
		heads []turns.Place
		of    []*lane
	)

	for _, l := range lanes {
		if _, ended := l.known(l.messages[0]); !ended {
			heads, of = append(heads, l.messages[0].place()), append(of, l)
		}
	}

	for i, t := range v.limits.Enter(heads...) {
		of[i].turn = t
	}
}

// follow works on the messages of one lane, one after the other.
func (v *invocation) follow(ctx context.Context, l *lane) {
	for _, m := range l.messages {
		ctx := v.contextOf(ctx, m)

		o, ended := l.known(m)
		if !ended {
			o = v.work(ctx, m, l.takeTurn(v.limits, m))
		}

		v.finish(ctx, m, o)

		if len(l.messages) > 1 { // else no message is behind it
			l.note(m, o)
		}
	}
}

// contextOf returns the message's own context. It asks the user's hook for it once. A hook that fails changes nothing but the log.
func (v *invocation) contextOf(ctx context.Context, m *message) context.Context {
	if m.derive == nil {
		return v.logUnsent(ctx, m.id)
	}

	if m.derived != nil {
		return m.derived
	}

	var err error
	if m.derived, err = v.deriveContext(ctx, m); err != nil {
		m.derived = ctx
		v.log(ctx, slog.LevelError, "the hook for a message's context failed; the message has the context of the invocation", m, "", err)
	}

	m.derived = v.logUnsent(m.derived, m.id)

	return m.derived
}

// deriveContext calls the user's hook for a message's context. It waits for the hook only until the answer of the invocation is due.
func (v *invocation) deriveContext(ctx context.Context, m *message) (context.Context, error) {
	waiting, cancel := v.answerContext(ctx) // ctx itself has ended for a message that comes too late to start
	defer cancel()

	answer := make(chan context.Context, 1)
	err := await(waiting, func() error {
		own := m.derive(ctx)
		if own == nil {
			return errNoContext
		}

		own, cancel := v.workContext(own) // it ends in time even if the hook did not derive it from ctx
		context.AfterFunc(ctx, cancel)
		answer <- own

		return nil
	})
	if err != nil {
		return nil, err
	}

	return <-answer, nil
}

var errNoContext = errors.New("lambdawrap: the hook returned no context")

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
		logTakeover(ctx, v.logger(), m.key, m.id)
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
		o = outcome{name: OutcomeFailed, err: errors.Join(errLost, cause)}
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

		work, ending := v.batch.Begin(ctx, m.key, opts)
		if work != nil {
			return work, t, outcome{}
		}

		t.Leave()

		if ending.Kind != idemddb.InProgress || !poll.Next(ctx) {
			return nil, nil, outcomeOf(ending)
		}

		opts.Redelivered = true
		t = v.limits.Enter(m.place())[0]
	}
}

// claimOptions returns the options for a claim of the message's key that does not wait.
func (m *message) claimOptions() *idemddb.ClaimOptions {
	return &idemddb.ClaimOptions{Fingerprint: m.fingerprint, Redelivered: m.receives > 1, SkipResult: true, Optimistic: m.unclaimed}
}

// takeTurn returns the turn of the lane's next message.
func (l *lane) takeTurn(limits *turns.Limits, m *message) *turns.Turn {
	t := l.turn
	if l.turn = nil; t == nil {
		t = limits.Enter(m.place())[0]
	}

	return t
}

// known returns the outcome of a message that need not be worked on: an earlier message of its FIFO group failed, it has no key, or its
// piece of work has ended in this batch.
func (l *lane) known(m *message) (outcome, bool) {
	if o, ok := l.blocked.outcomeOf(m); ok {
		return o, true
	}

	if m.noKey != nil {
		return noKeyOutcome(m.noKey), true
	}

	o, ok := l.ended[m.identity()]

	return o, ok
}

// note keeps how a message ended, for those behind it.
func (l *lane) note(m *message, o outcome) {
	if l.ended == nil {
		l.ended, l.blocked = map[identity]outcome{}, blockedGroups{}
	}

	if m.noKey == nil && o.name != OutcomeBlocked {
		l.ended[m.identity()] = o.ofDuplicate()
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
