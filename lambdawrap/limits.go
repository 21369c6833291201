package lambdawrap

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// limits decides which lane may claim its next key and which may start its handler. It grants both in the order of the batch.
//
// At most Options.Workers handlers run at a time. Keys are claimed ahead of the workers, so that the claims share requests: as many
// as there are free workers, and when nothing waits for a worker, one more group. So a claim waits for a worker at most as long as
// one group takes.
//
// Work does not run ahead of its records. A finished effect whose record does not get through is in trouble, and holds a worker
// until it is recorded or given up. One is let off, so that a single key does not stop a batch with one worker.
type limits struct {
	workers int
	ahead   func() int  // how many claims may wait for a worker
	expect  func(n int) // is told how many claims come at once
	idle    func()      // is called when no handler is at work or may start; nil for none

	// The rule for starts.
	begun     time.Time     // the start of the invocation
	end       time.Time     // the beginning of the reserve; zero without a deadline
	timeout   time.Duration // of one handler; 0 for none
	durations *durations    // of the handlers of this process

	mu         sync.Mutex
	waiting    []*turn     // want to claim
	admitted   []*turn     // claim, or wait for a worker
	working    int         // handlers
	unrecorded int         // finished effects without their record
	troubled   int         // those of them that are in trouble
	refusals   int         // of records
	refused    bool        // since the last refusal, no record was written by a request that was sent after it
	warned     bool        // that records do not get through
	stopped    bool        // nothing starts any more
	unordered  bool        // a claim takes long: the others do not wait for it
	timer      *time.Timer // sets unordered
}

const (
	maxUnrecorded = 100                    // finished effects without their record, at most
	claimWait     = 150 * time.Microsecond // how long others wait for a claim that was made before theirs
)

// turn is one message's way through the limits. Its methods are called in this order: mayBegin; then start or leave; after start, end,
// and then recorded if end was told of an effect.
type turn struct {
	limits *limits
	index  int  // of the message in its batch
	ready  bool // has its claim or needs none, and wants a worker
	works  bool // has a worker
	answer chan bool

	finished bool // its effect has happened and has no record yet
	troubled bool
	refusals int // of records, that were known when its own was sent last
}

// enter queues messages that want to be claimed, and returns their turns. Messages that enter together can share a request.
func (l *limits) enter(messages ...*message) []*turn {
	l.mu.Lock()
	defer l.mu.Unlock()

	turns := make([]*turn, len(messages))
	made := make([]turn, len(messages))

	for i, m := range messages {
		t := &made[i]
		t.limits, t.index, t.answer = l, m.index, make(chan bool, 1)
		turns[i] = t

		if m.unclaimed {
			t.ready = true
			l.insert(t)

			continue
		}

		at, _ := slices.BinarySearchFunc(l.waiting, t, byIndex)
		l.waiting = slices.Insert(l.waiting, at, t)
	}

	l.grant()

	return turns
}

// borrow queues a message for a worker without a claim. The caller waits for the answer.
func (l *limits) borrow(index int) *turn {
	t := &turn{limits: l, index: index, ready: true, answer: make(chan bool, 1)}
	t.change(func(l *limits) { l.insert(t) })

	return t
}

// mayBegin waits until the work of the message may begin: its key may be claimed, or, if it needs no claim, it has a worker. It returns
// false if nothing starts any more; then the turn is over.
func (t *turn) mayBegin() bool { return <-t.answer }

// leave gives the place or the worker of a message back whose work does not begin.
func (t *turn) leave() {
	t.change(func(l *limits) {
		if l.remove(t); t.works {
			l.working--
		}
	})
}

// start waits for a worker, unless the message has one. It returns false if nothing starts any more; then the turn is over.
func (t *turn) start() bool {
	if t.works {
		return true
	}

	t.change(func(*limits) { t.ready = true })

	return <-t.answer
}

// end gives the worker back. If the handler had an effect, recorded must follow.
func (t *turn) end(effect bool) {
	t.change(func(l *limits) {
		l.working--

		if effect {
			l.unrecorded++
			t.finished, t.refusals = true, l.refusals
		}
	})
}

// trouble reports that the record of the effect does not get through: it was refused, or it takes long. It returns true the first time
// in the invocation.
func (t *turn) trouble(refused bool) bool {
	l := t.limits

	l.mu.Lock()
	defer l.mu.Unlock()

	if !t.finished {
		return false
	}

	if refused {
		l.refusals++
		l.refused, t.refusals = true, l.refusals
	}

	if t.troubled {
		return false
	}

	t.troubled = true
	l.troubled++

	isFirst := !l.warned
	l.warned = true

	return isFirst
}

// recorded reports that the effect has its record, or that the record was given up.
func (t *turn) recorded(written bool) {
	t.change(func(l *limits) {
		l.unrecorded--
		t.finished = false

		if t.troubled {
			l.troubled--
		}

		if written && t.refusals == l.refusals {
			l.refused = false
		}
	})
}

// stop lets nothing start any more.
func (l *limits) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()

	l.stopped = true
	l.grant()
}

func (t *turn) change(f func(*limits)) {
	l := t.limits

	l.mu.Lock()
	defer l.mu.Unlock()

	f(l)
	l.grant()
}

// grant gives out what is free. It is called, with l.mu held, after each change.
func (l *limits) grant() {
	wanted := len(l.waiting) > 0 || slices.ContainsFunc(l.admitted, isReady)
	if wanted && !l.stopped && !l.hasTime() {
		l.stopped = true
	}

	if l.stopped {
		l.refuse()
	} else {
		for l.startNext() {
		}

		l.admit()
	}

	if l.idle != nil && len(l.waiting)+len(l.admitted)+l.working == 0 {
		l.idle()
	}
}

// refuse tells all that wait that nothing starts any more.
func (l *limits) refuse() {
	for _, t := range l.waiting {
		t.answer <- false
	}

	l.waiting = nil

	for _, t := range slices.Clone(l.admitted) {
		if t.ready {
			l.remove(t)
			t.answer <- false
		}
	}
}

// free is how many more handlers may run. While records are refused and none is written, an effect that has just finished counts as one
// in trouble: otherwise another handler would start before the refusal of its record is known.
func (l *limits) free() int {
	if l.unrecorded >= maxUnrecorded {
		return 0
	}

	held := l.troubled
	if l.refused {
		held = l.unrecorded
	}

	return max(0, l.workers-l.working-max(0, held-1))
}

// startNext gives a worker to the first message that has its claim. It does not overtake a message whose claim has no answer yet,
// unless there are workers for both or the answer takes long.
func (l *limits) startNext() bool {
	free, at := l.free(), slices.IndexFunc(l.admitted, isReady)
	if free == 0 || at < 0 {
		return false
	}

	if at >= free && !l.unordered {
		l.waitForClaims()

		return false
	}

	t := l.admitted[at]
	l.remove(t)
	l.working++
	t.works = true
	t.answer <- true

	return true
}

// waitForClaims ends the wait for claims without an answer after a moment.
func (l *limits) waitForClaims() {
	if l.timer != nil {
		return
	}

	l.timer = time.AfterFunc(claimWait, func() {
		l.mu.Lock()
		defer l.mu.Unlock()

		l.timer, l.unordered = nil, true
		l.grant()
	})
}

// admit lets the next messages be claimed. It waits a moment for claims under way: they are answered together, and those that get no
// worker make room for the next ones together.
func (l *limits) admit() {
	n := l.claimable()
	if n == 0 {
		return
	}

	if slices.ContainsFunc(l.admitted, isClaiming) && !l.unordered {
		l.waitForClaims()

		return
	}

	l.endWaitForClaims()
	l.expect(n)

	for _, t := range l.waiting[:n] {
		l.insert(t)
		t.answer <- true
	}

	l.waiting = slices.Delete(l.waiting, 0, n)
}

// claimable returns how many of the waiting messages may be claimed now: as many as there are free workers. If no other message is being
// claimed or waits for a worker, as many as fit into one request may be claimed even if fewer workers are free.
func (l *limits) claimable() int {
	if len(l.waiting) == 0 {
		return 0
	}

	n := l.free() - len(l.admitted)
	if len(l.admitted) == 0 {
		n = max(n, l.ahead())
	}

	return min(max(n, 0), len(l.waiting))
}

// endWaitForClaims ends the wait for the claims before, so that the next claims are waited for anew.
func (l *limits) endWaitForClaims() {
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}

	l.unordered = false
}

func (l *limits) insert(t *turn) {
	at, _ := slices.BinarySearchFunc(l.admitted, t, byIndex)
	l.admitted = slices.Insert(l.admitted, at, t)
}

func (l *limits) remove(t *turn) {
	l.admitted = slices.DeleteFunc(l.admitted, func(other *turn) bool { return other == t })
}

func byIndex(a, b *turn) int { return cmp.Compare(a.index, b.index) }

func isReady(t *turn) bool    { return t.ready }
func isClaiming(t *turn) bool { return !t.ready }

// hasTime reports whether another handler may start, or its key be claimed.
func (l *limits) hasTime() bool {
	return l.end.IsZero() || l.untilLastStart() >= 0 && time.Until(l.end) > 0
}
