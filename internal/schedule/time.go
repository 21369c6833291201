package schedule

import "time"

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
