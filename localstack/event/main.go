// Event prints an SQS event as the event source mapping would deliver it, for `sam local invoke`: its queue and the queue of the
// announcements are there, and its messages are in flight, so that the function can hide them and announce payments.
//
//	eval "$(localstack/stack.sh env)"
//	go run ./localstack/event -captured idemddb-invoke-captured localstack/events/fresh.json > event.json
package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/idemddb/go-idemddb/localstack/pipeline"
	"github.com/idemddb/go-idemddb/localstack/program"
)

func main() {
	captured := flag.String("captured", "", "the name of the queue of the announcements")

	flag.Parse()

	program.Main("event", func(ctx context.Context) error { return run(ctx, os.Stdout, *captured, flag.Arg(0)) })
}

func run(ctx context.Context, out io.Writer, captured, file string) error {
	if os.Getenv("AWS_ENDPOINT_URL") == "" {
		return errors.New("AWS_ENDPOINT_URL is not set, and this program is not for AWS: eval \"$(localstack/stack.sh env)\"")
	}

	text, err := os.ReadFile(file) //nolint:gosec // the caller's own file
	if err != nil {
		return err //nolint:wrapcheck // names the file
	}

	var event events.SQSEvent
	if err := json.Unmarshal(text, &event); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}

	p, err := pipeline.New(ctx, pipeline.Names{})
	if err != nil {
		return err
	}

	if _, err := p.SQS.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String(captured)}); err != nil {
		return fmt.Errorf("queue %s: %w", captured, err)
	}

	for i := range event.Records {
		if err := deliver(ctx, p.SQS, &event.Records[i]); err != nil {
			return fmt.Errorf("message %s: %w", event.Records[i].MessageId, err)
		}
	}

	return json.NewEncoder(out).Encode(event) //nolint:wrapcheck // the output is gone, and that says so
}

// deliver sends a message to its queue, receives it there, and gives it the receipt handle of that.
func deliver(ctx context.Context, client *sqs.Client, m *events.SQSMessage) error {
	name := m.EventSourceARN[strings.LastIndex(m.EventSourceARN, ":")+1:]
	create := &sqs.CreateQueueInput{QueueName: aws.String(name)}
	send := &sqs.SendMessageInput{MessageBody: aws.String(m.Body)}

	if strings.HasSuffix(name, ".fifo") {
		create.Attributes = map[string]string{string(types.QueueAttributeNameFifoQueue): strconv.FormatBool(true)}
		// a group of its own each time, so that none that is in flight holds it back
		send.MessageGroupId = aws.String(rand.Text())
		send.MessageDeduplicationId = send.MessageGroupId
	}

	queue, err := client.CreateQueue(ctx, create)
	if err != nil {
		return err //nolint:wrapcheck // the caller says of which message
	}

	send.QueueUrl = queue.QueueUrl
	if _, err := client.SendMessage(ctx, send); err != nil {
		return err //nolint:wrapcheck // the caller says of which message
	}

	const hidden = 3600 // seconds: longer than a person looks at one invocation

	received, err := client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: queue.QueueUrl, MaxNumberOfMessages: 1, VisibilityTimeout: hidden, WaitTimeSeconds: 1,
	})
	if err != nil {
		return err //nolint:wrapcheck // the caller says of which message
	}

	if len(received.Messages) == 0 {
		return errors.New("it was sent and cannot be received")
	}

	m.ReceiptHandle = aws.ToString(received.Messages[0].ReceiptHandle)

	return nil
}
