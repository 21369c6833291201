package schedule

import "time"

// troubleTime is how long a finished effect waits for its record before it is in trouble. It must be longer than the writes of a slow but healthy
// table take.
const troubleTime = 100 * time.Millisecond

// Time says when it is too late for a handler to start. Its methods take the time now, and how long the longest of the last handlers took; 0 if
// none is known.
type Time struct {
	Begun   time.Time     // when the invocation began
	End     time.Time     // when nothing may start any more; zero if the invocation has no deadline
	Timeout time.Duration // of one handler; 0 for none
}

// HasTime reports whether another handler may start, or its key be claimed.
func (t Time) HasTime(now time.Time, longest time.Duration) bool {
	return t.End.IsZero() || t.UntilLastStart(now, longest) >= 0 && now.Before(t.End)
}

// UntilLastStart returns how much time is left until it is too late for a handler to start, in an invocation with a deadline. Without a
// time-out, the handlers that succeeded lately say how long one takes; but the first half of the time is open to any.
func (t Time) UntilLastStart(now time.Time, longest time.Duration) time.Duration {
	need := t.Timeout

	if need == 0 {
		need = t.End.Sub(t.Begun) / 2 //nolint:mnd // half

		if longest > 0 {
			need = min(need, longest+longest/4) //nolint:mnd // a quarter more
		}
	}

	return t.End.Sub(now) - need
}

// Tick reports that time has passed.
func (s *Schedule) Tick(now time.Time) {
	if !s.orderedTo.IsZero() && !now.Before(s.orderedTo) {
		s.unordered, s.orderedTo = true, time.Time{}
	}

	if !s.End.IsZero() && s.UntilLastStart(now, s.Longest) < 0 {
		s.refuseSearch()
	}

	for _, i := range s.unrecorded {
		if now.Before(s.troubleAt(i)) {
			break
		}

		s.trouble(i)
	}

	if !s.LateAt.IsZero() && !now.Before(s.LateAt) {
		s.end()
	}

	s.grant(now)
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

	if s.Timeout > 0 && !s.late {
		if n := s.overdue(now); n < len(s.handlers) {
			soonest(s.overdueAt(s.handlers[n]))
		}
	}

	return at
}

// troubleAt returns when a finished effect is in trouble because it is not settled.
func (s *Schedule) troubleAt(i int) time.Time { return s.messages[i].since.Add(troubleTime) }

// trouble notes that the record of an effect does not get through.
func (s *Schedule) trouble(i int) {
	m := &s.messages[i]
	if m.isTroubled {
		return
	}

	m.isTroubled = true
	s.troubled++

	if !s.warned {
		s.warned = true
		s.act(Warn, i, 0)
	}
}

// watch ends the batch where nothing but overdue handlers is at work, as rule 8 says.
func (s *Schedule) watch(now time.Time) {
	if s.Timeout == 0 || s.late {
		return
	}

	n := s.overdue(now)

	if n >= s.Workers && !s.stopped {
		s.stop()
		s.refuse(now)
	}

	if n > 0 && n == s.active {
		s.end()
	}
}

// end makes the handlers late that still run.
func (s *Schedule) end() {
	s.stop()

	if !s.late {
		s.late = true
		s.act(Late, 0, 0)
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
