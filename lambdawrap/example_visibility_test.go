package lambdawrap_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// A function has sqs.NewFromConfig(cfg) here.
var _ lambdawrap.VisibilityAPI = (*sqs.Client)(nil)

// hidden stands for SQS and prints for how long a message is hidden.
type hidden struct{}

func (hidden) ChangeMessageVisibility(
	_ context.Context, in *sqs.ChangeMessageVisibilityInput, _ ...func(*sqs.Options),
) (*sqs.ChangeMessageVisibilityOutput, error) {
	fmt.Printf("%s is hidden for %d s\n", *in.ReceiptHandle, in.VisibilityTimeout)

	return &sqs.ChangeMessageVisibilityOutput{}, nil
}

// atLeastAMinute lets no message come back before a minute has passed.
type atLeastAMinute struct{ lambdawrap.VisibilityAPI }

func (a atLeastAMinute) ChangeMessageVisibility(
	ctx context.Context, in *sqs.ChangeMessageVisibilityInput, opts ...func(*sqs.Options),
) (*sqs.ChangeMessageVisibilityOutput, error) {
	in.VisibilityTimeout = max(in.VisibilityTimeout, 60)

	out, err := a.VisibilityAPI.ChangeMessageVisibility(ctx, in, opts...)
	if err != nil {
		return nil, fmt.Errorf("at least a minute: %w", err)
	}

	return out, nil
}

// A type of your own between the wrapper and the client can change for how long messages are hidden.
func ExampleVisibilityAPI() {
	var api lambdawrap.VisibilityAPI = atLeastAMinute{hidden{}} // Options.Visibility takes it

	for _, seconds := range []int32{2, 450} {
		_, err := api.ChangeMessageVisibility(context.Background(), &sqs.ChangeMessageVisibilityInput{
			ReceiptHandle: aws.String("r-1"), VisibilityTimeout: seconds,
		})
		fmt.Println(err)
	}
	// Output:
	// r-1 is hidden for 60 s
	// <nil>
	// r-1 is hidden for 450 s
	// <nil>
}

// A message that failed comes back after half a minute, each time.
func ExampleConstantBackoff() {
	store, _ := inMemory(nil)
	function := lambdawrap.SQS(store, func(context.Context, events.SQSMessage) error { return errors.New("the bank is closed") }, &lambdawrap.Options{
		Visibility: hidden{}, Backoff: lambdawrap.ConstantBackoff(30 * time.Second), Logger: quiet,
	})

	event := received("p-1")
	event.Records[0].ReceiptHandle = "r-1"
	invoke(function, event)
	// Output:
	// r-1 is hidden for 30 s
	// come back: [m-1]
}

// The default pause, but never more than a minute.
func ExampleExponentialBackoff() {
	backoff := func(receives int) time.Duration { return min(lambdawrap.ExponentialBackoff(receives), time.Minute) }

	fmt.Println(backoff(20))
	// Output: 1m0s
}
