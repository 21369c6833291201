package outbox

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/panicerror"
)

// SNSAPI is what [SNS] needs of SNS; *sns.Client fits. It must be safe for concurrent use.
type SNSAPI interface {
	PublishBatch(context.Context, *sns.PublishBatchInput, ...func(*sns.Options)) (*sns.PublishBatchOutput, error)
}

// maxSNSBytes is the default of a topic's MaximumMessageSize, which counts for one message and for one request.
const maxSNSBytes = 256 << 10

// SNS returns a sender to an SNS topic.
//
// Requests hold at most 10 messages and 256 KiB, which is what a topic takes by default. A larger message is sent alone: a topic
// whose MaximumMessageSize was raised, to at most 1 MiB, accepts it, and any other topic refuses it, so that it is parked. A
// topic that takes less refuses a whole request, whose messages are then sent one by one.
//
// The id travels as the message attribute idemddb-id of type String, and a Sequence as idemddb-sequence of type Number. A
// subscribed queue with raw message delivery gets them as its own message attributes; without it they are in MessageAttributes of
// the envelope in the body. A message with more than ten attributes is not delivered to a queue with raw message delivery: SNS
// accepts it and discards it there.
//
// On a FIFO topic, whose ARN ends in .fifo, a message goes into the message group Message.Group, or into a group of its own if
// Group is empty, and its id is its MessageDeduplicationId. Of one message group, one message is sent at a time: the next one
// waits for the answer, and a failure stops the group. A standard topic passes Group on to subscribed standard queues as the
// tenant of their fair queue, and nothing keeps an order by it.
//
// The client must be one of the topic's Region. SNS refuses a topic of another Region as an invalid parameter, and the messages
// are then parked.
//
// The function needs sns:Publish on the topic, and kms:GenerateDataKey and kms:Decrypt if a KMS key of yours encrypts it.
//
// A topicARN that is not a topic's ARN is an error for every message, and not a permanent one. SNS panics for a nil api, also for
// a nil pointer.
func SNS(api SNSAPI, topicARN string) idemddb.Sender {
	if panicerror.IsNil(api) {
		panic("outbox: SNS: api: must not be nil")
	}

	t := &snsTopic{api: api, arn: topicARN, fifo: strings.HasSuffix(topicARN, ".fifo")}

	return &sender{
		invalid: checkTopicARN(topicARN), fifo: t.fifo, maxBytes: maxSNSBytes, size: messageSize, request: t.request,
	}
}

type snsTopic struct {
	api  SNSAPI
	arn  string
	fifo bool
}

func checkTopicARN(text string) error {
	topic, _ := arn.Parse(text) // of a text that is no ARN, each part is empty
	if topic.Service != "sns" || topic.Resource == "" {
		return fmt.Errorf("topicARN: must be a topic's ARN, as arn:aws:sns:REGION:ACCOUNT:NAME, is %q", text)
	}

	return nil
}

func (t *snsTopic) request(ctx context.Context, ms []idemddb.Message) ([]error, error) {
	in := &sns.PublishBatchInput{TopicArn: aws.String(t.arn)}
	for i, m := range ms {
		in.PublishBatchRequestEntries = append(in.PublishBatchRequestEntries, t.entry(i, m))
	}

	out, err := t.api.PublishBatch(ctx, in)
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

func (t *snsTopic) entry(place int, m idemddb.Message) types.PublishBatchRequestEntry {
	e := types.PublishBatchRequestEntry{
		Id: aws.String(strconv.Itoa(place)), Message: aws.String(m.Body), MessageAttributes: map[string]types.MessageAttributeValue{},
	}

	for _, a := range attributes(m) {
		e.MessageAttributes[a.name] = types.MessageAttributeValue{DataType: aws.String(a.dataType), StringValue: aws.String(a.value)}
	}

	e.MessageGroupId, e.MessageDeduplicationId = groupIDs(m, t.fifo)

	return e
}
