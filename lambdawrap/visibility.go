package lambdawrap

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
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

const (
	// SQS counts its 12 h from the receipt, refuses what goes beyond and does not shorten it. The difference is for the time
	// since the receipt: a batching window, an invocation, retries of a throttled one. To come back early is no harm: the key
	// is still held, and the message is hidden again.
	maxHidden = 12*time.Hour - 30*time.Minute

	backoffBase = 2 * time.Second
	backoffCap  = 15 * time.Minute
)

// changeVisibility hides a message for so many seconds from now on. After an error it comes back after the queue's own
// time-out.
func changeVisibility(ctx context.Context, api VisibilityAPI, m events.SQSMessage, seconds int32) error {
	if m.ReceiptHandle == "" {
		return errors.New("lambdawrap: message visibility: receiptHandle is empty; is this a message of an SQS event?")
	}

	url, err := queueURL(ctx, m.EventSourceARN)
	if err != nil {
		return fmt.Errorf("lambdawrap: message visibility: %w", err)
	}

	if _, err = api.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl:          aws.String(url),
		ReceiptHandle:     aws.String(m.ReceiptHandle),
		VisibilityTimeout: seconds,
	}); err != nil {
		return fmt.Errorf("lambdawrap: message visibility: %w", err)
	}

	return nil
}

// queueURL makes a queue's URL from its ARN, so that no GetQueueUrl request is needed. The SDK itself resolves the host of the
// queue's region, and so knows every partition that the client knows. The SDK sends the request to its client's endpoint,
// whatever host the URL has, and SQS reads only the account and the name in it. So the URL is also right where the client has
// an endpoint of its own (a VPC endpoint, FIPS, an emulator).
func queueURL(ctx context.Context, text string) (string, error) {
	queue, err := arn.Parse(text)
	if err != nil || queue.Service != "sqs" {
		return "", fmt.Errorf("eventSourceARN: must be a queue's ARN, is %q", text)
	}

	if !isWord(queue.Region, "-") || !isWord(queue.AccountID, "") || !isWord(queue.Resource, "-_.") {
		return "", fmt.Errorf("eventSourceARN: must have a region, an account and a queue's name, is %q", text)
	}

	endpoint, err := sqs.NewDefaultEndpointResolverV2().ResolveEndpoint(ctx, sqs.EndpointParameters{Region: aws.String(queue.Region)})
	if err != nil {
		return "", fmt.Errorf("eventSourceARN: the SDK has no endpoint for %q: %w", text, err)
	}

	return endpoint.URI.String() + "/" + queue.AccountID + "/" + queue.Resource, nil
}

// isWord reports whether a text is not empty and consists of ASCII letters, digits and the marks alone.
func isWord(text, marks string) bool {
	return text != "" && strings.IndexFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(marks, r)
	}) < 0
}

// backoff is the pause before a message that failed comes back, in whole seconds, at least 1 s: half of it fixed, so that it
// does double, half random, so that messages which failed together do not come back together. random answers with a number from
// 0 up to, not including, its argument, as rand.N does.
func backoff(receiveCount int, random func(time.Duration) time.Duration) time.Duration {
	const doublings = 9 // 2 s, doubled more often, is beyond the cap

	limit := min(backoffBase<<min(max(receiveCount, 1)-1, doublings), backoffCap)
	half := limit / 2 // of whole seconds, for all of 2 s … 512 s and 15 min

	// SQS knows whole seconds only. They are drawn, each as likely as another; a fraction rounded up would be 2 s every time
	// where the pause is 1 to 2 s.
	drawn := random(half + time.Second).Truncate(time.Second)

	return half + min(max(drawn, 0), half)
}

// untilVisible is how long a message must be hidden whose key another worker holds: until the lease is over for every taker,
// in whole seconds, at least 1. until is by the holder's clock. A taker, by its own clock, waits ClockSkew longer, and its
// clock may be that much behind ours: extra is twice ClockSkew where no delivery should come too early.
//
// It is 1 s and not at once when the lease is already over, as another clock has it: each refusal uses up one of the
// queue's maxReceiveCount, and a message that comes back at once may use up all of them within one second.
func untilVisible(until time.Time, extra time.Duration, now time.Time) int32 {
	left := min(until.Sub(now), maxHidden) + min(max(extra, 0), maxHidden) // Sub saturates; the sum cannot overflow

	return wholeSeconds(max(left+time.Millisecond, time.Second)) // a lease must be over, not just ending: it is kept in ms
}

// wholeSeconds rounds up, so that nothing comes too early, to what SQS takes.
func wholeSeconds(d time.Duration) int32 {
	d = min(max(d, 0), maxHidden)

	return int32((d + time.Second - 1) / time.Second)
}
