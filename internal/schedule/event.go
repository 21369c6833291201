package schedule

import (
	"slices"
	"time"
)

// New returns the schedule of a batch.
func New(c Config) *Schedule {
	s := &Schedule{Config: c, settled: map[Work]int{}, used: map[string][]int{}}

	if c.OneHandler {
		s.messages, s.active = make([]message, len(c.Messages)+1), 1 // that of Call

		return s
	}

	s.messages = make([]message, len(c.Messages))
	last := map[string]int{} // the last message of each group

	for i, m := range c.Messages {
		s.messages[i].Message = m

		if before, ok := last[m.Group]; ok {
			s.messages[before].next = i
		} else {
			s.messages[i].head = true
			s.active++
			s.searching++
		}

		if m.Group != "" {
			last[m.Group] = i
		}
	}

	return s
}

// Split reports that a message whose key is unknown holds n further messages, before their keys and its own are reported. They
// are of its group, in order behind it. Split returns the index of the first of them, or false if it is decided about the message
// already: then it fails, with all that it holds.
func (s *Schedule) Split(i, n int) (first int, ok bool) {
	if s.OneHandler {
		first = len(s.messages) - 1
		s.messages = slices.Insert(s.messages, first, make([]message, n)...) // that of Call stays the last one

		return first, true
	}

	if s.messages[i].state != unknown {
		return 0, false
	}

	first = len(s.messages)

	for before := i; n > 0; n-- {
		m := message{Message: s.messages[i].Message}
		at := len(s.messages)

		if m.Group != "" {
			m.next, s.messages[before].next = s.messages[before].next, at
		} else {
			m.head = true
			s.active++
			s.searching++
		}

		s.messages, before = append(s.messages, m), at
	}

	return first, true
}

// Found reports the key of a message.
func (s *Schedule) Found(i int, w Work) {
	if m := &s.messages[i]; m.state == unknown {
		m.work = w
		s.searched(i, found)
	}
}

// Keyless reports that a message has no key.
func (s *Schedule) Keyless(i int) {
	if s.messages[i].state == unknown {
		s.searched(i, keyless)
	}
}

// Claimed reports that the key of a message is claimed: it waits for a worker.
func (s *Schedule) Claimed(i int) { s.messages[i].state = ready }

// Waits reports that another worker holds the key of a message, and that the message gives its place back until Again.
func (s *Schedule) Waits(i int) { s.leave(i) }

// Again reports that a message wants to be claimed once more.
func (s *Schedule) Again(i int) { s.want(i) }

// Ran reports that the handler of a message has returned, or did not run after all. If it had an effect, the effect has no record
// until Settled.
func (s *Schedule) Ran(now time.Time, i int, effect bool) {
	m := &s.messages[i]
	s.leave(i)

	if m.effect = effect; effect {
		m.since, m.refusals = now, s.refusals
		s.unrecorded = append(s.unrecorded, i)
	}
}

// TryFailed reports that a try to record the effect of a message failed, and that another one follows.
func (s *Schedule) TryFailed(i int) {
	if m := &s.messages[i]; m.effect {
		s.refusals++
		s.refused, m.refusals = true, s.refusals
		s.trouble(i)
	}
}

// Settled reports that the work of a message has ended, or did not begin, where Finished does not follow at once. written says
// that its effect is known to be recorded. What the work holds is free, and messages that ask for the same work end as it does.
func (s *Schedule) Settled(i int, written bool) {
	s.leave(i)

	if m := &s.messages[i]; m.effect {
		m.effect = false
		s.unrecorded = without(s.unrecorded, i)

		if m.isTroubled {
			s.troubled--
		}

		if written && m.refusals == s.refusals {
			s.refused = false
		}
	}

	s.release(i)
}

// Finished reports that the work of a message has ended, and that its end is reported, too. The next message of its group
// follows, unless this one has failed.
func (s *Schedule) Finished(i int, failed, written bool) {
	m := &s.messages[i]
	if m.state == finished {
		return
	}

	s.Settled(i, written)

	m.state = finished
	s.active--

	if failed {
		s.Failed(i)
	}

	if m.next > 0 {
		s.follow(i, m.next, failed)
	}
}

// Failed reports that the handler of a message has failed, before Ran: its worker must not be given to another one. Finished
// reports it, too, for a message that fails without its handler.
func (s *Schedule) Failed(i int) {
	if s.StopAtFailure && !s.stopped {
		s.isBlocked, s.blocker = true, i
		s.Stop()
	}
}

// Call reports that the one handler of all messages begins. Called follows.
func (s *Schedule) Call(now time.Time) { s.run(now, len(s.messages)-1) }

// Called reports that the handler of Call has returned.
func (s *Schedule) Called() { s.leave(len(s.messages) - 1) }

// Hook reports that a message whose work has ended wants a worker for its hook. The answer is always Start, never NoTime or
// Blocked: when handlers start no more, as many hooks run as there are workers.
func (s *Schedule) Hook(i int) {
	m := &s.messages[i]
	m.state, m.hook = ready, true
	s.admitted = insert(s.admitted, i)
}

// Hooked reports that the hook of a message has returned, or is not wanted any more.
func (s *Schedule) Hooked(i int) { s.leave(i) }

// searched notes what the search for a message's key has found.
func (s *Schedule) searched(i int, is state) {
	m := &s.messages[i]

	if m.state = is; m.head {
		s.searching--
		s.enter(i)
	}
}

// follow lets the next message of a group have its turn, or reports it blocked.
func (s *Schedule) follow(before, i int, isBlocked bool) {
	m := &s.messages[i]
	m.head = true
	s.active++

	switch {
	case isBlocked:
		m.state = ended
		s.actions = append(s.actions, Action{Blocked, i, before})
	case m.state == unknown:
		s.searching++
	default:
		s.enter(i)
	}
}

// enter gives a message the place that its key allows. No earlier message of its group is unfinished, and the search for its key
// is over.
func (s *Schedule) enter(i int) {
	m := &s.messages[i]
	if m.state == keyless {
		s.actions = append(s.actions, Action{Kind: NoKey, Message: i})

		return
	}

	first, isSettled := s.settled[m.work]
	others, isUsed := s.used[m.work.Key]

	switch {
	case isSettled:
		s.actions = append(s.actions, Action{Same, i, first})
	case isUsed:
		s.active--
		s.used[m.work.Key] = insert(others, i)
	default:
		s.take(i)
	}
}

// take gives a message its key.
func (s *Schedule) take(i int) {
	m := &s.messages[i]
	m.holds = true

	if _, isUsed := s.used[m.work.Key]; !isUsed {
		s.used[m.work.Key] = nil
	}

	s.want(i)
}

// want makes a message wait for its claim, or for a worker if it needs no claim.
func (s *Schedule) want(i int) {
	m := &s.messages[i]
	if m.Unclaimed {
		m.state = ready
		s.admitted = insert(s.admitted, i)

		return
	}

	m.state = waits
	s.waiting = insert(s.waiting, i)
}

// insert keeps a list in the order of the batch.
func insert(list []int, i int) []int {
	at, _ := slices.BinarySearch(list, i)

	return slices.Insert(list, at, i)
}

// leave gives back the place or the worker of a message, if it has one.
func (s *Schedule) leave(i int) {
	m := &s.messages[i]

	switch m.state { //nolint:exhaustive // the others have neither
	case waits:
		s.waiting = without(s.waiting, i)
	case claiming, ready:
		s.admitted = without(s.admitted, i)
	case runs:
		s.handlers = without(s.handlers, i)

		if m.worker {
			m.worker = false
			s.working--
		}
	}

	if m.hook && m.state == runs {
		s.hooks--
	}

	if m.state != finished {
		m.state, m.hook = ended, false
	}
}

// release gives the key of a message to the next one that waits for it. Those that ask for the same work end as this message did.
func (s *Schedule) release(i int) {
	m := &s.messages[i]
	if !m.holds {
		return
	}

	m.holds = false
	s.settled[m.work] = i
	others := s.used[m.work.Key][:0]

	for _, other := range s.used[m.work.Key] {
		if s.messages[other].work != m.work {
			others = append(others, other)

			continue
		}

		s.active++
		s.actions = append(s.actions, Action{Same, other, i})
	}

	if len(others) == 0 {
		delete(s.used, m.work.Key)

		return
	}

	s.used[m.work.Key] = others[1:]
	s.active++
	s.take(others[0])
}

func without(list []int, i int) []int {
	return slices.DeleteFunc(list, func(other int) bool { return other == i })
}
