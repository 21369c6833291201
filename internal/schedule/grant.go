package schedule

import (
	"slices"
	"time"
)

const (
	maxUnrecorded = 100                    // finished effects that are not settled, at most
	claimWait     = 150 * time.Microsecond // rule 5
	troubleTime   = 100 * time.Millisecond // rule 7; the writes of a slow but healthy table take less
)

// Time says when it is too late for a handler to start. Its methods take the time now, and how long the longest of the last
// handlers took; 0 if none is known.
type Time struct {
	Begun   time.Time     // when the invocation began
	End     time.Time     // when nothing may start any more; zero if the invocation has no deadline
	Timeout time.Duration // of one handler; 0 for none
}

// HasTime reports whether another handler may start, or its key be claimed.
func (t Time) HasTime(now time.Time, longest time.Duration) bool {
	return t.End.IsZero() || t.UntilLastStart(now, longest) >= 0
}

// UntilLastStart returns how much time is left until it is too late for a handler to start, in an invocation with a deadline.
// Without a time-out, the handlers that succeeded lately say how long one takes; but the first half of the time is open to any.
func (t Time) UntilLastStart(now time.Time, longest time.Duration) time.Duration {
	need := t.Timeout

	if need == 0 {
		need = t.End.Sub(t.Begun) / 2

		if longest > 0 {
			need = min(need, longest+longest/4)
		}
	}

	return t.End.Sub(now) - need
}

// Actions gives out what is free after the events that were reported since the last call, and returns all that must be done. It
// is valid until the next event.
func (s *Schedule) Actions(now time.Time) []Action {
	wanted := len(s.waiting) > 0 || slices.ContainsFunc(s.admitted, s.isReady)
	if wanted && !s.HasTime(now, s.Longest) {
		s.Stop()
	}

	if s.stopped {
		s.refuse(now)
	} else {
		for s.startNext(now) {
		}

		s.admit(now)
	}

	wasAtWork := s.isAtWork
	if s.isAtWork = len(s.waiting)+len(s.admitted)+s.working > 0; s.Optimistic && wasAtWork && !s.isAtWork {
		s.actions = append(s.actions, Action{Kind: Idle, Message: -1})
	}

	s.watch(now)

	actions := s.actions
	s.actions = s.actions[:0]

	return actions
}

// Wake returns when Tick must be called next; zero if that is not needed.
func (s *Schedule) Wake(now time.Time) (at time.Time) {
	soonest := func(t time.Time) {
		if at.IsZero() || t.Before(at) {
			at = t
		}
	}

	if !s.orderedTo.IsZero() {
		soonest(s.orderedTo)
	}

	if !s.LateAt.IsZero() && !s.late {
		soonest(s.LateAt)
	}

	if s.searching > 0 && !s.End.IsZero() {
		soonest(now.Add(s.UntilLastStart(now, s.Longest) + 1)) // one nanosecond too late
	}

	for _, i := range s.unrecorded {
		if !s.messages[i].isTroubled {
			soonest(s.troubleAt(i))

			break
		}
	}

	if s.Timeout > 0 {
		if n := s.overdue(now); n < len(s.handlers) {
			soonest(s.overdueAt(s.handlers[n]))
		}
	}

	return at
}

// free returns how many more handlers may run.
func (s *Schedule) free() int {
	if len(s.unrecorded) >= maxUnrecorded {
		return 0
	}

	held := s.troubled
	if s.refused {
		// Otherwise one more handler would start for each completion that is still in flight.
		held = len(s.unrecorded)
	}

	return max(0, s.Workers-s.working-max(0, held-1))
}

// startNext gives a worker to the first message that has its claim. It does not overtake a message whose claim has no answer yet,
// unless there are workers for both or the answer takes long.
func (s *Schedule) startNext(now time.Time) bool {
	free, at := s.free(), slices.IndexFunc(s.admitted, s.isReady)
	if free == 0 || at < 0 {
		return false
	}

	if at >= free && !s.unordered {
		s.waitForClaims(now)

		return false
	}

	i := s.admitted[at]
	s.messages[i].worker = true
	s.working++
	s.run(now, i)
	s.actions = append(s.actions, Action{Kind: Start, Message: i})

	return true
}

// run lets a handler or a hook begin.
func (s *Schedule) run(now time.Time, i int) {
	m := &s.messages[i]
	m.state, m.since = runs, now

	if at := slices.Index(s.admitted, i); at >= 0 { // the handler of Call was never admitted
		s.admitted = slices.Delete(s.admitted, at, at+1)
	}

	if m.hook {
		s.hooks++
	} else {
		s.handlers = append(s.handlers, i)
	}
}

// admit lets the next messages be claimed. It waits a moment for claims under way: they are answered together, and those that get
// no worker make room for the next ones together.
func (s *Schedule) admit(now time.Time) {
	n := s.claimable()
	if n == 0 {
		return
	}

	if slices.ContainsFunc(s.admitted, s.isClaiming) && !s.unordered {
		s.waitForClaims(now)

		return
	}

	s.unordered, s.orderedTo = false, time.Time{}

	if s.active > 1 { // else no other write is waited for
		s.actions = append(s.actions, Action{Expect, -1, n})
	}

	for _, i := range s.waiting[:n] {
		s.messages[i].state = claiming
		s.actions = append(s.actions, Action{Kind: Claim, Message: i})
	}

	s.admitted = append(s.admitted, s.waiting[:n]...)
	slices.Sort(s.admitted)

	s.waiting = slices.Delete(s.waiting, 0, n)
}

// claimable returns how many of the waiting messages may be claimed now, as rule 4 says.
func (s *Schedule) claimable() int {
	if len(s.waiting) == 0 {
		return 0
	}

	n := s.free() - len(s.admitted)
	if n > 0 || len(s.admitted) == 0 {
		n = max(n, s.Ahead)
	}

	return min(max(n, 0), len(s.waiting))
}

// waitForClaims ends the wait for claims without an answer after a moment.
func (s *Schedule) waitForClaims(now time.Time) {
	if s.orderedTo.IsZero() {
		s.orderedTo = now.Add(claimWait)
	}
}

func (s *Schedule) isReady(i int) bool { return s.messages[i].state == ready }

func (s *Schedule) isClaiming(i int) bool { return s.messages[i].state == claiming }

// watch ends the batch where nothing but overdue handlers is at work, as rule 8 says.
func (s *Schedule) watch(now time.Time) {
	if s.Timeout == 0 {
		return
	}

	n := s.overdue(now)

	if n >= s.Workers {
		s.Stop()
		s.refuse(now)
	}

	if n > 0 && n == s.active {
		s.end()
	}
}

// overdue counts the handlers that are overdue.
func (s *Schedule) overdue(now time.Time) int {
	n := 0
	for n < len(s.handlers) && !now.Before(s.overdueAt(s.handlers[n])) {
		n++
	}

	return n
}

// overdueAt returns when a handler is overdue. The sum of two durations can overflow, and that of a time and a duration does not.
func (s *Schedule) overdueAt(i int) time.Time {
	return s.messages[i].since.Add(s.Timeout).Add(s.Grace)
}

// troubleAt returns when a finished effect is in trouble because it is not settled.
func (s *Schedule) troubleAt(i int) time.Time { return s.messages[i].since.Add(troubleTime) }
