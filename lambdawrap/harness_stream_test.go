package lambdawrap_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/kpl"
	"github.com/idemddb/go-idemddb/internal/kpl/kpltest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

const (
	kinesisARN  = "arn:aws:kinesis:us-east-1:123456789012:stream/payments"
	dynamodbARN = "arn:aws:dynamodb:us-east-1:123456789012:table/payments/stream/2026-01-02T12:00:00.000"
)

// streamWays wrap a handler of single messages with each wrapper of a stream. An event is written as for a FIFO queue: the id of
// a message is the sequence number of its record, its body the key, its group the partition key or the item.
var streamWays = []way{
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

const kafkaARN = "arn:aws:kafka:us-east-1:123456789012:cluster/payments/e9f754c6-d29a-4430-a7db-958a19fd2c54-4"

// aggregateSize is how many records of the simulation are in one aggregate.
const aggregateSize = 3

// kinesisAggregated wraps the same handler as kinesis. The records of an event, whose numbers follow each other, come in
// aggregates of three; the number of an aggregate is that of its first record.
func (h *harness) kinesisAggregated(work lambdawrap.Handler) wrapped {
	message := func(r events.KinesisEventRecord) events.SQSMessage {
		number, _ := strconv.Atoi(r.Kinesis.SequenceNumber)
		index, _ := strconv.Atoi(r.EventID[strings.LastIndex(r.EventID, ":")+1:])

		return events.SQSMessage{MessageId: strconv.Itoa(number + index), Body: string(r.Kinesis.Data)}
	}
	function := lambdawrap.Kinesis(h.store, streamHandler(h.noted(work), message), streamOptions(h.opts, message))

	return func(ctx context.Context, event events.SQSEvent) (response events.SQSEventResponse, _ error) {
		var e events.KinesisEvent

		for i := 0; i < len(event.Records); i += aggregateSize {
			var users []kpl.UserRecord
			for _, m := range event.Records[i:min(i+aggregateSize, len(event.Records))] {
				users = append(users, kpl.UserRecord{PartitionKey: m.Attributes["MessageGroupId"], Data: []byte(m.Body)})
			}

			record := kinesisRecord(event.Records[i])
			record.Kinesis.Data, record.Kinesis.PartitionKey = kpltest.Aggregate(users...), "of-the-aggregate"
			e.Records = append(e.Records, record)
		}

		answer, err := function(ctx, e)
		for _, f := range answer.BatchItemFailures {
			response.BatchItemFailures = append(response.BatchItemFailures, events.SQSBatchItemFailure(f))
		}

		return response, err
	}
}

// kinesisPiped wraps the same handler as kinesis, as the target of a pipe. A pipe may repeat from the first record that is named,
// or those that are named alone: the answer must name all from the first on.
func (h *harness) kinesisPiped(work lambdawrap.Handler) wrapped {
	opts := streamOptions(h.opts, messageOfKinesis)
	function := lambdawrap.Pipe(lambdawrap.Kinesis(h.store, streamHandler(h.noted(work), messageOfKinesis), opts))

	return func(ctx context.Context, event events.SQSEvent) (response events.SQSEventResponse, _ error) {
		array := []any{}
		for _, m := range event.Records {
			array = append(array, pipeOfKinesis(kinesisRecord(m)))
		}

		payload, _ := json.Marshal(array)

		answer, err := function.Invoke(ctx, payload)
		if err != nil || json.Unmarshal(answer, &response) != nil {
			return response, errors.Join(err, errors.New("no answer"))
		}

		first := len(event.Records) - len(response.BatchItemFailures)
		for i, f := range response.BatchItemFailures {
			if f.ItemIdentifier != kinesisRecord(event.Records[first+i]).EventID {
				return response, fmt.Errorf("the answer %s does not name all records from the first on", answer)
			}
		}

		if response.BatchItemFailures = nil; first < len(event.Records) {
			response.BatchItemFailures = []events.SQSBatchItemFailure{{ItemIdentifier: event.Records[first].MessageId}}
		}

		return response, nil
	}
}

// kafka wraps a handler of single messages with Kafka. An event is written as for a FIFO queue: the id of a message is its
// offset, which no two messages share, its body the key, its group the topic.
func (h *harness) kafka(work lambdawrap.Handler) wrapped {
	o := streamOptions(h.opts, messageOfKafka)
	function := lambdawrap.Kafka(h.store, streamHandler(h.noted(work), messageOfKafka), &lambdawrap.KafkaOptions{
		DeadLetter: o.DeadLetter, Key: o.Key, Logger: o.Logger, OnRecord: o.OnRecord, RecordContext: o.RecordContext, Reserve: o.Reserve,
		Timeout: o.Timeout, Workers: o.Workers,
	})

	return func(ctx context.Context, event events.SQSEvent) (response events.SQSEventResponse, _ error) {
		answer, err := function(ctx, kafkaEvent(event))
		for _, f := range answer.BatchItemFailures {
			response.BatchItemFailures = append(response.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: fmt.Sprint(f.ItemIdentifier.Offset)})
		}

		return response, err
	}
}

// kafkaEvent returns an event of Amazon MSK with the messages of a FIFO queue.
func kafkaEvent(event events.SQSEvent) events.KafkaEvent {
	e := events.KafkaEvent{EventSource: "aws:kafka", EventSourceARN: kafkaARN, BootstrapServers: "b-1:9092", Records: map[string][]events.KafkaRecord{}}

	for _, m := range event.Records {
		offset, _ := strconv.ParseInt(m.MessageId, 10, 64)
		topic := m.Attributes["MessageGroupId"]
		e.Records[topic+"-0"] = append(e.Records[topic+"-0"], kafkaRecord(topic, offset, m.Body))
	}

	return e
}

func kafkaRecord(topic string, offset int64, value string) events.KafkaRecord {
	return events.KafkaRecord{
		Topic: topic, Offset: offset, Timestamp: events.MilliSecondsEpochTime{Time: time.UnixMilli(1_700_000_000_000 + offset)},
		TimestampType: "CREATE_TIME", Value: base64.StdEncoding.EncodeToString([]byte(value)),
	}
}

func messageOfKafka(r lambdawrap.KafkaRecord) events.SQSMessage {
	return events.SQSMessage{MessageId: strconv.FormatInt(r.Offset, 10), Body: string(r.Value)}
}

const (
	queue = "arn:aws:sqs:us-east-1:123456789012:payments"
	fifo  = queue + ".fifo"
)

// batch returns an event of messages that are written as "id key", or as "id key group" for a FIFO queue.
func batch(messages ...string) events.SQSEvent {
	event := events.SQSEvent{Records: []events.SQSMessage{}}

	for _, text := range messages {
		fields := strings.Split(text, " ")
		m := events.SQSMessage{MessageId: fields[0], Body: fields[1], EventSourceARN: queue}

		if len(fields) > 2 {
			m.EventSourceARN = fifo
			m.Attributes = map[string]string{"MessageGroupId": fields[2]}
		}

		event.Records = append(event.Records, m)
	}

	return event
}

// numbered returns a batch of n messages: m0 with the key k0, and so on.
func numbered(n int) events.SQSEvent {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprintf("m%d k%d", i, i)
	}

	return batch(texts...)
}

// deliveredFor returns an event whose messages were delivered so often, and have a receipt handle. It does not change the given
// one.
func deliveredFor(event events.SQSEvent, times int) events.SQSEvent {
	event.Records = slices.Clone(event.Records)

	for i := range event.Records {
		m := &event.Records[i]
		m.ReceiptHandle = "receipt of " + m.MessageId
		m.Attributes = maps.Clone(m.Attributes)

		if m.Attributes == nil {
			m.Attributes = map[string]string{}
		}

		m.Attributes["ApproximateReceiveCount"] = strconv.Itoa(times)
	}

	return event
}

// ids returns the ids that an answer reports as failed.
func ids(response events.SQSEventResponse) []string {
	var failed []string
	for _, f := range response.BatchItemFailures {
		failed = append(failed, f.ItemIdentifier)
	}

	return failed
}

// messageIDs returns the ids of the first n messages of numbered.
func messageIDs(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("m%d", i)
	}

	return all
}
