package lambdawrap

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/idemddb/go-idemddb/internal/queue"
)

// VisibilityAPI is what Options.Visibility needs of SQS; *sqs.Client fits. With it, a message that is reported failed comes
// back when there may be work for it, and not only when the queue's visibility time-out is over: when the lease of the other
// worker ends that holds its key, or else after a pause that doubles with each delivery, from 1 to 2 s up to 7.5 to 15 min.
//
// It costs one SQS request for each failed message, and the function needs sqs:ChangeMessageVisibility on its queue, which
// AWSLambdaSQSQueueExecutionRole does not grant. A request that fails is logged and changes nothing: the message comes back
// after the queue's time-out. SQS takes a new time for this delivery alone and does not remember it for later ones, and
// refuses one that ends later than 12 h after the message was received.
//
// A message that comes back sooner uses up the queue's maxReceiveCount sooner: the fifth delivery comes 15 to 30 s after the
// first, the tenth after 8.5 to 17 min. So set it by the longest outage that messages should outlast.
//
// The client must be one of the function's own region, where its queue is, too. It must be safe for concurrent use.
type VisibilityAPI interface {
	ChangeMessageVisibility(
		context.Context, *sqs.ChangeMessageVisibilityInput, ...func(*sqs.Options),
	) (*sqs.ChangeMessageVisibilityOutput, error)
}

// hiddenFor returns how many seconds a failed message stays hidden. In a FIFO group all messages behind a failed one come back with it.
// While another worker holds the key, each delivery would be in vain, and it uses up one of the queue's receives; so the pause also
// grows with each receive.
func (v *invocation) hiddenFor(m *message, o outcome) int32 {
	if o.seconds > 0 {
		return o.seconds
	}

	pause := queue.Backoff(m.receives)
	if o.until.IsZero() {
		return pause
	}

	return max(pause, queue.HiddenFor(v.store.RetryAfter(o.until)))
}

// visibilityTime is the longest time for one change of a message's visibility: the answer should not wait longer for it.
const visibilityTime = 2 * time.Second

// visibilityCalls is how many such changes are made at a time.
const visibilityCalls = 100

// hide sets when a failed message is delivered again. Only the answer waits for it.
func (v *invocation) hide(ctx context.Context, m *message) {
	ctx, end := v.answerContext(ctx)
	defer end()

	v.changes <- struct{}{}
	defer func() { <-v.changes }()

	ctx, cancel := context.WithTimeout(ctx, visibilityTime)
	defer cancel()

	err := await(ctx, func() error {
		if err := queue.Hide(ctx, v.opts.Visibility.ChangeMessageVisibility, m.SQSMessage, m.seconds); err != nil {
			return fmt.Errorf("lambdawrap: message visibility: %w", err)
		}

		return nil
	})
	if err != nil {
		v.log(ctx, slog.LevelWarn, "the message comes back after its queue's visibility time-out", m, "", err)
	}
}
