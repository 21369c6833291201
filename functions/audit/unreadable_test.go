package main

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/idemddb/audit"
)

// What is wrong with a record of the stream must not stop its shard, nor hide the changes beside it.
func TestARecordThatCannotBeReadIsToldAndStopsNothing(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		spoil func(r map[string]any) any // the record, as a stream of DynamoDB has it
		want  string                     // in the line
	}{
		"no item before or after": {func(r map[string]any) any {
			delete(r["dynamodb"].(map[string]any), "NewImage")

			return r
		}, `of the kind "INSERT", has an item before the change: false, and after it: false`},
		"an empty item": {func(r map[string]any) any {
			r["dynamodb"].(map[string]any)["NewImage"] = map[string]any{}

			return r
		}, `after it: false`},
		"another view type": {func(r map[string]any) any {
			r["dynamodb"].(map[string]any)["StreamViewType"] = "NEW_IMAGE"

			return r
		}, `view type is "NEW_IMAGE": disable the stream, and then set it to NEW_AND_OLD_IMAGES`},
		"another kind": {func(r map[string]any) any {
			r["eventName"] = "MOVE"

			return r
		}, `of the kind "MOVE"`},
		"another kind, without an item": {func(r map[string]any) any {
			r["eventName"] = "MOVE"
			delete(r["dynamodb"].(map[string]any), "NewImage")

			return r
		}, `of the kind "MOVE"`},
		"a changed item without the item before": {func(r map[string]any) any {
			r["eventName"] = "MODIFY"

			return r
		}, `has an item before the change: false, and after it: true`},
		"an attribute of a new type": {func(r map[string]any) any {
			r["dynamodb"].(map[string]any)["NewImage"].(map[string]any)["pk"] = map[string]any{"Z": 1}

			return r
		}, "the record is malformed"},
		"no change": {func(r map[string]any) any {
			delete(r, "dynamodb")

			return r
		}, `view type is ""`},
		"a field of another type": {func(r map[string]any) any {
			r["eventName"] = 7

			return r
		}, "the record is malformed"},
		"a number":         {func(map[string]any) any { return 7 }, "the record is malformed"},
		"nothing":          {func(map[string]any) any { return nil }, `view type is ""`},
		"a message of SQS": {func(map[string]any) any { return map[string]any{"messageId": "m", "body": "{}"} }, `view type is ""`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStream(t, audit.Options{})
				s.complete("p-8")
				good := s.generic(s.changes[0])
				metrics, lines := s.send(map[string]any{"Records": []any{c.spoil(s.generic(s.changes[0])), good}})

				if diff := cmp.Diff(map[string]int{judged: 1, unreadable: 1}, metrics); diff != "" {
					t.Errorf("metrics (-want +got):\n%s", diff)
				}

				if len(lines) != 1 {
					t.Fatalf("the lines are %v, want one", lines)
				}

				said, _ := lines[0]["error"].(string)
				if lines[0]["level"] != "ERROR" || !strings.Contains(said, c.want) || strings.Contains(said, "p-8") {
					t.Errorf("the line is %v, want %q in it, and not the key", lines[0], c.want)
				}

				isNamed := lines[0]["eventId"] == "1"
				if spoiled, isRecord := c.spoil(s.generic(s.changes[0])).(map[string]any); isNamed != (isRecord && spoiled["eventID"] != nil) {
					t.Errorf("the line names the event %v", lines[0]["eventId"])
				}
			})
		})
	}
}

func TestAnEventThatIsNoneOfAStreamIsTold(t *testing.T) {
	t.Parallel()

	for name, event := range map[string]any{
		"a list": []int{1}, "nothing": nil, "an event of a schedule": map[string]any{"detail": map[string]any{}}, "no records": events.DynamoDBEvent{},
	} {
		s := newStream(t, audit.Options{})
		metrics, lines := s.send(event)

		if diff := cmp.Diff(map[string]int{unreadable: 1}, metrics); diff != "" || len(lines) != 1 {
			t.Errorf("%s: the lines are %v, the metrics (-want +got):\n%s", name, lines, diff)
		}
	}
}
