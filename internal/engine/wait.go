package engine

import (
	"context"
	"errors"
	"time"

	"github.com/idemddb/go-idemddb/internal/planner"
)

// tell tells the news of a write, in the goroutine of its caller.
func (e *Engine) tell(ctx context.Context, c *call) {
	all := c.news
	c.news = nil

	e.unlocked(func() {
		for _, n := range all {
			n.tell(ctx, c.key, n.err)
		}
	})
}

// withdraw takes a write back whose caller leaves, unless it has ended.
func (e *Engine) withdraw(c *call) {
	for c.busy {
		e.unbusy.Wait()
	}

	if c.isOver {
		return
	}

	now := time.Now()

	if c.flight != nil { // it was not sent
		c.answers[0] = planner.Done
		e.planner.Land(now, c.flight, c.answers[:], 0)
	}

	e.planner.Withdraw(&c.Write)
	e.finish(c)
	e.depart(now)
}

// finish ends a write without an answer. If no other caller waits for its flight, the flight is cancelled, and the caller waits for its end.
func (e *Engine) finish(c *call) {
	c.isOver = true

	if s := c.shared; s != nil && !s.flight.IsAwaited() {
		s.cancel()
		c.last = s.done
	}

	c.wake()
}

func (e *Engine) awaitLast(c *call) {
	last := c.last
	c.last = nil

	e.unlocked(func() { <-last })
}

// gaveUp joins the last answer of DynamoDB with the reason why there is no further try.
func gaveUp(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return errors.Join(err, cause)
	}

	return err
}

// depart does what the planner says now, and sets the timer. It is called, with e.mu held, after each change. The timer may be late, and what
// it was set for is done here too: afterwards it is set for what comes next.
func (e *Engine) depart(now time.Time) {
	for _, w := range e.planner.Tick(now) {
		c := callOf(w)
		if c.err == nil {
			c.err = errNoTime
		}

		e.finish(c)
	}

	for f := e.planner.Depart(now); f != nil; f = e.planner.Depart(now) {
		if f.IsShared() {
			e.start(f)

			continue
		}

		c := callOf(f.Writes[0])
		c.flight = f
		c.wake()
	}

	e.setTimer(now)
}

func (e *Engine) setTimer(now time.Time) {
	at := e.planner.Wake(now)

	switch {
	case at.Equal(e.wakeAt):
	case at.IsZero():
		e.timer.Stop()
	case e.timer == nil:
		e.timer = time.AfterFunc(at.Sub(now), e.tick)
	default:
		e.timer.Reset(at.Sub(now))
	}

	e.wakeAt = at
}

// tick is called by the timer.
func (e *Engine) tick() {
	e.mu.Lock()
	defer e.mu.Unlock()

	e.wakeAt = time.Time{}
	e.depart(time.Now())
}
