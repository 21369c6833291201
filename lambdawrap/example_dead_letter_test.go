package lambdawrap_test

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// A function has sqs.NewFromConfig(cfg) where the examples have a fake.
var _ lambdawrap.SendMessageAPI = (*sqs.Client)(nil)

// printed stands for SQS and prints each message that it is sent.
type printed struct{}

func (printed) SendMessage(
	_ context.Context, in *sqs.SendMessageInput, _ ...func(*sqs.Options),
) (*sqs.SendMessageOutput, error) {
	fmt.Println(*in.QueueUrl)
	fmt.Println(" ", *in.MessageBody)

	var names []string
	for name := range in.MessageAttributes {
		names = append(names, name)
	}

	slices.Sort(names)

	for _, name := range names {
		fmt.Printf("  %s: %s\n", name, *in.MessageAttributes[name].StringValue)
	}

	return &sqs.SendMessageOutput{}, nil
}

// A payment that failed for good goes to the dead-letter queue at once, with the reason. The others go on.
func ExampleDeadLetterQueue() {
	store, _ := inMemory(nil)

	function := lambdawrap.SQS(store, func(_ context.Context, m events.SQSMessage) error {
		if m.Body == "pay ann" {
			return lambdawrap.Permanent(errClosed)
		}

		return nil
	}, &lambdawrap.Options{
		DeadLetter: lambdawrap.DeadLetterQueue(printed{}, "https://sqs.eu-west-1.amazonaws.com/111122223333/payments-dead"),
		Logger:     quiet,
	})

	invoke(function, received("pay ann", "pay bob"))
	// Output:
	// https://sqs.eu-west-1.amazonaws.com/111122223333/payments-dead
	//   pay ann
	//   idemddb.error: account is closed
	//   idemddb.messageId: m-1
	//   idemddb.source: arn:aws:sqs:eu-west-1:111122223333:payments
	// come back: []
}

// The hook needs the queue's URL, not its ARN. With an ARN no message is lost: they come back, and the log says why.
func ExampleDeadLetterQueue_wrongURL() {
	hook := lambdawrap.DeadLetterQueue(printed{}, "arn:aws:sqs:eu-west-1:111122223333:payments-dead")

	fmt.Println(hook(context.Background(), received("pay ann").Records[0], errClosed))
	// Output: lambdawrap: dead-letter queue: queueURL: must be a queue's URL, as https://sqs.REGION.amazonaws.com/ACCOUNT/NAME, is "arn:aws:sqs:eu-west-1:111122223333:payments-dead"
}

// tagged adds an attribute to each message that is sent.
type tagged struct{ lambdawrap.SendMessageAPI }

func (t tagged) SendMessage(
	ctx context.Context, in *sqs.SendMessageInput, opts ...func(*sqs.Options),
) (*sqs.SendMessageOutput, error) {
	if in.MessageAttributes == nil {
		in.MessageAttributes = map[string]types.MessageAttributeValue{}
	}

	in.MessageAttributes["team"] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: aws.String("billing")}

	out, err := t.SendMessageAPI.SendMessage(ctx, in, opts...)
	if err != nil {
		return nil, fmt.Errorf("billing: %w", err)
	}

	return out, nil
}

// A type of your own between the hook and the client can change the messages that are sent.
func ExampleSendMessageAPI() {
	hook := lambdawrap.DeadLetterQueue(tagged{printed{}}, "https://sqs.eu-west-1.amazonaws.com/111122223333/payments-dead")

	fmt.Println(hook(context.Background(), events.SQSMessage{Body: "pay ann"}, errors.New("no such account")))
	// Output:
	// https://sqs.eu-west-1.amazonaws.com/111122223333/payments-dead
	//   pay ann
	//   idemddb.error: no such account
	//   team: billing
	// <nil>
}
