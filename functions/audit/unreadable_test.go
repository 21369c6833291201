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

	type record = map[string]any

	for name, c := range map[string]struct {
		spoil   func(r, change record) // a record as a stream of DynamoDB has it; nil: it is another one
		another any
		want    string // in the line
	}{
		"no item before or after": {
			func(_, change record) { delete(change, "NewImage") }, nil, `of the kind "INSERT", has an item before the change: false, and after it: false`,
		},
		"an empty item": {func(_, change record) { change["NewImage"] = record{} }, nil, `after it: false`},
		"another view type": {
			func(_, change record) { change["StreamViewType"] = "NEW_IMAGE" }, nil,
			`view type is "NEW_IMAGE": disable the stream, and then set it to NEW_AND_OLD_IMAGES`,
		},
		"another kind":                  {func(r, _ record) { r["eventName"] = "MOVE" }, nil, `of the kind "MOVE"`},
		"another kind, without an item": {func(r, change record) { r["eventName"] = "MOVE"; delete(change, "NewImage") }, nil, `of the kind "MOVE"`},
		"a changed item without the item before": {
			func(r, _ record) { r["eventName"] = "MODIFY" }, nil, `has an item before the change: false, and after it: true`,
		},
		"an attribute of a new type": {
			func(_, change record) { change["NewImage"].(record)["pk"] = record{"Z": 1} }, nil, "the record is malformed",
		},
		"no change":               {func(r, _ record) { delete(r, "dynamodb") }, nil, `view type is ""`},
		"a field of another type": {func(r, _ record) { r["eventName"] = 7 }, nil, "the record is malformed"},
		"a number":                {nil, 7, "the record is malformed"},
		"nothing":                 {nil, nil, `view type is ""`},
		"a message of SQS":        {nil, record{"messageId": "m", "body": "{}"}, `view type is ""`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStream(t, audit.Options{})
				s.complete("p-8")

				spoiled := c.another
				if c.spoil != nil {
					r := s.generic(s.changes[0])
					c.spoil(r, r["dynamodb"].(record))
					spoiled = r
				}

				metrics, lines := s.send(record{"Records": []any{spoiled, s.generic(s.changes[0])}})

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

				if isNamed := lines[0]["eventId"] == "1"; isNamed != (c.spoil != nil) {
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
