package lambdawrap

import (
	"context"
	"fmt"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/idemddb/go-idemddb/internal/panicerror"
	"github.com/idemddb/go-idemddb/internal/queue"
)

// SendMessageAPI is what [DeadLetterQueue] needs of SQS; *sqs.Client fits. It must be safe for concurrent use.
type SendMessageAPI interface {
	SendMessage(context.Context, *sqs.SendMessageInput, ...func(*sqs.Options)) (*sqs.SendMessageOutput, error)
}

// DeadLetterQueue is a hook for Options.DeadLetter: it sends the message to another queue, at once, and not only after the
// receive count of the queue's own redrive policy.
//
// The message arrives as it was: its body byte for byte, its attributes, its trace header. Attributes that say why are added,
// in this order and as far as they fit; SQS takes ten of them and 1 MiB with a message, and the message's own come first:
//
//	idemddb.error         String  the error's text, up to 1 KB, U+FFFD for characters that SQS does not take
//	idemddb.messageId     String  the id that it had, and that the wrapper's log lines have
//	idemddb.source        String  the ARN of the queue that it comes from
//	idemddb.receiveCount  Number  how often it was delivered
//
// Attributes of these names from an earlier move are replaced. If SQS refuses the request as invalid, as for a queue with a
// smaller MaximumMessageSize, the hook sends the message once more without these attributes.
//
// To a FIFO queue (its URL ends in .fifo) the message goes in its own message group, or in a group for itself if it has none,
// with its id for MessageDeduplicationId: what the hook sends twice within five minutes is there once. On a standard queue it may
// be there twice. There the message keeps its message group, too: SQS treats the group as a tenant of a fair queue, and an
// operator sees which group the message came from.
//
// It needs sqs:SendMessage on that queue, and kms:GenerateDataKey and kms:Decrypt where a KMS key of yours encrypts it. It
// costs one SQS request for each 64 KB of message.
//
// What it sends has a new message id, and so has a message that is moved back from there. With [MessageID] for Options.Key such a
// message is new work, and nothing shows that it is the same payment. With a key from its content it is the work that failed for
// good, and it is refused until [idemddb.Store.Reopen] or the command idem reopen. SQS redrives only from a queue that is the
// dead-letter queue of another one, and does not know the source of a message that this hook sent there. So name the destination
// of the redrive.
//
// The hook's errors begin with "lambdawrap: dead-letter queue:" and mean that the message is reported failed; it may be in the
// queue all the same. A queueURL that is not the URL of a queue is an error on every call, so that no message is lost. The hook
// logs nothing and is safe for concurrent use. DeadLetterQueue panics for a nil api.
func DeadLetterQueue(api SendMessageAPI, queueURL string) func(context.Context, events.SQSMessage, error) error {
	if panicerror.IsNil(api) {
		panic("lambdawrap: DeadLetterQueue: api: must not be nil")
	}

	queue := queue.NewDeadLetter(api.SendMessage, queueURL)

	return func(ctx context.Context, m events.SQSMessage, cause error) error {
		if err := queue.Send(ctx, m, cause); err != nil {
			return fmt.Errorf("lambdawrap: dead-letter queue: %w", err)
		}

		return nil
	}
}
