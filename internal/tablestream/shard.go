package tablestream

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// page reads the next page of a shard. It may be empty, although more follows.
func (r *reader) page(ctx context.Context, s *shard) error {
	if s.iterator == nil {
		out, err := r.client.GetShardIterator(ctx, r.position(s))
		if err != nil {
			return r.refused(s, err)
		}

		s.iterator = out.ShardIterator
	}

	out, err := r.client.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: s.iterator})
	if err != nil {
		return r.refused(s, err)
	}

	for i := range out.Records {
		if err := r.handOn(&out.Records[i]); err != nil {
			return err
		}

		s.last = aws.ToString(out.Records[i].Dynamodb.SequenceNumber)
	}

	s.iterator = out.NextShardIterator
	s.done = s.iterator == nil

	return nil
}

// position is behind the last change that was read, or at the oldest one.
func (r *reader) position(s *shard) *dynamodbstreams.GetShardIteratorInput {
	in := &dynamodbstreams.GetShardIteratorInput{StreamArn: &r.arn, ShardId: &s.id, ShardIteratorType: streams.ShardIteratorTypeTrimHorizon}
	if s.last != "" {
		in.ShardIteratorType, in.SequenceNumber = streams.ShardIteratorTypeAfterSequenceNumber, &s.last
	}

	return in
}

// refused decides how the reading of a shard goes on after an error: behind the last change if only the iterator is too old; at the oldest change
// that is left, after a gap, if changes were deleted; not at all, after a gap, if the shard is gone.
func (r *reader) refused(s *shard, err error) error {
	_, expired := errors.AsType[*streams.ExpiredIteratorException](err)
	_, trimmed := errors.AsType[*streams.TrimmedDataAccessException](err)
	_, gone := errors.AsType[*streams.ResourceNotFoundException](err)

	if !expired && !trimmed && !gone {
		return fmt.Errorf("read the shard %s: %w", s.id, err)
	}

	s.iterator = nil

	if !expired {
		r.Gaps = append(r.Gaps, Gap{Shard: s.id, After: s.last, Err: err})
		s.last, s.done = "", gone
	}

	return nil
}

func (r *reader) handOn(record *streams.Record) error {
	change := Change{ByTimeToLive: isTimeToLive(record.UserIdentity), Time: aws.ToTime(record.Dynamodb.ApproximateCreationDateTime)}

	var err error
	if change.Before, err = item(record.Dynamodb.OldImage); err == nil {
		change.After, err = item(record.Dynamodb.NewImage)
	}

	if err != nil {
		return fmt.Errorf("read the change %s: %w", aws.ToString(record.EventID), err)
	}

	r.Changes++

	return r.each(change)
}

func item(image map[string]streams.AttributeValue) (map[string]types.AttributeValue, error) {
	if image == nil {
		return nil, nil //nolint:nilnil // there is no item, and that is no error
	}

	return attributevalue.FromDynamoDBStreamsMap(image) //nolint:wrapcheck // the caller says which change it is
}

// isTimeToLive says that the service deleted the item itself.
func isTimeToLive(who *streams.Identity) bool {
	return who != nil && aws.ToString(who.Type) == "Service" && aws.ToString(who.PrincipalId) == "dynamodb.amazonaws.com"
}
