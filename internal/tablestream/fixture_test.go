package tablestream_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/idemddb/go-idemddb/internal/tablestream"
)

const arn = "arn:aws:dynamodb:eu-west-1:111122223333:table/records/stream/1"

// fake is a stream. A shard's sequence numbers are the places of its changes, and an iterator names a shard and a place in it.
type fake struct {
	view    streams.StreamViewType
	status  streams.StreamStatus
	shards  []*fakeShard
	perPage int  // shards that a description has, and changes that a page has
	isLocal bool // it does not begin at a time, as DynamoDB Local
	calls   map[string]int

	before func(call, shard string) error // is asked before each call
}

type fakeShard struct {
	id, parent string
	changes    []string // the ids of the changes
	trimmed    int      // so many of them are deleted
	open       bool
}

func newFake(shards ...*fakeShard) *fake {
	return &fake{
		view: streams.StreamViewTypeNewAndOldImages, status: streams.StreamStatusDisabled, shards: shards, perPage: 2,
		calls: map[string]int{}, before: func(string, string) error { return nil },
	}
}

func (f *fake) DescribeStream(
	ctx context.Context, in *dynamodbstreams.DescribeStreamInput, _ ...func(*dynamodbstreams.Options),
) (*dynamodbstreams.DescribeStreamOutput, error) {
	if err := errors.Join(f.call("DescribeStream", ""), context.Cause(ctx)); err != nil {
		return nil, err
	}

	out := &streams.StreamDescription{StreamArn: in.StreamArn, StreamStatus: f.status, StreamViewType: f.view}
	from := 0

	for i, s := range f.shards {
		if s.id == aws.ToString(in.ExclusiveStartShardId) {
			from = i + 1
		}
	}

	for _, s := range f.shards[from:min(from+f.perPage, len(f.shards))] {
		out.LastEvaluatedShardId = &s.id
		numbers := &streams.SequenceNumberRange{StartingSequenceNumber: aws.String("0")}
		if !s.open {
			numbers.EndingSequenceNumber = aws.String(strconv.Itoa(len(s.changes)))
		}

		out.Shards = append(out.Shards, streams.Shard{ShardId: &s.id, ParentShardId: &s.parent, SequenceNumberRange: numbers})
	}

	if from+f.perPage >= len(f.shards) {
		out.LastEvaluatedShardId = nil
	}

	return &dynamodbstreams.DescribeStreamOutput{StreamDescription: out}, nil
}

func (f *fake) GetShardIterator(
	_ context.Context, in *dynamodbstreams.GetShardIteratorInput, _ ...func(*dynamodbstreams.Options),
) (*dynamodbstreams.GetShardIteratorOutput, error) {
	if err := f.call("GetShardIterator", *in.ShardId); err != nil {
		return nil, err
	}

	s, err := f.shard(*in.ShardId)
	if err != nil {
		return nil, err
	}

	at := s.trimmed

	switch in.ShardIteratorType {
	case streams.ShardIteratorTypeAfterSequenceNumber:
		at, _ = strconv.Atoi(*in.SequenceNumber)
	case streams.ShardIteratorTypeAtTimestamp:
		if f.isLocal {
			return nil, errors.New("InternalFailure")
		}

		for at < len(s.changes) && made(s.changes[at]).Before(*in.Timestamp) {
			at++
		}
	default:
	}

	if at < s.trimmed {
		return nil, &streams.TrimmedDataAccessException{Message: aws.String("it was trimmed")}
	}

	return &dynamodbstreams.GetShardIteratorOutput{ShardIterator: aws.String(fmt.Sprintf("%s/%d", s.id, at))}, nil
}

func (f *fake) GetRecords(
	_ context.Context, in *dynamodbstreams.GetRecordsInput, _ ...func(*dynamodbstreams.Options),
) (*dynamodbstreams.GetRecordsOutput, error) {
	id, place, _ := strings.Cut(*in.ShardIterator, "/")
	if err := f.call("GetRecords", id); err != nil {
		return nil, err
	}

	s, err := f.shard(id)
	if err != nil {
		return nil, err
	}

	at, _ := strconv.Atoi(place)
	if at < s.trimmed {
		return nil, &streams.TrimmedDataAccessException{Message: aws.String("it was trimmed")}
	}

	out := &dynamodbstreams.GetRecordsOutput{}
	for at < len(s.changes) && len(out.Records) < f.perPage {
		out.Records = append(out.Records, record(s.changes[at], at+1))
		at++
	}

	if s.open || at < len(s.changes) {
		out.NextShardIterator = aws.String(fmt.Sprintf("%s/%d", id, at))
	}

	return out, nil
}

func (f *fake) call(name, shard string) error {
	f.calls[name]++

	return f.before(name, shard)
}

func (f *fake) shard(id string) (*fakeShard, error) {
	for _, s := range f.shards {
		if s.id == id {
			return s, nil
		}
	}

	return nil, &streams.ResourceNotFoundException{}
}

// start is when the change "0" is made. Each number is an hour later.
var start = time.Unix(1_893_456_000, 0)

func made(id string) time.Time {
	hours, _ := strconv.Atoi(id)

	return start.Add(time.Duration(hours) * time.Hour)
}

func record(id string, sequence int) streams.Record {
	return streams.Record{Dynamodb: &streams.StreamRecord{
		SequenceNumber: aws.String(strconv.Itoa(sequence)), ApproximateCreationDateTime: aws.Time(made(id)),
		NewImage: map[string]streams.AttributeValue{"pk": &streams.AttributeValueMemberS{Value: id}},
	}}
}

// reading collects the ids of the changes.
type reading struct{ ids []string }

func (r *reading) each(c tablestream.Change) error {
	r.ids = append(r.ids, idOf(c.After))

	return nil
}

func idOf(item map[string]types.AttributeValue) string {
	if s, ok := item["pk"].(*types.AttributeValueMemberS); ok {
		return s.Value
	}

	return ""
}
