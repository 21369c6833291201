package lambdawrap

import (
	"context"
	"time"

	"github.com/idemddb/go-idemddb/internal/schedule"
	"github.com/idemddb/go-idemddb/internal/sleep"
)

// This file lets a message wait for its key, which another invocation of the process works on, or another worker.

// waitForHolder waits until the message's key may be claimed once more. It gives the message's place back meanwhile. It returns false if the time
// is over.
func (v *invocation) waitForHolder(ctx context.Context, m *message, poll *sleep.Poll) bool {
	own, isOwn := v.inHand.Load(m.asks.Key)
	ended, _ := own.(chan struct{})

	if m.unclaimed || !isOwn && !time.Now().Before(poll.End) {
		return false
	}

	v.step(func(s *schedule.Schedule) { s.Waits(m.index) })

	if isOwn && !v.waitForOwn(ended) || !isOwn && !poll.Next(ctx) {
		return false
	}

	v.step(func(s *schedule.Schedule) { s.Again(m.index) })

	return true
}

// waitForTwin lets a message that needs no claim wait until another invocation of this process has ended its work on the same key. Then the message is
// claimed: if that work was completed, its record answers, and the handler does not run for nothing. An outcome with a name says why nothing begins.
func (v *invocation) waitForTwin(m *message, twin any) (o outcome) {
	v.step(func(s *schedule.Schedule) {
		m.verdict = make(chan schedule.Action, 1) // it has had its worker, and gives it back
		s.Waits(m.index)
	})

	if ended, _ := twin.(chan struct{}); !v.waitForOwn(ended) {
		return outcome{name: OutcomeNoTime, err: errNoTime}
	}

	v.step(func(s *schedule.Schedule) { s.Again(m.index) })

	if decided := <-m.verdict; decided.Kind == schedule.NoTime || decided.Kind == schedule.Blocked {
		return v.notStarted(m, decided)
	}

	m.unclaimed = false

	return o
}

// waitForOwn waits until another invocation of this process has ended its work on a key. It returns false if nothing starts any more.
func (v *invocation) waitForOwn(ended <-chan struct{}) bool {
	select {
	case <-ended:
		return true
	case <-v.starting.Done():
		return false
	}
}
