// Package pipeline is the deployed payments stack as seen from outside: it sends payments, and reads queues, records and
// accounts.
package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go/logging"
)

// Pipeline is one deployed stack. It is safe for concurrent use.
type Pipeline struct {
	Names

	SQS      *sqs.Client
	DynamoDB *dynamodb.Client

	config aws.Config
}

// Names are the stack's outputs that a client needs.
type Names struct {
	QueueUrl, DeadLetterQueueUrl, CapturedQueueUrl string //nolint:revive // as the outputs are called
	ApiUrl, ApiFunctionName                        string //nolint:revive // as the outputs are called
	RecordTableName, LedgerTableName               string
	FunctionName, RelayFunctionName                string
	AuditorFunctionName                            string // empty in a stack without the auditor
}

// Open asks the sam program for a stack's outputs. Where the services are, the environment says, as it does to sam.
func Open(ctx context.Context, sam, stack string) (*Pipeline, error) {
	var out, said bytes.Buffer

	cmd := exec.CommandContext(ctx, sam, "list", "stack-outputs", "--stack-name", stack, "--output", "json") //nolint:gosec // the caller's own program
	cmd.Stdout, cmd.Stderr = &out, &said

	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("outputs of the stack %s: %w: %s", stack, err, said.String())
	}

	names, err := parse(out.Bytes())
	if err != nil {
		return nil, fmt.Errorf("outputs of the stack %s: %w", stack, err)
	}

	return New(ctx, names)
}

// New returns the pipeline of these names. Those that are not used may be empty.
func New(ctx context.Context, names Names) (*Pipeline, error) {
	cfg, err := config.LoadDefaultConfig(ctx, config.WithLogger(logging.Nop{})) // DynamoDB Local's errors have no checksum, the SDK says so
	if err != nil {
		return nil, fmt.Errorf("the SDK's configuration: %w", err)
	}

	return &Pipeline{Names: names, SQS: sqs.NewFromConfig(cfg), DynamoDB: dynamodb.NewFromConfig(cfg), config: cfg}, nil
}

func parse(outputs []byte) (Names, error) {
	var list []struct {
		OutputKey   string `json:"OutputKey"`
		OutputValue string `json:"OutputValue"`
	}
	if err := json.Unmarshal(outputs, &list); err != nil {
		return Names{}, fmt.Errorf("%w in %q", err, outputs)
	}

	byKey := map[string]string{}
	for _, output := range list {
		byKey[output.OutputKey] = output.OutputValue
	}

	names := Names{
		QueueUrl:           byKey["QueueUrl"],
		DeadLetterQueueUrl: byKey["DeadLetterQueueUrl"],
		CapturedQueueUrl:   byKey["CapturedQueueUrl"],
		RecordTableName:    byKey["RecordTableName"],
		LedgerTableName:    byKey["LedgerTableName"],
		ApiUrl:             byKey["ApiUrl"],
		ApiFunctionName:    byKey["ApiFunctionName"],
		FunctionName:       byKey["FunctionName"],
		RelayFunctionName:  byKey["RelayFunctionName"],

		AuditorFunctionName: byKey["AuditorFunctionName"],
	}

	if slices.Contains([]string{names.QueueUrl, names.DeadLetterQueueUrl, names.CapturedQueueUrl, names.RecordTableName, names.LedgerTableName}, "") {
		return Names{}, fmt.Errorf("one is missing in %v", byKey)
	}

	return names, nil
}

// Payment is a message's body for one payment.
func Payment(id, account string, amount int) string {
	return fmt.Sprintf(`{"paymentId":%q,"account":%q,"amount":%d}`, id, account, amount)
}

// Request is the body of a request to the API for one payment.
func Request(account string, amount int) string {
	return fmt.Sprintf(`{"account":%q,"amount":%d}`, account, amount)
}

// Send sends messages, ten in a request.
func (p *Pipeline) Send(ctx context.Context, bodies ...string) error {
	const most = 10

	for begin := 0; begin < len(bodies); begin += most {
		var entries []types.SendMessageBatchRequestEntry
		for i, body := range bodies[begin:min(begin+most, len(bodies))] {
			entries = append(entries, types.SendMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), MessageBody: aws.String(body)})
		}

		sent, err := p.SQS.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: aws.String(p.QueueUrl), Entries: entries})
		if err != nil {
			return fmt.Errorf("send payments: %w", err)
		}

		if len(sent.Failed) > 0 {
			return fmt.Errorf("send payments: %d were refused, the first because of %s", len(sent.Failed), aws.ToString(sent.Failed[0].Code))
		}
	}

	return nil
}

// Depth is how many messages a queue has.
type Depth struct {
	Waiting int // to be received
	Hidden  int // received and neither deleted nor visible again
}

// Depth asks for a queue's. On AWS the numbers are approximate, on LocalStack exact.
func (p *Pipeline) Depth(ctx context.Context, url string) (Depth, error) {
	out, err := p.SQS.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl:       aws.String(url),
		AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	})
	if err != nil {
		return Depth{}, fmt.Errorf("attributes of the queue %s: %w", url, err)
	}

	waiting, errWaiting := strconv.Atoi(out.Attributes[string(types.QueueAttributeNameApproximateNumberOfMessages)])
	hidden, errHidden := strconv.Atoi(out.Attributes[string(types.QueueAttributeNameApproximateNumberOfMessagesNotVisible)])

	return Depth{Waiting: waiting, Hidden: hidden}, errors.Join(errWaiting, errHidden)
}

// DeadLetters returns the messages in the dead-letter queue, ten at most, and leaves them there.
func (p *Pipeline) DeadLetters(ctx context.Context) ([]types.Message, error) {
	out, err := p.SQS.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl:                    aws.String(p.DeadLetterQueueUrl),
		MaxNumberOfMessages:         10,
		VisibilityTimeout:           0,
		WaitTimeSeconds:             1, // without waiting, SQS asks only some of its servers
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	})
	if err != nil {
		return nil, fmt.Errorf("dead letters: %w", err)
	}

	return out.Messages, nil
}

// Announcement is a message in the queue of captured payments.
type Announcement struct {
	ID        string // the attribute idemddb-id, which stays the same if the message is sent twice
	PaymentID string
}

// Announcements receives all announcements that wait in their queue and deletes them there.
func (p *Pipeline) Announcements(ctx context.Context) ([]Announcement, error) {
	var all []Announcement

	for {
		out, err := p.SQS.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
			QueueUrl: aws.String(p.CapturedQueueUrl), MaxNumberOfMessages: 10, MessageAttributeNames: []string{"All"},
		})
		if err != nil {
			return all, fmt.Errorf("announcements: %w", err)
		}

		if len(out.Messages) == 0 {
			return all, nil
		}

		for _, m := range out.Messages {
			var body struct {
				PaymentID string `json:"paymentId"`
			}
			if err := json.Unmarshal([]byte(aws.ToString(m.Body)), &body); err != nil {
				return all, fmt.Errorf("announcement: %w", err)
			}

			all = append(all, Announcement{ID: aws.ToString(m.MessageAttributes["idemddb-id"].StringValue), PaymentID: body.PaymentID})

			deletion := &sqs.DeleteMessageInput{QueueUrl: aws.String(p.CapturedQueueUrl), ReceiptHandle: m.ReceiptHandle}
			if _, err := p.SQS.DeleteMessage(ctx, deletion); err != nil {
				return all, fmt.Errorf("announcement: %w", err)
			}
		}
	}
}
