package lambdawrap

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/idemddb/go-idemddb/internal/queue"
)

// redelivery sets when the failed messages of an invocation are delivered again.
type redelivery struct {
	*wrapper

	answerAt time.Time     // when the answer is sent; zero if the invocation has no deadline
	changes  chan struct{} // as many changes of a message's visibility as may be made at a time
}

// hiddenFor returns how many seconds a failed message stays hidden. In a FIFO group all messages behind a failed one come back
// with it. While another worker holds the key, a delivery does nothing but use up a receive. So the message stays hidden until
// that lease is over, or for its back-off, whichever is longer.
func (r *redelivery) hiddenFor(ctx context.Context, m *message, o outcome) int32 {
	if o.seconds > 0 {
		return o.seconds
	}

	pause := r.pauseOf(ctx, m)
	if o.until.IsZero() {
		return pause
	}

	return max(pause, queue.HiddenFor(r.store.RetryAfter(o.until)))
}

// visibilityTime is the longest time for one change of a message's visibility: the answer should not wait longer for it.
const visibilityTime = 2 * time.Second

// visibilityCalls is how many such changes are made at a time.
const visibilityCalls = 100

// envelope is how long a message of a queue stays hidden in whose envelope stood several messages: as long as the one that needs
// it longest.
type envelope struct {
	mu      sync.Mutex
	open    int   // of the messages in it: that have not ended
	seconds int32 // the longest time that one of them needs; notHidden before the first
}

// notHidden is in the place of the seconds for what is not hidden: it is done, or shall reach its dead-letter queue soon.
const notHidden = -1

// ended notes for how long one of the messages needs the envelope to stay hidden, and returns what all of them need if it was the
// last one. Until then it returns notHidden.
func (e *envelope) ended(seconds int32) int32 {
	if e == nil {
		return seconds
	}

	e.mu.Lock()
	defer e.mu.Unlock()

	e.seconds = max(e.seconds, seconds)
	if e.open--; e.open > 0 {
		return notHidden
	}

	return e.seconds
}

// ended notes the end of a message. It returns for how many seconds what arrived stays hidden from now on, if that is known now:
// the message has failed, and all that stood in its envelope has ended. Else it returns notHidden.
func (r *redelivery) ended(ctx context.Context, m *message, o outcome) int32 {
	seconds := int32(notHidden)
	if m.failed && !o.permanent {
		seconds = r.hiddenFor(ctx, m, o)
		m.seconds.Store(seconds)
	}

	return m.around.ended(seconds)
}

// hide sets when a failed message is delivered again. Only the answer waits for it.
func (r *redelivery) hide(ctx context.Context, m *message, seconds int32) {
	ctx, end := within(ctx, r.answerAt)
	defer end()

	r.changes <- struct{}{}
	defer func() { <-r.changes }()

	ctx, cancel := context.WithTimeout(ctx, visibilityTime)
	defer cancel()

	err := await(ctx, func() error {
		if err := queue.Hide(ctx, r.opts.Visibility.ChangeMessageVisibility, m.SQSMessage, seconds); err != nil {
			return fmt.Errorf("lambdawrap: message visibility: %w", err)
		}

		return nil
	})
	if err != nil {
		r.log(ctx, m, line{slog.LevelWarn, "the message comes back after its queue's visibility time-out", "", err})
	}
}

// pauseOf returns how many seconds the pause is that Options.Backoff asks for.
func (r *redelivery) pauseOf(ctx context.Context, m *message) int32 {
	if r.opts.Backoff == nil {
		return queue.Backoff(m.receives)
	}

	var pause time.Duration

	err := errExited

	func() {
		defer catch(&err)

		pause, err = r.opts.Backoff(m.receives), nil
	}()

	if err != nil {
		r.log(ctx, m, line{slog.LevelError, "Options.Backoff failed; the message has the default pause", "", err})

		return queue.Backoff(m.receives)
	}

	return queue.Seconds(pause)
}

// ExponentialBackoff is the default of Options.Backoff: a pause that doubles with each receive, 1 to 2 s after the first and at
// most 15 minutes. Half of it is random, so that messages which failed together do not come back together.
func ExponentialBackoff(receives int) time.Duration {
	return time.Duration(queue.Backoff(receives)) * time.Second
}

// ConstantBackoff returns an Options.Backoff with one pause for each receive.
func ConstantBackoff(pause time.Duration) func(receives int) time.Duration {
	return func(int) time.Duration { return pause }
}
