package turns

import (
	"cmp"
	"slices"
	"sync"
)

// Keys lets one message of a batch at a time work on a key. A message that asks for the same work as one that has ended ends as that one
// did, with an outcome O. It is safe for concurrent use, and its zero value is ready.
type Keys[O any] struct {
	mu    sync.Mutex
	ended map[Work]*Seat[O]     // the message that did each piece of work
	used  map[string][]*Seat[O] // by the keys that are worked on: the messages that wait for them, in the order of the batch
}

// Work is what a message asks for: its key, and the fingerprint of its input.
type Work struct{ Key, Fingerprint string }

// Seat is the place of one message among those with its key.
type Seat[O any] struct {
	keys  *Keys[O]
	index int // of the message in its batch
	work  Work

	called  chan struct{} // closed when the wait is over; nil if there was none
	isEnded bool          // another message did its work
	outcome O             // of its work
}

// Join takes a seat for a message. Of messages that join one after the other, the first one works on their key.
func (k *Keys[O]) Join(index int, work Work) *Seat[O] {
	k.mu.Lock()
	defer k.mu.Unlock()

	if k.used == nil {
		k.ended, k.used = map[Work]*Seat[O]{}, map[string][]*Seat[O]{}
	}

	s := &Seat[O]{keys: k, index: index, work: work}

	first := k.ended[work]
	waiting, isUsed := k.used[work.Key]

	switch {
	case first != nil:
		s.outcome, s.isEnded = first.outcome, true
	case isUsed:
		s.called = make(chan struct{})
		at, _ := slices.BinarySearchFunc(waiting, s, func(a, b *Seat[O]) int { return cmp.Compare(a.index, b.index) })
		k.used[work.Key] = slices.Insert(waiting, at, s)
	default:
		k.used[work.Key] = nil
	}

	return s
}

// Works reports whether the message had its key when it joined: Wait then returns at once, and End must follow.
func (s *Seat[O]) Works() bool { return s.called == nil && !s.isEnded }

// Wait waits until no other message works on the key. It returns the outcome of the same work if that has ended in this batch; otherwise the
// message works on the key from here on, and End must follow.
func (s *Seat[O]) Wait() (outcome O, isEnded bool) {
	if s.called != nil {
		<-s.called
	}

	return s.outcome, s.isEnded
}

// End gives the key to the next message and the outcome to those that ask for the same work.
func (s *Seat[O]) End(outcome O) {
	k := s.keys

	k.mu.Lock()
	defer k.mu.Unlock()

	s.outcome = outcome
	k.ended[s.work] = s

	var others []*Seat[O]

	for _, waiting := range k.used[s.work.Key] {
		if waiting.work != s.work {
			others = append(others, waiting)

			continue
		}

		waiting.outcome, waiting.isEnded = outcome, true
		close(waiting.called)
	}

	if len(others) == 0 {
		delete(k.used, s.work.Key)

		return
	}

	k.used[s.work.Key] = others[1:]
	close(others[0].called)
}
