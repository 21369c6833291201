package lambdawrap_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

const (
	kinesisARN  = "arn:aws:kinesis:us-east-1:123456789012:stream/payments"
	dynamodbARN = "arn:aws:dynamodb:us-east-1:123456789012:table/payments/stream/2026-01-02T12:00:00.000"
)

// streamWays wrap a handler of single messages with each wrapper of a stream. An event is written as for a FIFO queue: the id of
// a message is the sequence number of its record, its body the key, its group the partition key or the item.
var streamWays = []struct {
	name string
	wrap func(*harness, lambdawrap.Handler) wrapped
}{
	{"Kinesis", (*harness).kinesis},
	{"DynamoDBStream", (*harness).dynamoDBStream},
}

// everyStream runs a test once for each stream and mode.
func everyStream(t *testing.T, test func(h *harness, wrap func(lambdawrap.Handler) wrapped)) {
	t.Helper()
	t.Parallel()

	for _, way := range streamWays {
		each(t, way.name, everyMode, func(h *harness) { test(h, func(work lambdawrap.Handler) wrapped { return way.wrap(h, work) }) })
	}
}

func (h *harness) kinesis(work lambdawrap.Handler) wrapped {
	opts := streamOptions(h.opts, messageOfKinesis)
	opts.Aggregated = true // a record may hold any bytes, also those of an aggregated one
	function := lambdawrap.Kinesis(h.store, streamHandler(h.noted(work), messageOfKinesis), opts)

	return func(ctx context.Context, event events.SQSEvent) (response events.SQSEventResponse, _ error) {
		var e events.KinesisEvent
		for _, m := range event.Records {
			e.Records = append(e.Records, kinesisRecord(m))
		}

		answer, err := function(ctx, e)
		for _, f := range answer.BatchItemFailures {
			response.BatchItemFailures = append(response.BatchItemFailures, events.SQSBatchItemFailure(f))
		}

		return response, err
	}
}

func (h *harness) dynamoDBStream(work lambdawrap.Handler) wrapped {
	function := lambdawrap.DynamoDBStream(h.store, streamHandler(h.noted(work), messageOfChange), streamOptions(h.opts, messageOfChange))

	return func(ctx context.Context, event events.SQSEvent) (response events.SQSEventResponse, _ error) {
		var e events.DynamoDBEvent
		for _, m := range event.Records {
			e.Records = append(e.Records, change(m))
		}

		answer, err := function(ctx, e)
		for _, f := range answer.BatchItemFailures {
			response.BatchItemFailures = append(response.BatchItemFailures, events.SQSBatchItemFailure(f))
		}

		return response, err
	}
}

// streamOptions are the options of a queue's wrapper for a stream's.
func streamOptions[R any](o *lambdawrap.Options, message func(R) events.SQSMessage) *lambdawrap.StreamOptions[R] {
	opts := &lambdawrap.StreamOptions[R]{
		Key:    func(ctx context.Context, r R) (string, error) { return o.Key(ctx, message(r)) },
		Logger: o.Logger, Reserve: o.Reserve, Timeout: o.Timeout, Workers: o.Workers,
	}
	if o.DeadLetter != nil {
		opts.DeadLetter = func(ctx context.Context, r R, cause error) error { return o.DeadLetter(ctx, message(r), cause) }
	}

	if o.MessageContext != nil {
		opts.RecordContext = func(ctx context.Context, r R) context.Context { return o.MessageContext(ctx, message(r)) }
	}

	if o.OnMessage != nil {
		opts.OnRecord = func(ctx context.Context, r R, outcome lambdawrap.Outcome) { o.OnMessage(ctx, message(r), outcome) }
	}

	return opts
}

func streamHandler[R any](work lambdawrap.Handler, message func(R) events.SQSMessage) func(context.Context, R) error {
	return func(ctx context.Context, r R) error { return work(ctx, message(r)) }
}

func kinesisRecord(m events.SQSMessage) events.KinesisEventRecord {
	return events.KinesisEventRecord{
		EventSource: "aws:kinesis", EventSourceArn: kinesisARN, EventID: "shardId-000000000000:" + m.MessageId,
		Kinesis: events.KinesisRecord{
			SequenceNumber: m.MessageId, PartitionKey: m.Attributes["MessageGroupId"], Data: []byte(m.Body),
		},
	}
}

func messageOfKinesis(r events.KinesisEventRecord) events.SQSMessage {
	return events.SQSMessage{MessageId: r.Kinesis.SequenceNumber, Body: string(r.Kinesis.Data)}
}

func change(m events.SQSMessage) events.DynamoDBEventRecord {
	return events.DynamoDBEventRecord{
		EventSourceArn: dynamodbARN, EventID: "event-" + m.MessageId,
		Change: events.DynamoDBStreamRecord{
			SequenceNumber: m.MessageId,
			Keys: map[string]events.DynamoDBAttributeValue{
				"account": events.NewStringAttribute(m.Attributes["MessageGroupId"]), "year": events.NewNumberAttribute("2026"),
			},
			NewImage: map[string]events.DynamoDBAttributeValue{"payment": events.NewStringAttribute(m.Body)},
		},
	}
}

func messageOfChange(r events.DynamoDBEventRecord) events.SQSMessage {
	return events.SQSMessage{MessageId: r.Change.SequenceNumber, Body: r.Change.NewImage["payment"].String()}
}

// shard is a stream of one shard, which Lambda reads: records that come back are sent again at once, with all behind them.
type shard struct {
	harness     *harness
	records     []events.SQSMessage
	size        int // of a batch
	limit       int // of invocations; more are an error of the test
	invocations int
}

// drain invokes the function until the shard is read. It returns false if the shard stands still.
func (s *shard) drain(function wrapped) bool {
	for at := 0; at < len(s.records); s.invocations++ {
		if s.invocations == s.limit {
			return false
		}

		batch := s.records[at:min(at+s.size, len(s.records))]

		response, err := function(s.harness.Context(), events.SQSEvent{Records: batch})
		if err != nil {
			s.harness.Fatal(err)
		}

		failed := ids(response)
		if len(failed) == 0 {
			at += len(batch)

			continue
		}

		for s.records[at].MessageId != failed[0] {
			at++
		}
	}

	return true
}

// counting is a handler whose only effect is staged: it counts in a table of its own how often the work of a key was committed.
func counting(ctx context.Context, m events.SQSMessage) error {
	return idemddb.Stage(ctx, idemddb.Effects{Items: []types.TransactWriteItem{{Update: &types.Update{
		TableName: aws.String("counts"), Key: recordKey(m.Body), UpdateExpression: aws.String("ADD n :one"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":one": &types.AttributeValueMemberN{Value: "1"}},
	}}}})
}

// committedOnce demands that the work of the first n keys of numbered was committed, each once.
func (h *harness) committedOnce(n int) {
	h.Helper()
	h.committedUnless(nil, n)
}

// committedUnless is committedOnce, where messages that are reported failed may be committed or not.
func (h *harness) committedUnless(failed []string, n int) {
	h.Helper()

	for i, id := range messageIDs(n) {
		key := fmt.Sprint("k", i)
		if got := h.counted(key); got != "1" && (got != "" || !slices.Contains(failed, id)) {
			h.Errorf("%s is committed %q times, want once", key, got)
		}
	}
}

// counted returns how often the work of a key was committed.
func (h *harness) counted(key string) string {
	n, _ := h.db.Item("counts", recordKey(key))["n"].(*types.AttributeValueMemberN)
	if n == nil {
		return ""
	}

	return n.Value
}
