package queue

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// SQS counts its 12 h from the receipt, and refuses a longer time instead of shortening it. The difference is for the time since
// the receipt: a batching window, an invocation, retries of a throttled one. A message that comes back early does no harm: the
// key is still held, and the message is hidden again.
const maxHidden = 12*time.Hour - 30*time.Minute

// The pauses between deliveries, in seconds.
const (
	backoffBase      = 2
	backoffCap       = 15 * 60
	backoffDoublings = 9 // 2 s, doubled more often, is beyond the cap
)

// changeVisibility is the method of the SDK's client.
type changeVisibility = func(
	context.Context, *sqs.ChangeMessageVisibilityInput, ...func(*sqs.Options),
) (*sqs.ChangeMessageVisibilityOutput, error)

// Hide hides a message for so many seconds from now on. After an error it comes back after the queue's own time-out.
func Hide(ctx context.Context, change changeVisibility, m events.SQSMessage, seconds int32) error {
	if m.ReceiptHandle == "" {
		return errors.New("receiptHandle is empty; is this a message of an SQS event?")
	}

	url, err := urlOf(ctx, m.EventSourceARN)
	if err != nil {
		return err
	}

	_, err = change(ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl:          aws.String(url),
		ReceiptHandle:     aws.String(m.ReceiptHandle),
		VisibilityTimeout: seconds,
	})

	return err
}

// Backoff returns the pause in seconds, at least 1, before a message that failed comes back. It doubles with each receive.
func Backoff(receives int) int32 { return backoff(receives, rand.N) }

// backoff returns a pause of which half is fixed, so that it does double, and half is random, so that messages which failed
// together do not come back together. random returns a number from 0 up to, not including, its argument.
func backoff(receives int, random func(int32) int32) int32 {
	limit := min(int32(backoffBase)<<min(max(receives, 1)-1, backoffDoublings), backoffCap)
	half := limit / 2 // even limits: 2 s … 512 s and 15 min

	return half + random(half+1)
}

// HiddenFor returns for how many seconds, at least 1, a message must be hidden if another worker holds its key for the time left.
// The lease must then be over and not just ending, because it is kept in ms.
//
// It is 1 s and not at once when the lease is already over, as another clock has it: each refusal uses up one of the queue's
// maxReceiveCount, and a message that comes back at once may use up all of them within one second.
func HiddenFor(left time.Duration) int32 { return Seconds(min(left, maxHidden) + time.Millisecond) }

// Seconds returns a pause in whole seconds: at least 1, and at most what SQS takes. Rounding up lets nothing come too early.
func Seconds(pause time.Duration) int32 {
	hidden := max(min(pause, maxHidden), time.Second)

	return int32((hidden + time.Second - 1) / time.Second)
}
