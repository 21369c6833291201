package lambdawrap_test

import (
	"context"
	"fmt"

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
