//go:build unix

package bench

import (
	"context"
	"fmt"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/bench/handwritten"
	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// streamCounts lists the rows of a shard of Kinesis, whose records have ten partition keys.
func streamCounts() []count {
	return []count{stream(1), stream(10)}
}

type streamHandler func(context.Context, events.KinesisEvent) (events.KinesisEventResponse, error)

func stream(workers int) count {
	const size = 100

	handle := func(context.Context, events.KinesisEventRecord) error { return nil }
	delivered := func(invoke streamHandler) deliveries {
		return deliveries{deliver: func(ctx context.Context, round int) error {
			ctx, cancel := inLambda(ctx)
			defer cancel()

			response, err := invoke(ctx, shard(round, size))

			return failures(len(response.BatchItemFailures), size, err)
		}}
	}

	return count{
		name: fmt.Sprintf("Kinesis: batch of 100, ten partition keys, %s", many(workers, "worker")), messages: size, rounds: 2,
		byHand: func(at *world) (deliveries, error) {
			return delivered(handwritten.Kinesis(at.client, recordTable, handle)), nil
		},
		library: func(at *world) (deliveries, error) {
			s, err := idemddb.New(at.client, recordTable, "bench", nil)
			if err != nil {
				return deliveries{}, err
			}

			opts := &lambdawrap.StreamOptions[events.KinesisEventRecord]{Workers: workers}

			return delivered(streamHandler(lambdawrap.Kinesis(s, handle, opts))), nil
		},
	}
}

// shard makes the event with the given number.
func shard(number, size int) events.KinesisEvent {
	event := events.KinesisEvent{Records: make([]events.KinesisEventRecord, size)}

	for i := range event.Records {
		sequence := fmt.Sprintf("495903382714902566085596925383615710959215759890%08d", number*size+i)
		event.Records[i] = events.KinesisEventRecord{
			EventID: "shardId-000000000006:" + sequence, EventSource: "aws:kinesis",
			EventSourceArn: "arn:aws:kinesis:us-east-1:123456789012:stream/payments",
			Kinesis:        events.KinesisRecord{PartitionKey: fmt.Sprint("key-", i%10), SequenceNumber: sequence, Data: []byte(`{"amount":1250}`)},
		}
	}

	return event
}
