package tablestream_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/idemddb/go-idemddb/internal/tablestream"
)

// read reads a stream in a bubble, in which pauses take no time.
func read(t *testing.T, f *fake, options *tablestream.Options) (ids []string, result tablestream.Result, err error) {
	t.Helper()

	synctest.Test(t, func(t *testing.T) {
		var r reading

		result, err = tablestream.Read(t.Context(), f, arn, options, r.each)
		ids = r.ids
	})

	return ids, result, err
}

func TestReadReadsShardsAfterTheirParents(t *testing.T) {
	t.Parallel()

	// The children are listed first, and on another page than their parents.
	f := newFake(
		&fakeShard{id: "grandchild", parent: "child", changes: []string{"6"}},
		&fakeShard{id: "child", parent: "root", changes: []string{"4", "5"}},
		&fakeShard{id: "empty", parent: "deleted"},
		&fakeShard{id: "root", parent: "deleted", changes: []string{"1", "1", "2", "2", "3"}},
	)

	got, result, err := read(t, f, nil)
	if diff := cmp.Diff([]string{"1", "1", "2", "2", "3", "4", "5", "6"}, got); diff != "" || err != nil {
		t.Errorf("changes, %v (-want +got):\n%s", err, diff)
	}

	if diff := cmp.Diff(tablestream.Result{Changes: 8, Shards: 4, Requests: 6, Last: made("6"), Complete: true}, result); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}

	if got := f.calls["DescribeStream"]; got != 2 {
		t.Errorf("%d requests of the shards, want one for each of their pages: DynamoDB refuses more than ten a second", got)
	}
}

// sparse is a stream whose first pages are empty, as pages of DynamoDB are where a shard has few changes.
type sparse struct{ *fake }

func (s sparse) GetRecords(
	ctx context.Context, in *dynamodbstreams.GetRecordsInput, opts ...func(*dynamodbstreams.Options),
) (*dynamodbstreams.GetRecordsOutput, error) {
	if s.calls["GetRecords"] < 3 {
		return &dynamodbstreams.GetRecordsOutput{NextShardIterator: in.ShardIterator}, s.call("GetRecords", "root")
	}

	return s.fake.GetRecords(ctx, in, opts...)
}

// Nothing is added to a shard that has ended, so there is nothing to wait for between its pages.
func TestReadDoesNotPauseBetweenTheEmptyPagesOfAShardThatHasEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r reading

		began := time.Now()

		result, err := tablestream.Read(t.Context(), sparse{newFake(&fakeShard{id: "root", changes: []string{"1"}})}, arn, nil, r.each)
		if took := time.Since(began); err != nil || result.Changes != 1 || took > 0 {
			t.Errorf("got %+v, %v after %v, want the change at once", result, err, took)
		}
	})
}

func TestReadFollowsAnEnabledStreamUntilItIsDisabled(t *testing.T) {
	t.Parallel()

	root := &fakeShard{id: "root", changes: []string{"1"}, open: true}
	f := newFake(root)
	f.status = streams.StreamStatusEnabled

	f.before = func(call, _ string) error {
		switch {
		case call != "GetRecords":
		case f.calls[call] == 10: // the shard is split
			root.changes, root.open = append(root.changes, "2", "3", "4"), false
			f.shards = append(f.shards, &fakeShard{id: "child", parent: "root", changes: []string{"5"}, open: true})
		case f.calls[call] == 20: // the stream is disabled
			f.shards[1].changes, f.shards[1].open = append(f.shards[1].changes, "6"), false
			f.status = streams.StreamStatusDisabled
		}

		return nil
	}

	got, result, err := read(t, f, nil)
	if diff := cmp.Diff([]string{"1", "2", "3", "4", "5", "6"}, got); diff != "" || err != nil || !result.Complete {
		t.Errorf("changes, %+v, %v (-want +got):\n%s", result, err, diff)
	}
}

// A shard ends before DynamoDB lists its child, and before the stream counts as disabled.
func TestReadWaitsForTheSuccessorsOfShards(t *testing.T) {
	t.Parallel()

	f := newFake(&fakeShard{id: "root", changes: []string{"1"}})
	f.status = streams.StreamStatusDisabling
	f.before = func(call, _ string) error {
		if call == "DescribeStream" && f.calls[call] == 5 {
			f.shards = append(f.shards, &fakeShard{id: "child", parent: "root", changes: []string{"2"}})
			f.status = streams.StreamStatusDisabled
		}

		return nil
	}

	got, result, err := read(t, f, nil)
	if diff := cmp.Diff([]string{"1", "2"}, got); diff != "" || err != nil || !result.Complete {
		t.Errorf("changes, %+v, %v (-want +got):\n%s", result, err, diff)
	}
}

func TestReadEndsWhenNothingWasNewForSoLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		root := &fakeShard{id: "root", changes: []string{"1"}, open: true}
		f := newFake(root)
		f.status = streams.StreamStatusEnabled
		f.before = func(call, _ string) error {
			if call == "GetRecords" && len(root.changes) == 1 && time.Since(began) > time.Second {
				root.changes = append(root.changes, "2")
			}

			return nil
		}

		var r reading

		result, err := tablestream.Read(t.Context(), f, arn, &tablestream.Options{Quiet: 3 * time.Second}, r.each)
		if diff := cmp.Diff([]string{"1", "2"}, r.ids); diff != "" || err != nil || result.Complete {
			t.Errorf("changes, %+v, %v (-want +got):\n%s", result, err, diff)
		}

		if took := time.Since(began); took < 4*time.Second || took > 6*time.Second {
			t.Errorf("it took %v, want 3 s after the last change", took)
		}
	})
}

func TestReadReportsGaps(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		disturb func(f *fake, call, shard string) error
		want    []string
		gaps    []tablestream.Gap
	}{
		"an iterator that expired is no gap": {
			disturb: func(f *fake, call, _ string) error {
				if call == "GetRecords" && f.calls[call] == 2 {
					return &streams.ExpiredIteratorException{}
				}

				return nil
			},
			want: []string{"1", "2", "3", "4", "5", "6"},
		},
		"changes that were deleted before they were read": {
			disturb: func(f *fake, call, _ string) error {
				if call == "GetRecords" && f.calls[call] == 2 {
					f.shards[0].trimmed = 4
				}

				return nil
			},
			want: []string{"1", "2", "5", "6"},
			gaps: []tablestream.Gap{{Shard: "root", After: "2", Err: &streams.TrimmedDataAccessException{Message: aws.String("it was trimmed")}}},
		},
		"changes that were deleted after an iterator expired": {
			disturb: func(f *fake, call, _ string) error {
				if call == "GetRecords" && f.calls[call] == 2 {
					f.shards[0].trimmed = 4

					return &streams.ExpiredIteratorException{}
				}

				return nil
			},
			want: []string{"1", "2", "5", "6"},
			gaps: []tablestream.Gap{{Shard: "root", After: "2", Err: &streams.TrimmedDataAccessException{Message: aws.String("it was trimmed")}}},
		},
		"a shard that is gone, whose child is read": {
			disturb: func(f *fake, call, _ string) error {
				if call == "GetRecords" && f.calls[call] == 2 {
					f.shards = f.shards[1:]
				}

				return nil
			},
			want: []string{"1", "2", "6"},
			gaps: []tablestream.Gap{{Shard: "root", After: "2", Err: &streams.ResourceNotFoundException{}}},
		},
		"what was deleted before the reading began is no gap": {
			disturb: func(f *fake, _, _ string) error {
				f.shards[0].trimmed = 3

				return nil
			},
			want: []string{"4", "5", "6"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			f := newFake(&fakeShard{id: "root", changes: []string{"1", "2", "3", "4", "5"}}, &fakeShard{id: "child", parent: "root", changes: []string{"6"}})
			f.before = func(call, shard string) error { return c.disturb(f, call, shard) }

			got, result, err := read(t, f, nil)
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("changes, %v (-want +got):\n%s", err, diff)
			}

			ignored := cmpopts.IgnoreUnexported(streams.TrimmedDataAccessException{}, streams.ResourceNotFoundException{})
			if diff := cmp.Diff(c.gaps, result.Gaps, ignored); diff != "" {
				t.Errorf("gaps (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadEndsWithAnError(t *testing.T) {
	t.Parallel()

	broken := errors.New("broken")

	t.Run("of the function that is called", func(t *testing.T) {
		t.Parallel()

		f := newFake(&fakeShard{id: "root", changes: []string{"1", "2", "3"}})
		n := 0

		result, err := tablestream.Read(t.Context(), f, arn, nil, func(tablestream.Change) error {
			if n++; n == 2 {
				return broken
			}

			return nil
		})
		if !errors.Is(err, broken) || result.Changes != 2 || result.Complete {
			t.Errorf("got %+v, %v, want the error after two changes", result, err)
		}
	})
	t.Run("of DynamoDB", func(t *testing.T) {
		t.Parallel()

		for _, call := range []string{"GetShardIterator", "GetRecords"} {
			f := newFake(&fakeShard{id: "root", changes: []string{"1"}})
			f.before = func(now, _ string) error {
				if now == call {
					return broken
				}

				return nil
			}

			if _, _, err := read(t, f, nil); !errors.Is(err, broken) || !strings.Contains(err.Error(), "root") {
				t.Errorf("%s: got %v, want the error and the shard", call, err)
			}
		}
	})
	t.Run("of DynamoDB, while the shards are listed for the first and the second time", func(t *testing.T) {
		t.Parallel()

		for _, n := range []int{1, 2} {
			f := newFake(&fakeShard{id: "root", changes: []string{"1"}, open: true})
			f.status = streams.StreamStatusEnabled
			f.before = func(call, _ string) error {
				if call == "DescribeStream" && f.calls[call] == n {
					return broken
				}

				return nil
			}

			if _, result, err := read(t, f, nil); !errors.Is(err, broken) || result.Changes != n-1 {
				t.Errorf("call %d: got %+v, %v, want the error", n, result, err)
			}
		}
	})
	t.Run("of the context, while it waits", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()

			f := newFake(&fakeShard{id: "root", open: true})
			f.status = streams.StreamStatusEnabled

			var r reading
			if result, err := tablestream.Read(ctx, f, arn, nil, r.each); !errors.Is(err, context.DeadlineExceeded) || result.Complete {
				t.Errorf("got %+v, %v, want the end of the context", result, err)
			}
		})
	})
}

func TestReadRefusesAStreamWithoutBothItems(t *testing.T) {
	t.Parallel()

	f := newFake()
	f.view = streams.StreamViewTypeKeysOnly

	_, _, err := read(t, f, nil)
	if err == nil || !strings.Contains(err.Error(), "has KEYS_ONLY") || !strings.Contains(err.Error(), "StreamViewType: NEW_AND_OLD_IMAGES") {
		t.Errorf("got %v, want what it has and what to set", err)
	}
}

func TestFindRefusesATableWithoutAStream(t *testing.T) {
	t.Parallel()

	for _, table := range []*types.TableDescription{{}, nil} {
		_, err := tablestream.Find(t.Context(), tables{table}, "records")
		if err == nil || !strings.Contains(err.Error(), "records has no stream") || !strings.Contains(err.Error(), "StreamEnabled: true") {
			t.Errorf("got %v, want what to set", err)
		}
	}
}

// tables are tables without a stream, or an answer without content.
type tables struct{ table *types.TableDescription }

func (t tables) DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	return &dynamodb.DescribeTableOutput{Table: t.table}, nil
}

// deletions is a stream whose changes are deletions by somebody.
type deletions struct {
	*fake

	who *streams.Identity
}

func (s deletions) GetRecords(
	ctx context.Context, in *dynamodbstreams.GetRecordsInput, _ ...func(*dynamodbstreams.Options),
) (*dynamodbstreams.GetRecordsOutput, error) {
	out, err := s.fake.GetRecords(ctx, in)
	if err != nil {
		return nil, err
	}

	for i := range out.Records {
		r := &out.Records[i]
		r.UserIdentity = s.who
		r.Dynamodb.OldImage, r.Dynamodb.NewImage = map[string]streams.AttributeValue{"pk": &streams.AttributeValueMemberS{Value: "old"}}, nil
	}

	return out, nil
}

func TestReadSaysWhatDynamoDBSaysOfAChange(t *testing.T) {
	t.Parallel()

	for who, isTimeToLive := range map[streams.Identity]bool{
		{Type: new("Service"), PrincipalId: new("dynamodb.amazonaws.com")}:             true,
		{Type: new("Service"), PrincipalId: new("replication.dynamodb.amazonaws.com")}: false,
		{Type: new("User"), PrincipalId: new("dynamodb.amazonaws.com")}:                false,
	} {
		f := newFake(&fakeShard{id: "root", changes: []string{"1"}})

		var got []tablestream.Change

		_, err := tablestream.Read(t.Context(), deletions{f, &who}, arn, nil, func(c tablestream.Change) error {
			got = append(got, c)

			return nil
		})

		want := []tablestream.Change{{
			Before: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "old"}}, Time: made("1"), ByTimeToLive: isTimeToLive,
		}}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(types.AttributeValueMemberS{})); diff != "" || err != nil {
			t.Errorf("%s %s: changes, %v (-want +got):\n%s", *who.Type, *who.PrincipalId, err, diff)
		}
	}
}
