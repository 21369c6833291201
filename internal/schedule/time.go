package schedule

import "time"

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
		s.actions = append(s.actions, Action{Warn, i, 0})
	}
}

// end makes the handlers late that still run.
func (s *Schedule) end() {
	s.stop()

	if !s.late {
		s.late = true
		s.actions = append(s.actions, Action{Late, 0, 0})
	}
}
