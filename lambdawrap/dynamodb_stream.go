package lambdawrap

import (
	"context"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/streamrecord"
)

// DynamoDBStream wraps a handler of single records of a table's stream for lambda.Start and makes it idempotent. Records of one
// item are worked on in their order. All else is as with [Kinesis]: the mapping must have ReportBatchItemFailures and no tumbling
// window, other items go on after a failure, and a record that keeps failing needs Options.MaxAttempts of the Store and
// StreamOptions.DeadLetter.
//
// A table that keeps this library's records must not have a stream to a function whose Store writes into the same table: each
// record that is worked on would be a change that makes the next one.
//
// The returned function is as that of Kinesis. StreamOptions.Aggregated is an error in it. DynamoDBStream panics for a nil store
// or handler.
func DynamoDBStream(
	store *idemddb.Store, h func(context.Context, events.DynamoDBEventRecord) error, opts *StreamOptions[events.DynamoDBEventRecord],
) StreamFunc[events.DynamoDBEvent, events.DynamoDBEventResponse] {
	s := &stream[events.DynamoDBEventRecord]{
		source:   sourceDynamoDB,
		sourceOf: func(r events.DynamoDBEventRecord) string { return r.EventSource },
		sequence: func(r events.DynamoDBEventRecord) string { return r.Change.SequenceNumber },
		group:    streamrecord.Item,
		clone:    streamrecord.Copy,
		optsName: "StreamOptions",
		key:      DynamoDBRecordID,
	}
	s.wrap(store, h, opts)

	return func(ctx context.Context, event events.DynamoDBEvent) (response events.DynamoDBEventResponse, err error) {
		response.BatchItemFailures = []events.DynamoDBBatchItemFailure{}

		failed, err := s.work(ctx, event.Records)
		if failed != "" {
			response.BatchItemFailures = append(response.BatchItemFailures, events.DynamoDBBatchItemFailure{ItemIdentifier: failed})
		}

		return response, err
	}
}

// DynamoDBRecordID returns a key of the stream's ARN and the record's eventID. It is the default of [DynamoDBStream].
//
// The key is the same for every delivery of one change. A write that repeats an earlier one with the same content makes no record
// at all; one that changes an item back makes another record with another key. The ARN keeps the streams of one function apart,
// also those of a table whose stream was turned off and on again. Two functions that read one stream need Stores with different
// namespaces. The error is [ErrNoKey] if the ARN or the eventID is empty.
func DynamoDBRecordID(_ context.Context, r events.DynamoDBEventRecord) (string, error) {
	return listKey("is this a record of a table's stream?", field{"eventSourceARN", r.EventSourceArn}, field{"eventID", r.EventID})
}
