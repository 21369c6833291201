package outbox

import (
	"context"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/panicerror"
	"github.com/idemddb/go-idemddb/internal/queue"
)

// SQSAPI is what [SQS] needs of SQS; *sqs.Client fits. It must be safe for concurrent use.
type SQSAPI interface {
	SendMessageBatch(context.Context, *sqs.SendMessageBatchInput, ...func(*sqs.Options)) (*sqs.SendMessageBatchOutput, error)
}

// maxSQSBytes is the size of one message and of one request.
const maxSQSBytes = 1 << 20

// SQS returns a sender to an SQS queue.
//
// Requests hold at most 10 messages and 1 MiB. The id travels as the message attribute idemddb-id of type String, and a Sequence
// as idemddb-sequence of type Number.
//
// On a FIFO queue, whose URL ends in .fifo, a message goes into the message group Message.Group, or into a group of its own if
// Group is empty, and its id is its MessageDeduplicationId. Of one message group, one message is sent at a time: the next one
// waits for the answer, and a failure stops the group. So ten messages of one group cost ten requests, and ten of ten groups cost
// one.
//
// On a standard queue Group is sent as MessageGroupId, too. Such a queue keeps no order by it; it treats the group as a tenant of
// a fair queue and keeps one tenant's backlog from delaying the others. A message without a Group has no tenant.
//
// The function needs sqs:SendMessage on the queue, and kms:GenerateDataKey and kms:Decrypt if a KMS key of yours encrypts it.
//
// A queueURL that is not a queue's URL is an error for every message, and not a permanent one. SQS panics for a nil api, also for
// a nil pointer.
func SQS(api SQSAPI, queueURL string) idemddb.Sender {
	if panicerror.IsNil(api) {
		panic("outbox: SQS: api: must not be nil")
	}

	q := &sqsQueue{api: api, url: queueURL, fifo: strings.HasSuffix(queueURL, ".fifo")}

	return &sender{
		invalid: queue.CheckURL(queueURL), fifo: q.fifo, maxBytes: maxSQSBytes, size: messageSize, request: q.request,
	}
}

type sqsQueue struct {
	api  SQSAPI
	url  string
	fifo bool
}

func (q *sqsQueue) request(ctx context.Context, ms []idemddb.Message) ([]error, error) {
	in := &sqs.SendMessageBatchInput{QueueUrl: aws.String(q.url)}
	for i, m := range ms {
		in.Entries = append(in.Entries, q.entry(i, m))
	}

	out, err := q.api.SendMessageBatch(ctx, in)
	if err != nil {
		return nil, err
	}

	answers := newEntryAnswers(len(ms))
	for _, e := range out.Successful {
		answers.set(e.Id, nil)
	}

	for _, e := range out.Failed {
		answers.set(e.Id, newEntryError(e.Code, e.Message, e.SenderFault))
	}

	return answers, nil
}

func (q *sqsQueue) entry(place int, m idemddb.Message) types.SendMessageBatchRequestEntry {
	e := types.SendMessageBatchRequestEntry{
		Id: aws.String(strconv.Itoa(place)), MessageBody: aws.String(m.Body), MessageAttributes: map[string]types.MessageAttributeValue{},
	}

	for _, a := range attributes(m) {
		e.MessageAttributes[a.name] = types.MessageAttributeValue{DataType: aws.String(a.dataType), StringValue: aws.String(a.value)}
	}

	e.MessageGroupId, e.MessageDeduplicationId = groupIDs(m, q.fifo)

	return e
}
