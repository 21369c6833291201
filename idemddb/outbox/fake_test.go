package outbox_test

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	eventbridgetypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/outbox"
)

// A function gives the SDK's clients where the tests give fakes.
var (
	_ outbox.SQSAPI         = (*sqs.Client)(nil)
	_ outbox.SNSAPI         = (*sns.Client)(nil)
	_ outbox.EventBridgeAPI = (*eventbridge.Client)(nil)
)

const (
	queueURL = "https://sqs.eu-west-1.amazonaws.com/111122223333/ledger"
	topicARN = "arn:aws:sns:eu-west-1:111122223333:ledger"
)

// errTooLong is the service's answer for a request that is too large.
var errTooLong = &smithy.GenericAPIError{Code: "BatchRequestTooLong", Fault: smithy.FaultClient}

// failure is what a service answers for one message.
type failure struct {
	code        string // "" leaves the message out of the answer
	senderFault bool
}

// services are SQS, SNS and EventBridge. Message bodies distinguish the messages.
type services struct {
	fails  map[string]failure          // by body
	refuse func(bodies []string) error // the whole request

	requests [][]string // the bodies of each request
	entries  []entry    // that SQS and SNS were sent
	accepted []entry    // what a subscriber gets
	events   []eventbridgetypes.PutEventsRequestEntry
}

// entry is a message as SQS and SNS are sent it.
type entry struct {
	body, group, deduplication string
	attributes                 map[string]events.SQSMessageAttribute
}

// SendMessageBatch answers in the opposite order, because SQS promises none.
func (s *services) SendMessageBatch(
	_ context.Context, in *sqs.SendMessageBatchInput, _ ...func(*sqs.Options),
) (*sqs.SendMessageBatchOutput, error) {
	var bodies []string

	for _, e := range in.Entries {
		sent := entry{*e.MessageBody, aws.ToString(e.MessageGroupId), aws.ToString(e.MessageDeduplicationId), map[string]events.SQSMessageAttribute{}}
		for name, a := range e.MessageAttributes {
			sent.attributes[name] = events.SQSMessageAttribute{DataType: *a.DataType, StringValue: a.StringValue}
		}

		bodies, s.entries = append(bodies, sent.body), append(s.entries, sent)
	}

	if err := s.take(bodies); err != nil {
		return nil, err
	}

	out := &sqs.SendMessageBatchOutput{}

	for _, e := range slices.Backward(in.Entries) {
		switch f, ok := s.fails[*e.MessageBody]; {
		case !ok:
			out.Successful = append(out.Successful, sqstypes.SendMessageBatchResultEntry{Id: e.Id})
		case f.code != "":
			out.Failed = append(out.Failed, sqstypes.BatchResultErrorEntry{
				Id: e.Id, Code: &f.code, Message: aws.String("try later"), SenderFault: f.senderFault,
			})
		}
	}

	return out, nil
}

func (s *services) PublishBatch(
	_ context.Context, in *sns.PublishBatchInput, _ ...func(*sns.Options),
) (*sns.PublishBatchOutput, error) {
	var bodies []string

	for _, e := range in.PublishBatchRequestEntries {
		sent := entry{*e.Message, aws.ToString(e.MessageGroupId), aws.ToString(e.MessageDeduplicationId), map[string]events.SQSMessageAttribute{}}
		for name, a := range e.MessageAttributes {
			sent.attributes[name] = events.SQSMessageAttribute{DataType: *a.DataType, StringValue: a.StringValue}
		}

		bodies, s.entries = append(bodies, sent.body), append(s.entries, sent)
	}

	if err := s.take(bodies); err != nil {
		return nil, err
	}

	out := &sns.PublishBatchOutput{}

	sent := s.entries[len(s.entries)-len(bodies):]

	for i, e := range slices.Backward(in.PublishBatchRequestEntries) {
		switch f, ok := s.fails[*e.Message]; {
		case !ok:
			out.Successful = append(out.Successful, snstypes.PublishBatchResultEntry{Id: e.Id})
			s.accepted = append(s.accepted, sent[i])
		case f.code != "":
			out.Failed = append(out.Failed, snstypes.BatchResultErrorEntry{Id: e.Id, Code: &f.code, SenderFault: f.senderFault})
		}
	}

	return out, nil
}

func (s *services) PutEvents(
	_ context.Context, in *eventbridge.PutEventsInput, _ ...func(*eventbridge.Options),
) (*eventbridge.PutEventsOutput, error) {
	s.events = append(s.events, in.Entries...)

	var bodies []string
	for _, e := range in.Entries {
		bodies = append(bodies, *e.Detail)
	}

	if err := s.take(bodies); err != nil {
		return nil, err
	}

	out := &eventbridge.PutEventsOutput{}

	for _, e := range in.Entries {
		switch f, ok := s.fails[*e.Detail]; {
		case !ok:
			out.Entries = append(out.Entries, eventbridgetypes.PutEventsResultEntry{EventId: aws.String("e-" + *e.Detail)})
		case f.code != "":
			out.Entries = append(out.Entries, eventbridgetypes.PutEventsResultEntry{ErrorCode: &f.code})
			out.FailedEntryCount++
		default:
			out.Entries = append(out.Entries, eventbridgetypes.PutEventsResultEntry{})
		}
	}

	return out, nil
}

func (s *services) take(bodies []string) error {
	s.requests = append(s.requests, bodies)
	if s.refuse == nil {
		return nil
	}

	return s.refuse(bodies)
}

// senders are all senders of standard targets.
func (s *services) senders() map[string]idemddb.Sender {
	return map[string]idemddb.Sender{
		"SQS": outbox.SQS(s, queueURL), "SNS": outbox.SNS(s, topicARN), "EventBridge": outbox.EventBridge(s, "bus", "payments", "captured"),
	}
}

// senderNames are the keys of senders.
var senderNames = []string{"SQS", "SNS", "EventBridge"}

// messages have the ids tx-0, tx-1 and so on.
func messages(bodies ...string) []idemddb.Message {
	var ms []idemddb.Message
	for i, body := range bodies {
		ms = append(ms, idemddb.Message{ID: "tx-" + strconv.Itoa(i), To: "ledger", Body: body})
	}

	return ms
}

// became says what the answers mean for the messages.
func became(answers []error) []string {
	var texts []string

	for _, err := range answers {
		switch {
		case err == nil:
			texts = append(texts, "sent")
		case errors.Is(err, outbox.ErrPermanent):
			texts = append(texts, "parked")
		default:
			texts = append(texts, "kept")
		}
	}

	return texts
}

// miscounted is an EventBridge with a wrong number of answers.
type miscounted struct{ answers func(entries int) int }

func (s *miscounted) PutEvents(
	_ context.Context, in *eventbridge.PutEventsInput, _ ...func(*eventbridge.Options),
) (*eventbridge.PutEventsOutput, error) {
	answer := eventbridgetypes.PutEventsResultEntry{EventId: aws.String("e")}

	return &eventbridge.PutEventsOutput{Entries: slices.Repeat([]eventbridgetypes.PutEventsResultEntry{answer}, s.answers(len(in.Entries)))}, nil
}

// listed is an SQS that answers with these ids, whatever it is sent. The empty id is none.
type listed struct{ successful, failed []string }

func (s *listed) SendMessageBatch(
	context.Context, *sqs.SendMessageBatchInput, ...func(*sqs.Options),
) (*sqs.SendMessageBatchOutput, error) {
	out := &sqs.SendMessageBatchOutput{}

	for _, id := range s.successful {
		e := sqstypes.SendMessageBatchResultEntry{}
		if id != "" {
			e.Id = &id
		}

		out.Successful = append(out.Successful, e)
	}

	for _, id := range s.failed {
		out.Failed = append(out.Failed, sqstypes.BatchResultErrorEntry{Id: &id, Code: aws.String("InternalError")})
	}

	return out, nil
}
