package lambdawrap

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/idemddb/go-idemddb/internal/schedule"
)

// search finds the keys of messages. It calls the functions of the user that must answer before a message can be claimed, for as
// many messages at a time as there are workers.
//
// One goroutine calls them one after the other. Functions that return at once, as those of this package do, need no more than
// that. When they take longer, others help. A call that takes half of the time in which anything may start does not count any
// more: another goroutine goes on in its place, so that a function which hangs costs its own message only.
type search struct {
	*invocation

	spare    time.Duration // what must be left after the last key, beside the time for a handler
	patience time.Duration // after which a call does not count any more
	all      chan struct{} // closed when no key is missing

	mu      sync.Mutex
	left    []*message // whose functions are not called yet, in the order of the batch
	missing int        // messages whose search has not ended
	ended   []*message // whose search has ended and is not reported
	reports bool       // each end is reported at once
}

const (
	quickTime = time.Millisecond      // how long one goroutine calls key functions alone
	shareTime = 10 * time.Millisecond // how long the first messages with a key wait for the others, so that their claims share requests
	freeTime  = time.Minute           // the patience of an invocation without a deadline
)

var errNoContext = errors.New("lambdawrap: the hook returned no context")

// newSearch returns the search for the keys of messages. start begins it. left is how much time is left until it is too late for
// a handler to start.
func (v *invocation) newSearch(messages []*message, left time.Duration) *search {
	s := &search{
		invocation: v, patience: freeTime, all: make(chan struct{}), left: messages, missing: len(messages),
	}
	if v.hasOneHandler {
		s.spare = v.reserve / latePart
	}

	if !v.deadline.IsZero() {
		s.patience = max((left-s.spare)/2, shareTime)
	}

	if len(messages) == 0 {
		close(s.all)
	}

	return s
}

// start begins to look for the keys. It returns when all of them are known, at the latest after shareTime. starting ends when
// nothing starts any more; the key functions of all messages share it.
func (s *search) start(starting context.Context) {
	n := len(s.left)

	go s.callAll(starting)

	if s.isOver(quickTime) {
		return
	}

	for range min(s.workers, n) - 1 {
		go s.callAll(starting)
	}

	s.isOver(shareTime - quickTime)
}

// reportAll reports the keys that are known to the schedule, together, and from here on each further one as soon as it is known.
func (s *search) reportAll() {
	s.mu.Lock()
	ended := s.ended
	s.ended, s.reports = nil, true
	s.mu.Unlock()

	s.report(ended...)
}

// report reports the keys of messages to the schedule.
func (s *search) report(messages ...*message) {
	s.step(func(plan *schedule.Schedule) {
		for _, m := range messages {
			if len(m.parts) > 0 {
				s.split(plan, m)
			}

			for _, part := range append([]*message{m}, m.parts...) {
				if part.noKey != nil {
					plan.Keyless(part.index)
				} else {
					plan.Found(part.index, part.asks)
				}
			}
		}
	})
}

// isOver waits for the end of the search, but not for longer than this, and reports whether it has come.
func (s *search) isOver(wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()

	select {
	case <-s.all:
		return true
	case <-s.stopped:
		return true
	case <-timer.C:
		return false
	}
}

// callAll calls the functions of each message in turn, until no message is left or another goroutine has taken its place.
func (s *search) callAll(starting context.Context) {
	replace := time.AfterFunc(s.patience, func() { s.callAll(starting) })

	defer func() {
		if replace.Stop() { // a function of the user ended the goroutine
			go s.callAll(starting)
		}
	}()

	for replace.Stop() {
		m := s.next(starting)
		if m == nil {
			break
		}

		replace.Reset(s.patience)
		s.find(starting, m)
	}
}

// next returns the next message whose functions must be called; nil if there is none, or if nothing starts any more.
func (s *search) next(starting context.Context) *message {
	s.mu.Lock()
	defer s.mu.Unlock()

	for len(s.left) > 0 && starting.Err() == nil {
		m := s.left[0]
		s.left = s.left[1:]

		if s.begins(m) {
			return m
		}
	}

	return nil
}

// begins reports whether nobody has called the functions of a message yet; the caller must do so. It is called with s.mu held.
func (s *search) begins(m *message) bool {
	isFirst := !m.quest.begun
	m.quest.begun = true

	return isFirst
}

// find asks for the message's own context and then for its key.
func (s *search) find(starting context.Context, m *message) {
	var (
		asks  schedule.Work
		parts []part
		err   = errExited // if a function of the user ends the goroutine
	)

	defer func() {
		if err != nil && starting.Err() != nil {
			err = errNoKeyInTime
		}

		s.end(m, func() {
			m.asks, m.noKey = asks, err
			if len(parts) > 0 {
				m.parts = s.take(m, parts)
			}
		})
	}()

	ctx := starting

	if s.has.context {
		own := s.deriveContext(s.ctx, starting, m)

		keyContext, cancel := context.WithCancel(own)
		defer cancel()
		defer context.AfterFunc(starting, cancel)()

		ctx = keyContext
	}

	if starting.Err() != nil {
		return
	}

	if s.opts.Envelope != nil {
		parts, err = s.callOpen(ctx, m)
	} else {
		number := ""
		if s.disabled {
			number = strconv.Itoa(m.index)
		}

		asks, err = callFind(ctx, number, m.find)
	}
}

// callOpen calls the user's function that opens the envelope of a message, and those for the keys of what stands in it.
func (s *search) callOpen(ctx context.Context, m *message) (parts []part, err error) {
	defer catch(&err)

	return s.openEnvelope(ctx, m)
}

// deriveContext asks the user's hook for a message's context, once, which the hook derives from ctx. It waits for the hook until
// waiting ends. A hook that fails changes nothing but the log.
func (s *search) deriveContext(ctx, waiting context.Context, m *message) context.Context {
	answer := make(chan context.Context, 1)
	err := await(waiting, func() error {
		own := m.hooks.messageContext(ctx)
		if own == nil {
			return errNoContext
		}

		own, cancel := s.workContext(own) // it ends in time even if the hook did not derive it from ctx
		context.AfterFunc(ctx, cancel)
		answer <- own

		return nil
	})

	own := ctx
	if err == nil {
		own = <-answer
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	if !m.quest.ended {
		m.derived, m.quest.hookFailure = own, err
	}

	return own
}

// end ends the search for the key of a message, unless it has ended. What its functions answer later is dropped.
func (s *search) end(m *message, fill func()) {
	if s.fill(m, fill) {
		s.report(m)
	}
}

// fill reports whether the end of the search must be reported now.
func (s *search) fill(m *message, fill func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	if m.quest.ended {
		return false
	}

	fill()

	m.quest.ended = true
	if s.missing--; s.missing == 0 {
		close(s.all)
	}

	if !s.reports {
		s.ended = append(s.ended, m)
	}

	return s.reports
}

// await waits until the search for all keys has ended, nothing starts any more, or it is too late for a handler.
func (s *search) await() {
	for {
		left := freeTime
		if !s.deadline.IsZero() { // handlers that succeed meanwhile may change what is left
			left = s.untilLastStart() - s.spare
		}

		if left <= 0 || s.isOver(left) {
			return
		}
	}
}

// conclude ends the search for the key of a message. If the key is not known, the message has none. ctx is that of the
// invocation.
func (s *search) conclude(ctx context.Context, m *message) {
	s.mu.Lock()
	isNew := s.begins(m)
	s.mu.Unlock()

	if isNew && s.has.context { // what measures the message needs its context also if it ends like this
		waiting, cancel := s.hookContext(ctx, s.settleBy)
		s.deriveContext(ctx, waiting, m)
		cancel()
	}

	s.fill(m, func() { m.noKey = errNoKeyInTime })

	if err := m.quest.hookFailure; err != nil {
		s.log(ctx, m, line{slog.LevelError, "the hook for a message's context failed; the message has the context of the invocation", "", err})
	}
}
