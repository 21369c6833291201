// Package tablestream reads the stream of a table: every change of its items, each with the item before and after it.
package tablestream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/idemddb/go-idemddb/internal/sleep"
)

// Client has the calls of DynamoDB Streams that Read makes. A *dynamodbstreams.Client is one.
type Client interface {
	DescribeStream(
		context.Context, *dynamodbstreams.DescribeStreamInput, ...func(*dynamodbstreams.Options),
	) (*dynamodbstreams.DescribeStreamOutput, error)
	GetShardIterator(
		context.Context, *dynamodbstreams.GetShardIteratorInput, ...func(*dynamodbstreams.Options),
	) (*dynamodbstreams.GetShardIteratorOutput, error)
	GetRecords(context.Context, *dynamodbstreams.GetRecordsInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error)
}

// Change is one change of an item.
type Change struct {
	Before, After map[string]types.AttributeValue // nil where there was no item before, or is none after
	Time          time.Time                       // whole seconds on DynamoDB, whole minutes on DynamoDB Local, rounded down
	ByTimeToLive  bool                            // Time to Live deleted the item
}

// pause is how long Read waits before it asks open shards again that had nothing new.
const pause = 500 * time.Millisecond

// Find returns the ARN of a table's stream: of the stream that is enabled, or else of the one that was enabled last.
func Find(ctx context.Context, tables dynamodb.DescribeTableAPIClient, table string) (string, error) {
	out, err := tables.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		return "", fmt.Errorf("describe the table %s: %w", table, err)
	}

	if out.Table == nil || out.Table.LatestStreamArn == nil {
		return "", fmt.Errorf("the table %s has no stream: %w", table, ErrSpecification)
	}

	return *out.Table.LatestStreamArn, nil
}

// ErrSpecification says that the table has no stream, or one whose changes cannot be read.
var ErrSpecification = errors.New("set the table's StreamSpecification to StreamEnabled: true and StreamViewType: NEW_AND_OLD_IMAGES; " +
	"the stream has only the changes that follow")

// Read hands each change that the stream still has to each, one at a time, from the oldest on. Changes of one item come in the
// order in which they were made, because a shard is read after its parent; those of different items come in any order. Nothing
// comes twice.
//
// A Gap is a loss: a part of the stream was deleted, at the age of 24 hours, before it was read. What was deleted before the
// reading began is none. An iterator that expired is none either: the reading goes on behind the last change.
//
// The reading ends as Options say, and at once with an error of ctx, of each or of DynamoDB, or with ErrBudget. The Result holds
// until then. A change that cannot be read is a Gap. DynamoDB refuses requests where more than two read a shard: they are made
// again after a pause.
func Read(ctx context.Context, client Client, arn string, options *Options, each func(Change) error) (Result, error) {
	r := &reader{client: client, arn: arn, each: each, known: map[string]*shard{}}
	if options != nil {
		r.Options = *options
	}

	err := r.read(ctx)

	return r.Result, err
}

// reader is one call of Read.
type reader struct {
	Options
	Result

	client Client
	arn    string
	each   func(Change) error
	shards []*shard // in the order in which they were found
	known  map[string]*shard
	closed bool // the stream was disabled when it was described last, so that no shard and no change is added
	untold bool // the service does not begin at a time
}

// shard is a part of the stream. Its changes are in order.
type shard struct {
	id, parent string
	ended      bool      // no change is added to it
	done       bool      // it was read to its end
	passed     bool      // it has a change that was made after Options.Until; what follows is not read
	tip        time.Time // the start of the last request that was answered with all that the shard had
	begun      bool      // a change that was not made before Options.Since was found, here or in an ancestor
	iterator   *string   // nil: it must be asked for
	last       string    // the sequence number of the last change that was read
}

func (r *reader) read(ctx context.Context) error {
	if err := r.describe(ctx); err != nil {
		return err
	}

	for quiet := time.Now(); ; {
		before, throttled := r.activity(), r.Throttled

		again, err := r.round(ctx)
		if err != nil {
			return err
		}

		if !again {
			err = r.describe(ctx)
		}

		if r.Throttled > throttled { // what was asked for may be new
			quiet = time.Now()
		}

		switch idle := before == r.activity(); {
		case err != nil:
			return err
		case !again && r.hasPassed():
			return nil
		case r.closed && r.allDone():
			r.Complete = true

			return nil
		case again || !idle:
			quiet = time.Now()
		case r.Quiet > 0 && time.Since(quiet) >= r.Quiet:
			return nil
		case !sleep.For(ctx, pause):
			return context.Cause(ctx) //nolint:wrapcheck // the caller's own
		}
	}
}

// activity is what grows when anything new is found.
func (r *reader) activity() [4]int { return [4]int{r.Changes, r.Skipped, len(r.Gaps), r.Shards} }

// hasPassed reports whether every shard that can be read was read to its end or to Options.Until, and at least one of them to
// Until. The shards behind such a one hold later changes only.
func (r *reader) hasPassed() bool {
	hasPassed := false

	for _, s := range r.shards {
		if !s.done && !s.passed && r.isDone(s.parent) {
			return false
		}

		hasPassed = hasPassed || s.passed
	}

	return hasPassed
}

// round reads a page of each shard whose parent was read. It returns true if there may be more to read at once: of an ended
// shard, behind a change, or of the children of a shard that was read to its end. What was refused is read again after a pause.
func (r *reader) round(ctx context.Context) (again bool, err error) {
	for _, s := range r.shards {
		if s.done || s.passed || !r.isDone(s.parent) {
			continue
		}

		before, throttled := r.activity(), r.Throttled
		if err := r.page(ctx, s); err != nil {
			return false, err
		}

		again = again || s.done || r.Throttled == throttled && s.iterator != nil && !s.passed && (s.ended || r.activity() != before)
	}

	return again, nil
}

// isDone says that a shard was read to its end. One that is not listed was deleted before the reading began.
func (r *reader) isDone(id string) bool {
	s := r.known[id]

	return s == nil || s.done
}

func (r *reader) allDone() bool {
	for _, s := range r.shards {
		if !s.done {
			return false
		}
	}

	return true
}

// describe finds shards. All of them are described before one is read, so that no child is read before its parent.
func (r *reader) describe(ctx context.Context) error {
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: &r.arn}

	for first := true; first || in.ExclusiveStartShardId != nil; first = false {
		out, err := r.client.DescribeStream(ctx, in)
		if err != nil {
			return fmt.Errorf("describe the stream %s: %w", r.arn, err)
		}

		stream := out.StreamDescription
		if view := stream.StreamViewType; view != streams.StreamViewTypeNewAndOldImages {
			return fmt.Errorf("the stream %s has %s: disable it, and then %w", r.arn, view, ErrSpecification)
		}

		if first {
			r.Begun = aws.ToTime(stream.CreationRequestDateTime)
			r.closed = stream.StreamStatus == streams.StreamStatusDisabled // shards that later pages list are then the last ones
		}

		for _, found := range stream.Shards {
			r.add(found)
		}

		in.ExclusiveStartShardId = stream.LastEvaluatedShardId
	}

	return nil
}

func (r *reader) add(found streams.Shard) {
	id := aws.ToString(found.ShardId)

	s := r.known[id]
	if s == nil {
		s = &shard{id: id, parent: aws.ToString(found.ParentShardId)}
		r.known[id] = s
		r.shards = append(r.shards, s)
		r.Shards++
	}

	s.ended = found.SequenceNumberRange != nil && found.SequenceNumberRange.EndingSequenceNumber != nil
}
