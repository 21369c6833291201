package lambdawrap_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/internal/kpl"
	"github.com/idemddb/go-idemddb/internal/kpl/kpltest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

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
