package tablestream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// fewRecords are less than a page can hold, so DynamoDB Local has no more where it returns less.
const fewRecords = 100

// page reads the next page of a shard. It may be empty, although more follows.
func (r *reader) page(ctx context.Context, s *shard) error {
	if s.iterator == nil {
		iterator, err := r.iterate(ctx, s)
		if err != nil {
			return r.refused(s, err)
		}

		s.iterator = iterator
	}

	if r.Budget > 0 && r.Requests >= r.Budget {
		return ErrBudget
	}

	r.Requests++
	asked := time.Now()

	out, err := r.client.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: s.iterator})
	if err != nil {
		return r.refused(s, err)
	}

	if err := r.handOnAll(s, out.Records); err != nil {
		return err
	}

	if len(out.Records) < fewRecords {
		s.tip = asked
	}

	s.iterator = out.NextShardIterator
	s.done = s.iterator == nil && !s.passed

	if r.Progress != nil {
		r.Progress(r.Result)
	}

	return nil
}

// iterate asks for an iterator at the position. A service that does not begin at a time answers with errors of any kind, such as
// 500 of DynamoDB Local, so after any error the oldest change is asked for instead.
func (r *reader) iterate(ctx context.Context, s *shard) (*string, error) {
	in := r.position(s)
	out, err := r.client.GetShardIterator(ctx, in)

	if err != nil && in.ShardIteratorType == streams.ShardIteratorTypeAtTimestamp {
		r.untold = true
		out, err = r.client.GetShardIterator(ctx, r.position(s))
	}

	if err != nil {
		return nil, err
	}

	return out.ShardIterator, nil
}

// handOnAll hands on the changes of a page, up to the first one that was made after Options.Until.
func (r *reader) handOnAll(s *shard, records []streams.Record) error {
	for i := range records {
		made := madeAt(&records[i])
		if s.passed = !r.Until.IsZero() && made.After(r.Until); s.passed {
			return nil
		}

		s.begun = s.begun || !made.Before(r.Since.Truncate(time.Minute)) || r.hasBegun(s.parent)

		if !s.begun {
			r.Skipped++
		} else if err := r.handOn(s, &records[i]); err != nil {
			return err
		}

		if content := records[i].Dynamodb; content != nil {
			s.last = aws.ToString(content.SequenceNumber)
		}
	}

	return nil
}

// hasBegun reports whether a change in the shard was not made before Options.Since. The changes of a key are handed on without a
// gap, although their times are only about right.
func (r *reader) hasBegun(id string) bool {
	s := r.known[id]

	return s != nil && (s.begun || r.hasBegun(s.parent))
}

func madeAt(record *streams.Record) time.Time {
	if record.Dynamodb == nil {
		return time.Time{}
	}

	return aws.ToTime(record.Dynamodb.ApproximateCreationDateTime)
}

// position is behind the last change that was read, or at the time at which the reading begins, or at the oldest change.
func (r *reader) position(s *shard) *dynamodbstreams.GetShardIteratorInput {
	in := &dynamodbstreams.GetShardIteratorInput{StreamArn: &r.arn, ShardId: &s.id, ShardIteratorType: streams.ShardIteratorTypeTrimHorizon}

	switch {
	case s.last != "":
		in.ShardIteratorType, in.SequenceNumber = streams.ShardIteratorTypeAfterSequenceNumber, &s.last
	case !r.Since.IsZero() && !r.untold && !r.hasBegun(s.parent):
		in.ShardIteratorType, in.Timestamp = streams.ShardIteratorTypeAtTimestamp, new(r.Since.Truncate(time.Minute))
	}

	return in
}

// throttles are the answers to more requests than the service takes. The client has tried several times before it returns one.
var throttles = retry.ThrottleErrorCode{Codes: retry.DefaultThrottleErrorCodes}

// refused decides how the reading of a shard goes on after an error: with the same request if too many were made; behind the last
// change if only the iterator is too old; at the oldest change that is left, after a gap, if changes were deleted; not at all,
// after a gap, if the shard is gone. What was deleted before the first change was read is no gap: DynamoDB Local says so of a
// shard that was empty when it was asked for its beginning.
func (r *reader) refused(s *shard, err error) error {
	if throttles.IsErrorThrottle(err) == aws.TrueTernary {
		r.Throttled++

		return nil
	}

	_, expired := errors.AsType[*streams.ExpiredIteratorException](err)
	_, trimmed := errors.AsType[*streams.TrimmedDataAccessException](err)
	_, gone := errors.AsType[*streams.ResourceNotFoundException](err)

	if !expired && !trimmed && !gone {
		return fmt.Errorf("read the shard %s: %w", s.id, err)
	}

	s.iterator = nil

	if gone || trimmed && s.last != "" {
		r.Gaps = append(r.Gaps, Gap{Shard: s.id, After: s.last, Err: err})
		s.last, s.done = "", gone
	}

	return nil
}

// handOn hands on a change. One that cannot be read is a gap.
func (r *reader) handOn(s *shard, record *streams.Record) error {
	change, err := read(record)
	if err != nil {
		r.Gaps = append(r.Gaps, Gap{Shard: s.id, After: s.last, Err: err})

		return nil //nolint:nilerr // it is in the Result
	}

	r.Changes++

	if r.Clock != nil {
		change.Time = r.arrival(s)
	}

	if change.Time.After(r.Last) {
		r.Last = change.Time
	}

	return r.each(change)
}

// arrival is the time of a change that was made since all others of the shard were read; zero if that is longer ago than Fresh.
func (r *reader) arrival(s *shard) time.Time {
	if time.Since(s.tip) > Fresh { // also before there was one
		return time.Time{}
	}

	return r.Clock()
}

func read(record *streams.Record) (Change, error) {
	if record.Dynamodb == nil {
		return Change{}, fmt.Errorf("the change %s has no content", aws.ToString(record.EventID))
	}

	change := Change{ByTimeToLive: isTimeToLive(record.UserIdentity), Time: madeAt(record)}

	var err error
	if change.Before, err = item(record.Dynamodb.OldImage); err == nil {
		change.After, err = item(record.Dynamodb.NewImage)
	}

	if err != nil {
		return Change{}, fmt.Errorf("read the change %s: %w", aws.ToString(record.EventID), err)
	}

	return change, nil
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
