// Package turns says which messages of a batch are worked on one after the other, and limits how much of it is claimed, worked on and
// unrecorded at a time.
package turns

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Limits decides which lane may claim its next key and which may start its handler. It grants both in the order of the batch. It is safe
// for concurrent use.
//
// At most Workers handlers run at a time. Keys are claimed ahead of the workers, so that the claims share requests: as many
// as there are free workers, and when nothing waits for a worker, one more group. So a claim waits for a worker at most as long as
// one group takes.
//
// Work does not run ahead of its records. A finished effect whose record does not get through is in trouble, and holds a worker until it is
// recorded or given up. The first effect in trouble does not keep its worker, so that a single key does not stop a batch with one worker.
type Limits struct {
	Workers int
	HasTime func() bool // whether another handler may start, or its key be claimed
	Ahead   func() int  // how many claims may wait for a worker
	Expect  func(n int) // is called with the number of claims that come at once
	Idle    func()      // is called when no handler is at work or may start; nil for none
	OnStop  func()      // is called, perhaps more than once, when nothing starts any more; nil for none

	mu         sync.Mutex  // guards what follows; held while the functions are called
	waiting    []*Turn     // want to claim
	admitted   []*Turn     // claim, or wait for a worker
	working    int         // handlers
	unrecorded int         // finished effects without their record
	troubled   int         // those of them that are in trouble
	refusals   int         // of records
	refused    bool        // since the last refusal, no record was written by a request that was sent after it
	warned     bool        // that records do not get through
	stopped    bool        // nothing starts any more
	unordered  bool        // a claim takes long: the others do not wait for it
	timer      *time.Timer // sets unordered after claimWait
}

const (
	maxUnrecorded = 100                    // finished effects without their record, at most
	claimWait     = 150 * time.Microsecond // how long others wait for a claim that was made before theirs
)

// Place is the place of a message in its batch.
type Place struct {
	Index     int
	Unclaimed bool // it needs a worker without a claim
}

// Enter queues messages that want to be claimed, or a worker, and returns their turns. Messages that enter together can share a request.
func (l *Limits) Enter(places ...Place) []*Turn {
	l.mu.Lock()
	defer l.mu.Unlock()

	turns := make([]*Turn, len(places))
	made := make([]Turn, len(places))

	for i, p := range places {
		t := &made[i]
		*t = Turn{limits: l, index: p.Index, ready: p.Unclaimed, answer: make(chan bool, 1)}
		turns[i] = t

		if t.ready {
			l.insert(t)

			continue
		}

		at, _ := slices.BinarySearchFunc(l.waiting, t, byIndex)
		l.waiting = slices.Insert(l.waiting, at, t)
	}

	l.grant()

	return turns
}

// Stop lets nothing start any more.
func (l *Limits) Stop() {
	l.mu.Lock()
	defer l.mu.Unlock()

	l.stopped = true
	l.grant()
}

// grant gives out what is free. It is called, with l.mu held, after each change.
func (l *Limits) grant() {
	wanted := len(l.waiting) > 0 || slices.ContainsFunc(l.admitted, isReady)
	if wanted && !l.stopped && !l.HasTime() {
		l.stopped = true
	}

	if l.stopped {
		l.refuse()

		if l.OnStop != nil {
			l.OnStop()
		}
	} else {
		for l.startNext() {
		}

		l.admit()
	}

	if l.Idle != nil && len(l.waiting)+len(l.admitted)+l.working == 0 {
		l.Idle()
	}
}

// refuse answers false to all messages that wait, because nothing starts any more.
func (l *Limits) refuse() {
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

// free returns how many more handlers may run. While records are refused and none is written, an effect that has just finished counts as
// one in trouble: otherwise another handler would start before the refusal of its record is known.
func (l *Limits) free() int {
	if l.unrecorded >= maxUnrecorded {
		return 0
	}

	held := l.troubled
	if l.refused {
		held = l.unrecorded
	}

	return max(0, l.Workers-l.working-max(0, held-1))
}

// startNext gives a worker to the first message that has its claim. It does not overtake a message whose claim has no answer yet,
// unless there are workers for both or the answer takes long.
func (l *Limits) startNext() bool {
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
func (l *Limits) waitForClaims() {
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
func (l *Limits) admit() {
	n := l.claimable()
	if n == 0 {
		return
	}

	if slices.ContainsFunc(l.admitted, isClaiming) && !l.unordered {
		l.waitForClaims()

		return
	}

	l.Expect(n)
	l.endWaitForClaims()

	for _, t := range l.waiting[:n] {
		l.insert(t)
		t.answer <- true
	}

	l.waiting = slices.Delete(l.waiting, 0, n)
}

// claimable returns how many of the waiting messages may be claimed now: as many as there are free workers. If no other message is being
// claimed or waits for a worker, as many as fit into one request may be claimed even if fewer workers are free.
func (l *Limits) claimable() int {
	if len(l.waiting) == 0 {
		return 0
	}

	n := l.free() - len(l.admitted)
	if n > 0 || len(l.admitted) == 0 {
		n = max(n, l.Ahead())
	}

	return min(max(n, 0), len(l.waiting))
}

// endWaitForClaims ends the wait for the claims before, so that the next claims are waited for anew.
func (l *Limits) endWaitForClaims() {
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}

	l.unordered = false
}

func (l *Limits) insert(t *Turn) {
	at, _ := slices.BinarySearchFunc(l.admitted, t, byIndex)
	l.admitted = slices.Insert(l.admitted, at, t)
}

func (l *Limits) remove(t *Turn) {
	l.admitted = slices.DeleteFunc(l.admitted, func(other *Turn) bool { return other == t })
}

func byIndex(a, b *Turn) int { return cmp.Compare(a.index, b.index) }

func isReady(t *Turn) bool    { return t.ready }
func isClaiming(t *Turn) bool { return !t.ready }

// Turn is one message's way through the limits. After Answer, its methods are called in this order: Start or Leave; after the start, End,
// and then Recorded if End was called for an effect.
type Turn struct {
	limits *Limits
	index  int  // of the message in its batch
	ready  bool // has its claim or needs none, and wants a worker
	works  bool // has a worker
	answer chan bool

	finished bool // its effect has happened and has no record yet
	troubled bool
	refusals int // of records, that were known when its own was sent last
}

// Answer gives true when the message may be claimed, or has its worker if it needs no claim. It gives false if nothing starts any more;
// then the turn is over.
func (t *Turn) Answer() <-chan bool { return t.answer }

// Leave gives back the place or the worker of a message whose work does not begin.
func (t *Turn) Leave() {
	t.change(func(l *Limits) {
		if l.remove(t); t.works {
			l.working--
		}
	})
}

// Start waits for a worker, unless the message has one. It returns false if nothing starts any more; then the turn is over.
func (t *Turn) Start() bool {
	if t.works {
		return true
	}

	t.change(func(*Limits) { t.ready = true })

	return <-t.answer
}

// End gives the worker back. If the handler had an effect, Recorded must follow.
func (t *Turn) End(effect bool) {
	t.change(func(l *Limits) {
		l.working--

		if effect {
			l.unrecorded++
			t.finished, t.refusals = true, l.refusals
		}
	})
}

// Trouble reports that the record of the effect does not get through: it was refused, or it takes long. It returns true the first time
// in the invocation.
func (t *Turn) Trouble(refused bool) bool {
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

// Recorded reports that the effect has its record, or that the record was given up.
func (t *Turn) Recorded(written bool) {
	t.change(func(l *Limits) {
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

func (t *Turn) change(f func(*Limits)) {
	l := t.limits

	l.mu.Lock()
	defer l.mu.Unlock()

	f(l)
	l.grant()
}
