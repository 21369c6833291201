package schedule

import "slices"

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
		s.act(Blocked, i, before)
	case m.state == unknown:
		s.searching++
	default:
		s.enter(i)
	}
}

// enter gives a message the place that its key allows. No earlier message of its group is unfinished, and the search for its key is over.
func (s *Schedule) enter(i int) {
	m := &s.messages[i]
	if m.state == keyless {
		m.state = ended
		s.act(NoKey, i, 0)

		return
	}

	first, isSettled := s.settled[m.work]
	others, isUsed := s.used[m.work.Key]

	switch {
	case isSettled:
		m.state = ended
		s.act(Same, i, first)
	case isUsed:
		m.state = queued
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

		s.messages[other].state = ended
		s.active++
		s.act(Same, other, i)
	}

	if len(others) == 0 {
		delete(s.used, m.work.Key)

		return
	}

	s.used[m.work.Key] = others[1:]
	s.active++
	s.take(others[0])
}

func (s *Schedule) act(k Kind, i, other int) {
	s.actions = append(s.actions, Action{Kind: k, Message: i, Other: other})
}

// insert and without keep a list in the order of the batch.
func insert(list []int, i int) []int {
	at, _ := slices.BinarySearch(list, i)

	return slices.Insert(list, at, i)
}

func without(list []int, i int) []int {
	return slices.DeleteFunc(list, func(other int) bool { return other == i })
}
