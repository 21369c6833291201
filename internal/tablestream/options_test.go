package tablestream_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/internal/sleep"
	"github.com/idemddb/go-idemddb/internal/tablestream"
)

func TestReadLeavesOutWhatWasMadeBeforeATime(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		isLocal bool
		changes []string // of the first shard
		want    []string
		skipped int
	}{
		"where the service begins at a time":          {false, []string{"1", "2", "3"}, []string{"3", "4", "5", "2"}, 0},
		"where it does not, and changes are skipped":  {true, []string{"1", "2", "3"}, []string{"3", "4", "5", "2"}, 2},
		"where all are later":                         {true, []string{"3"}, []string{"3", "4", "5", "2"}, 0},
		"where a shard has only what was made before": {true, []string{"1", "2"}, []string{"4", "5", "2"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			// The times are only about right: the last change of the child has an earlier one, and belongs to what came before.
			f := newFake(&fakeShard{id: "root", changes: c.changes}, &fakeShard{id: "child", parent: "root", changes: []string{"4", "5", "2"}})
			f.isLocal = c.isLocal

			got, result, err := read(t, f, &tablestream.Options{Since: made("3").Add(30 * time.Second)})
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("changes, %v (-want +got):\n%s", err, diff)
			}

			if result.Skipped != c.skipped || result.Changes != len(c.want) || !result.Complete {
				t.Errorf("got %+v, want %d changes, and %d skipped", result, len(c.want), c.skipped)
			}
		})
	}
}

// The changes of a key are in a shard and in its descendants, also if there is none in the shards between them.
func TestReadLeavesOutNothingBehindAChangeThatItHandedOn(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		root   []string
		parent string // of the shard with the changes 2 and 6
		want   []string
	}{
		"the root has a change of that time":         {[]string{"5"}, "between", []string{"5", "2", "6"}},
		"the root has only what was before it":       {[]string{"1"}, "between", []string{"6"}},
		"no shard is between, and the root has one":  {[]string{"5"}, "root", []string{"5", "2", "6"}},
		"no shard is between, and the root has none": {[]string{"1"}, "root", []string{"6"}},
	} {
		for _, isLocal := range []bool{false, true} {
			f := newFake(&fakeShard{id: "root", changes: c.root}, &fakeShard{id: "between", parent: "root"},
				&fakeShard{id: "last", parent: c.parent, changes: []string{"2", "6"}})
			f.isLocal = isLocal

			got, _, err := read(t, f, &tablestream.Options{Since: made("4")})
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%s, local %v: changes, %v (-want +got):\n%s", name, isLocal, err, diff)
			}
		}
	}
}

// The time is in the last page of the stream, so that not all of it was read.
func TestAStreamThatWasReadToATimeIsNotComplete(t *testing.T) {
	t.Parallel()

	f := newFake(&fakeShard{id: "root", changes: []string{"1", "5"}})

	got, result, err := read(t, f, &tablestream.Options{Until: made("3")})
	if diff := cmp.Diff([]string{"1"}, got); diff != "" || err != nil || result.Complete {
		t.Errorf("changes, %+v, %v (-want +got):\n%s", result, err, diff)
	}
}

// The child of a shard is listed when all others have been read to the time.
func TestReadLooksForChildrenBeforeItEndsAtATime(t *testing.T) {
	t.Parallel()

	f := newFake(&fakeShard{id: "busy", changes: []string{"5"}, open: true}, &fakeShard{id: "split", changes: []string{"1"}})
	f.status = streams.StreamStatusEnabled
	f.before = func(call, _ string) error {
		if call == "DescribeStream" && f.calls[call] == 2 {
			f.shards = append(f.shards, &fakeShard{id: "child", parent: "split", changes: []string{"2", "5"}, open: true})
		}

		return nil
	}

	got, _, err := read(t, f, &tablestream.Options{Until: made("3")})
	if diff := cmp.Diff([]string{"1", "2"}, got); diff != "" || err != nil {
		t.Errorf("changes, %v (-want +got):\n%s", err, diff)
	}
}

// A table that is in use has something new in each page. The shard that is read slowly is still read to the time.
func TestReadEndsAtATime(t *testing.T) {
	t.Parallel()

	busy := &fakeShard{id: "busy", changes: []string{"1", "2"}, open: true}
	f := newFake(busy, &fakeShard{id: "split", changes: []string{"1", "5"}}, &fakeShard{id: "child", parent: "split", changes: []string{"6"}, open: true},
		&fakeShard{id: "ended", changes: []string{"1", "1", "1", "2"}})
	f.status = streams.StreamStatusEnabled
	f.before = func(call, shard string) error {
		if call == "GetRecords" && shard == "busy" {
			busy.changes = append(busy.changes, "2", "4")
		}

		return nil
	}

	var got []string

	synctest.Test(t, func(t *testing.T) {
		var r reading

		began := time.Now()

		result, err := tablestream.Read(t.Context(), f, arn, &tablestream.Options{Until: made("3"), Quiet: time.Hour}, r.each)
		if took := time.Since(began); err != nil || result.Complete || result.Last != made("2") || took > time.Minute {
			t.Errorf("got %+v, %v after %v, want an end at %v", result, err, took, made("3"))
		}

		got = r.ids
	})

	if diff := cmp.Diff([]string{"1", "2", "1", "1", "1", "2", "1", "2"}, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func TestReadEndsWithItsBudget(t *testing.T) {
	t.Parallel()

	var told []int

	f := newFake(&fakeShard{id: "root", changes: []string{"1", "2", "3", "4", "5"}})
	options := &tablestream.Options{Budget: 2, Progress: func(r tablestream.Result) { told = append(told, r.Changes) }}

	got, result, err := read(t, f, options)
	if !errors.Is(err, tablestream.ErrBudget) || result.Requests != 2 || result.Complete || len(got) != 4 {
		t.Errorf("got %q, %+v, %v, want two pages of two changes", got, result, err)
	}

	if diff := cmp.Diff([]int{2, 4}, told); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
}

// DynamoDB refuses requests where more than two consumers read a shard. The reading goes on, and does not take the refusal for
// the end.
func TestReadGoesOnAfterItWasThrottled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		root := &fakeShard{id: "root", changes: []string{"1"}, open: true}
		f := newFake(root)
		f.status = streams.StreamStatusEnabled
		began := time.Now()
		f.before = func(call, _ string) error {
			if call == "GetRecords" && time.Since(began) < time.Minute {
				return &streams.LimitExceededException{}
			}

			return nil
		}

		var r reading

		result, err := tablestream.Read(t.Context(), f, arn, &tablestream.Options{Quiet: 2 * time.Second}, r.each)
		if err != nil || result.Throttled < 10 || result.Changes != 1 || len(result.Gaps) > 0 {
			t.Errorf("got %+v, %v, want the change after the requests that were refused", result, err)
		}
	})
}

// DynamoDB Local refuses the beginning of a shard that had its first change since it was asked for it. Nothing is missing.
func TestReadBeginsAgainWhereTheFirstChangesWereDeleted(t *testing.T) {
	t.Parallel()

	f := newFake(&fakeShard{id: "root", changes: []string{"1", "2"}})
	f.before = func(call, _ string) error {
		if call == "GetRecords" && f.calls[call] == 1 {
			return &streams.TrimmedDataAccessException{}
		}

		return nil
	}

	got, result, err := read(t, f, nil)
	if diff := cmp.Diff([]string{"1", "2"}, got); diff != "" || err != nil || len(result.Gaps) > 0 {
		t.Errorf("changes, %+v, %v (-want +got):\n%s", result, err, diff)
	}
}

// empty is a stream of which one record has no content, and one an attribute of a type that nobody knows.
type empty struct{ *fake }

func (s empty) GetRecords(
	ctx context.Context, in *dynamodbstreams.GetRecordsInput, _ ...func(*dynamodbstreams.Options),
) (*dynamodbstreams.GetRecordsOutput, error) {
	out, err := s.fake.GetRecords(ctx, in)
	if err != nil {
		return nil, err
	}

	for i := range out.Records {
		switch r := &out.Records[i]; *r.Dynamodb.SequenceNumber {
		case "2":
			r.Dynamodb = nil
		case "3":
			r.Dynamodb.NewImage = map[string]streams.AttributeValue{"pk": &streams.UnknownUnionMember{Tag: "new"}}
		}
	}

	return out, nil
}

func TestReadGoesOnBehindARecordThatCannotBeRead(t *testing.T) {
	t.Parallel()

	f := newFake(&fakeShard{id: "root", changes: []string{"1", "2", "3", "4"}})

	var r reading

	result, err := tablestream.Read(t.Context(), empty{f}, arn, nil, r.each)
	if diff := cmp.Diff([]string{"1", "4"}, r.ids); diff != "" || err != nil || !result.Complete {
		t.Errorf("changes, %+v, %v (-want +got):\n%s", result, err, diff)
	}

	if len(result.Gaps) != 2 || !strings.Contains(result.Gaps[0].String(), "has no content") || result.Gaps[1].After != "1" {
		t.Errorf("got the gaps %v, want one for each record", result.Gaps)
	}
}

// DynamoDB Local has each change in its stream at once, so that a reader who waits for it knows when it was made.
func TestReadTakesTheTimeOfArrivalWhereItSaysMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		root := &fakeShard{id: "root", changes: []string{"1"}, open: true}
		f := newFake(root)
		f.status = streams.StreamStatusEnabled
		f.before = func(call, _ string) error {
			switch {
			case call != "GetRecords":
			case f.calls[call] == 5:
				root.changes = append(root.changes, "2")
			case f.calls[call] == 8:
				sleep.For(t.Context(), 2*tablestream.Fresh) // the reader stood still, so that it does not know when the next one was made
				root.changes = append(root.changes, "3")
			}

			return nil
		}

		got := map[string]time.Time{}

		_, err := tablestream.Read(t.Context(), f, arn, &tablestream.Options{Quiet: 3 * time.Second, Clock: time.Now}, func(c tablestream.Change) error {
			got[idOf(c.After)] = c.Time

			return nil
		})
		if err != nil || len(got) != 3 || !got["1"].IsZero() || got["2"].IsZero() || !got["3"].IsZero() {
			t.Errorf("got the times %v, %v, want that of the second change only", got, err)
		}
	})
}
