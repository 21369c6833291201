package lambdawrap

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/idemddb/go-idemddb/internal/schedule"
)

// makeSchedule makes the schedule of the messages, which decides about each of them. From here on the invocation reports to it what happens, and
// does what it says.
func (v *invocation) makeSchedule(messages []*message) {
	c := schedule.Config{
		Messages: make([]schedule.Message, len(messages)), Workers: v.workers, Ahead: v.engine.Ahead(), Time: v.time,
		Grace: v.reserve / latePart, LateAt: v.lateAt, Whole: v.isWhole,
	}

	for i, m := range messages {
		if c.Messages[i].Unclaimed = m.unclaimed; m.fifo {
			c.Messages[i].Group = m.group
		}
	}

	if !v.isWhole {
		v.running.Add(len(messages)) // until each of them is finished
	}

	v.mu.Lock()
	defer v.mu.Unlock()

	v.messages, v.schedule = messages, schedule.New(c)
	now := time.Now()
	v.setTimer(now, v.schedule.Wake(now))
}

// step reports an event to the schedule and does what follows from it. Nothing of that waits.
func (v *invocation) step(event func(s *schedule.Schedule, now time.Time)) {
	v.mu.Lock()
	defer v.mu.Unlock()

	now := time.Now()
	v.schedule.Longest = v.durations.longest()

	event(v.schedule, now)
	wakeAt, actions := v.schedule.Wake(now), v.schedule.Actions()

	for _, a := range actions {
		v.act(a)
	}

	v.setTimer(now, wakeAt)
}

// act does what the schedule says. It is called with v.mu held.
func (v *invocation) act(a schedule.Action) {
	switch a.Kind {
	case schedule.Expect:
		v.group.Expect(a.Other)
	case schedule.Idle:
		if v.opts.Optimistic {
			v.group.Flush()
		}
	case schedule.Stop:
		v.stopStarting()
	case schedule.Late:
		close(v.closing)
	case schedule.Warn:
		v.spawn(func() { v.warnOfTrouble(v.messages[a.Message].own) })
	default:
		v.decide(v.messages[a.Message], a)
	}
}

// decide gives a message what the schedule has decided about it. Its goroutine begins with the first decision.
func (v *invocation) decide(m *message, a schedule.Action) {
	if m.verdict != nil {
		m.verdict <- a

		return
	}

	if a.Kind == schedule.Claim {
		m.verdict = make(chan schedule.Action, 1) // it is given a worker later
	}

	v.spawn(func() { v.follow(m, a) })
}

// spawn runs a task of the wrapper. A panic in it is the wrapper's own, or one of the DynamoDB client: the whole batch comes back.
func (v *invocation) spawn(task func()) {
	v.running.Go(func() {
		err := errExited

		defer func() {
			if p := recover(); p != nil {
				err = newPanicError(p)
			}

			if err != nil {
				v.fail(err)
			}
		}()

		task()

		err = nil
	})
}

// fail makes the invocation fail. Nothing starts any more.
func (v *invocation) fail(err error) {
	v.mu.Lock()

	if v.failure == nil {
		v.failure = fmt.Errorf("lambdawrap: the wrapper or the DynamoDB client failed, so the whole batch comes back: %w", err)
	}
	v.mu.Unlock()

	v.stop()
}

// setTimer lets the schedule know at this time that time has passed; never if it is zero. It is called with v.mu held.
func (v *invocation) setTimer(now, at time.Time) {
	switch {
	case at.Equal(v.wakeAt):
	case v.timer == nil:
		v.timer = time.AfterFunc(at.Sub(now), func() { v.step((*schedule.Schedule).Tick) })
	case at.IsZero():
		v.timer.Stop()
	default:
		v.timer.Reset(at.Sub(now))
	}

	v.wakeAt = at
}

// stopTimer ends the timer with the invocation.
func (v *invocation) stopTimer() {
	v.mu.Lock()
	defer v.mu.Unlock()

	if v.timer != nil {
		v.timer.Stop()
	}
}

// stop lets nothing start any more.
func (v *invocation) stop() { v.step((*schedule.Schedule).Stop) }

// hasTime reports whether another handler may start, or its key be claimed.
func (v *invocation) hasTime() bool { return v.time.HasTime(time.Now(), v.durations.longest()) }

// untilLastStart returns how much time is left until it is too late for a handler to start, in an invocation with a deadline.
func (v *invocation) untilLastStart() time.Duration {
	return v.time.UntilLastStart(time.Now(), v.durations.longest())
}

// durations are how long the last handlers that succeeded took. The longest of them says when it is too late for another one to start.
type durations struct {
	mu   sync.Mutex
	last [16]time.Duration
	n    int
}

// add keeps the duration of a handler that succeeded, in place of the oldest one.
func (d *durations) add(took time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()

	d.last[d.n%len(d.last)] = took
	d.n++
}

// longest returns the longest duration; 0 if no handler has succeeded yet.
func (d *durations) longest() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()

	return slices.Max(d.last[:])
}
