package lambdawrap

import (
	"context"
	"time"

	"github.com/idemddb/go-idemddb/internal/schedule"
	"github.com/idemddb/go-idemddb/internal/sleep"
)

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

// waitForOwn waits until another invocation of this process has ended its work on a key. It returns false if nothing starts any more.
func (v *invocation) waitForOwn(ended <-chan struct{}) bool {
	select {
	case <-ended:
		return true
	case <-v.starting.Done():
		return false
	}
}
