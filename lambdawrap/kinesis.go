package lambdawrap

import (
	"bytes"
	"context"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
)

// Kinesis wraps a handler of single Kinesis records for lambda.Start and makes it idempotent. The event source mapping must have
// ReportBatchItemFailures, or Lambda takes failed records for done.
//
// Records of one partition key are worked on in their order; those of different keys side by side, as far as
// StreamOptions.Workers allows. After a failure the rest of that partition key waits, and other keys go on. The answer names the
// lowest sequence number that failed. Lambda sends that record and all behind it again, and those that are done are answered from
// their records. Each record ends as a message of a FIFO queue does (see the package documentation), with three differences:
//
//   - A record whose key another worker holds waits for it as long as there is time to start, because Lambda would send it again
//     at once.
//   - A stream does not count deliveries. Options.MaxAttempts of the Store does, and gives a record that keeps failing to
//     StreamOptions.DeadLetter. Without both, one such record stops its shard until the event source's own limits are reached.
//   - There is no visibility time-out: the event source mapping decides when a failed record comes back.
//
// The mapping must have no tumbling window: the function does not hand its state on, and refuses such an event.
//
// A record that the Kinesis Producer Library aggregated is opened, unless StreamOptions.Aggregated is set. Each of its user
// records is a piece of work of its own: a record with the user record's data and partition key, with the sequence number of the
// aggregate, and with an EventID that ends in the user record's index, so that the default key is its own, too. It is in order
// with the records of its own partition key, also those of other aggregates in the event. If one fails, the answer names the
// aggregate, and at the next delivery those that are done do not run. What is not exactly an aggregate (its checksum is wrong, or
// its content cannot be read) is an ordinary record, as in the Kinesis Client Library. One that holds more than 10,000 user
// records has no key ([ErrNoKey]).
//
// The returned function is safe for concurrent use. Give it, or what [Measure] makes of it, to lambda.Start as it is: a function
// around it gets events that do not show their window. Its error is not nil only if the event is none of Kinesis or is one of a
// tumbling window (then nothing ran), if the wrapper itself failed (then the whole batch comes back), or if an option is wrong,
// which the error names. Kinesis panics for a nil store or handler.
func Kinesis(
	store *idemddb.Store, h func(context.Context, events.KinesisEventRecord) error, opts *StreamOptions[events.KinesisEventRecord],
) StreamFunc[events.KinesisEvent, events.KinesisEventResponse] {
	s := &stream[events.KinesisEventRecord]{
		source:   sourceKinesis,
		sourceOf: func(r events.KinesisEventRecord) string { return r.EventSource },
		sequence: func(r events.KinesisEventRecord) string { return r.Kinesis.SequenceNumber },
		group:    func(r events.KinesisEventRecord) string { return r.EventSourceArn + "\n" + r.Kinesis.PartitionKey },
		clone: func(r events.KinesisEventRecord) events.KinesisEventRecord {
			r.Kinesis.Data = bytes.Clone(r.Kinesis.Data)

			return r
		},
		open:     openAggregate,
		optsName: "StreamOptions",
		key:      KinesisRecordID,
	}
	s.wrap(store, h, opts)

	return func(ctx context.Context, event events.KinesisEvent) (response events.KinesisEventResponse, err error) {
		response.BatchItemFailures = []events.KinesisBatchItemFailure{}

		failed, err := s.work(ctx, event.Records)
		if failed != "" {
			response.BatchItemFailures = append(response.BatchItemFailures, events.KinesisBatchItemFailure{ItemIdentifier: failed})
		}

		return response, err
	}
}

// KinesisRecordID returns a key of the stream's ARN and the record's eventID, which holds its shard and its sequence number. It
// is the default of [Kinesis].
//
// The key is the same for every delivery of one record, also by a consumer with enhanced fan-out: the name of the consumer, which
// has another ARN whenever it is registered anew, is no part of it. A producer that sends the same content again, as the SDK does
// after an answer that was lost, makes another record with another key. Work that must not be repeated then needs a key from its
// content. Two functions that read one stream need Stores with different namespaces, as all functions with different work do. The
// error is [ErrNoKey] if the ARN or the eventID is empty.
func KinesisRecordID(_ context.Context, r events.KinesisEventRecord) (string, error) {
	stream, _, _ := strings.Cut(r.EventSourceArn, "/consumer/") // the name of a stream has no slash

	return listKey("is this a record of Kinesis?", field{"eventSourceARN", stream}, field{"eventID", r.EventID})
}
