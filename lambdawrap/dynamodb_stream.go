package lambdawrap

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
)

// DynamoDBStream wraps a handler of single records of a table's stream for lambda.Start and makes it idempotent. Records of one item are
// worked on in their order. All else is as with [Kinesis]: the mapping must have ReportBatchItemFailures and no tumbling window, other
// items go on after a failure, and a record that keeps failing needs Options.MaxAttempts of the Store and StreamOptions.DeadLetter.
//
// A table that keeps this library's records must not have a stream to a function whose Store writes into the same table: each record
// that is worked on would be a change that makes the next one.
//
// The returned function is as that of Kinesis. StreamOptions.Aggregated is an error in it. DynamoDBStream panics for a nil store or
// handler.
func DynamoDBStream(
	store *idemddb.Store, h func(context.Context, events.DynamoDBEventRecord) error, opts *StreamOptions[events.DynamoDBEventRecord],
) func(context.Context, events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
	s := &stream[events.DynamoDBEventRecord]{
		name:     "Amazon DynamoDB Streams",
		handler:  h,
		sequence: func(r events.DynamoDBEventRecord) string { return r.Change.SequenceNumber },
		group:    itemOf,
		clone:    cloneChange,
		check:    func(events.DynamoDBEventRecord) error { return nil },
	}
	s.setOptions(opts, DynamoDBRecordID)

	if s.opts.Aggregated {
		s.invalid = errors.New("lambdawrap: StreamOptions.Aggregated: must not be set with DynamoDBStream, it is for Kinesis")
	}

	work := s.wrap(store)

	return func(ctx context.Context, event events.DynamoDBEvent) (response events.DynamoDBEventResponse, err error) {
		response.BatchItemFailures = []events.DynamoDBBatchItemFailure{}

		failed, err := work(ctx, event.Records)
		if failed != "" {
			response.BatchItemFailures = append(response.BatchItemFailures, events.DynamoDBBatchItemFailure{ItemIdentifier: failed})
		}

		return response, err
	}
}

// DynamoDBRecordID returns a key of the stream's ARN and the record's eventID. It is the default of [DynamoDBStream].
//
// The key is the same for every delivery of one change. A write that repeats an earlier one with the same content makes no record at
// all; one that changes an item back makes another record with another key. The ARN keeps the streams of one function apart, also those
// of a table whose stream was turned off and on again. Two functions that read one stream need Stores with different namespaces.
func DynamoDBRecordID(r events.DynamoDBEventRecord) (string, error) {
	return listKey("is this a record of a table's stream?", field{"eventSourceARN", r.EventSourceArn}, field{"eventID", r.EventID})
}

// itemOf returns the item that a record is about. Its key is in the record whatever the stream's view type is.
func itemOf(r events.DynamoDBEventRecord) string {
	key, err := marshal(r.Change.Keys)
	if err != nil {
		key = nil // a record without a readable key: all of them are one group, in order
	}

	return r.EventSourceArn + "\n" + string(key)
}

// marshal is json.Marshal for values whose MarshalJSON may panic.
func marshal(v any) (text []byte, err error) {
	defer catch(&err)

	return json.Marshal(v) //nolint:wrapcheck // only looked at
}

func cloneChange(r events.DynamoDBEventRecord) events.DynamoDBEventRecord {
	r.Change.Keys, r.Change.NewImage, r.Change.OldImage = cloneImage(r.Change.Keys), cloneImage(r.Change.NewImage), cloneImage(r.Change.OldImage)

	if r.UserIdentity != nil {
		r.UserIdentity = new(*r.UserIdentity)
	}

	return r
}

func cloneImage(image map[string]events.DynamoDBAttributeValue) map[string]events.DynamoDBAttributeValue {
	if image == nil {
		return nil
	}

	copied := make(map[string]events.DynamoDBAttributeValue, len(image))
	for name, value := range image {
		copied[name] = cloneAttribute(value)
	}

	return copied
}

// cloneAttribute copies the values that a handler can change in place.
func cloneAttribute(v events.DynamoDBAttributeValue) events.DynamoDBAttributeValue {
	if v.IsNull() {
		return v
	}

	switch v.DataType() {
	case events.DataTypeBinary:
		return events.NewBinaryAttribute(bytes.Clone(v.Binary()))
	case events.DataTypeBinarySet:
		set := slices.Clone(v.BinarySet())
		for i := range set {
			set[i] = bytes.Clone(set[i])
		}

		return events.NewBinarySetAttribute(set)
	case events.DataTypeNumberSet:
		return events.NewNumberSetAttribute(slices.Clone(v.NumberSet()))
	case events.DataTypeStringSet:
		return events.NewStringSetAttribute(slices.Clone(v.StringSet()))
	case events.DataTypeList:
		list := slices.Clone(v.List())
		for i := range list {
			list[i] = cloneAttribute(list[i])
		}

		return events.NewListAttribute(list)
	case events.DataTypeMap:
		return events.NewMapAttribute(cloneImage(v.Map()))
	default:
		return v
	}
}
