package schedule

import (
	"slices"
	"time"
)

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
		s.actions = append(s.actions, Action{Warn, -1, i})
	}
}

// end makes the handlers late that still run.
func (s *Schedule) end() {
	s.Stop()

	if !s.late {
		s.late = true
		s.actions = append(s.actions, Action{Kind: Late, Message: -1})
	}
}

// Stop lets nothing start any more.
func (s *Schedule) Stop() {
	if !s.stopped {
		s.stopped = true
		s.actions = append(s.actions, Action{Kind: Stop, Message: -1})
	}
}

// refuse answers all messages that wait, because nothing starts any more. Hooks run nevertheless.
func (s *Schedule) refuse(now time.Time) {
	for _, i := range slices.Concat(s.waiting, s.admitted) {
		switch m := &s.messages[i]; {
		case m.state == claiming:
		case m.hook:
			if s.hooks < s.Workers {
				s.run(now, i)
				s.actions = append(s.actions, Action{Kind: Start, Message: i})
			}
		default:
			s.leave(i)
			s.actions = append(s.actions, s.refusal(i))
		}
	}

	s.refuseSearch()
}

// refusal says why a message does not start.
func (s *Schedule) refusal(i int) Action {
	if s.isBlocked {
		return Action{Blocked, i, s.blocker}
	}

	return Action{Kind: NoTime, Message: i}
}

// refuseSearch answers the messages whose keys are still unknown.
func (s *Schedule) refuseSearch() {
	if s.searching == 0 {
		return
	}

	for i := range s.messages {
		if m := &s.messages[i]; m.head && m.state == unknown {
			m.state = ended
			s.searching--
			s.actions = append(s.actions, s.refusal(i))
		}
	}
}
