package streamrecord_test

import (
	"encoding/json"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
	"github.com/idemddb/go-idemddb/internal/streamrecord"
)

type image = map[string]events.DynamoDBAttributeValue

// record is a change with a value of each type.
func record() events.DynamoDBEventRecord {
	values := []events.DynamoDBAttributeValue{
		{}, events.NewNullAttribute(), events.NewBooleanAttribute(true), events.NewNumberAttribute("1"), events.NewStringAttribute("s"),
		events.NewBinaryAttribute([]byte("b")), events.NewBinarySetAttribute([][]byte{[]byte("b")}),
		events.NewNumberSetAttribute([]string{"1"}), events.NewStringSetAttribute([]string{"s"}),
		events.NewMapAttribute(image{"in": events.NewBinaryAttribute([]byte("b"))}), events.NewListAttribute(nil), events.NewMapAttribute(nil),
	}

	return events.DynamoDBEventRecord{
		EventSourceArn: "arn", UserIdentity: &events.DynamoDBUserIdentity{Type: "Service"},
		Change: events.DynamoDBStreamRecord{
			Keys:     image{"account": events.NewStringAttribute("a"), "nr": events.NewNumberAttribute("1")},
			NewImage: image{"values": events.NewListAttribute(values)},
		},
	}
}

func TestACopySharesNothingWithItsRecord(t *testing.T) {
	t.Parallel()

	unexported := cmp.AllowUnexported(events.DynamoDBAttributeValue{}, events.SecondsEpochTime{})
	changed := record()
	copied := streamrecord.Copy(changed)

	values := changed.Change.NewImage["values"].List()
	values[5].Binary()[0] = 'X'
	values[6].BinarySet()[0][0] = 'X'
	values[7].NumberSet()[0], values[8].StringSet()[0] = "X", "X"
	values[9].Map()["in"].Binary()[0] = 'X'
	clear(values)
	clear(changed.Change.Keys)
	clear(changed.Change.NewImage)

	changed.UserIdentity.Type = "X"

	if diff := cmp.Diff(record(), copied, unexported); diff != "" {
		t.Errorf("the copy (-want +got):\n%s", diff)
	}

	empty := events.DynamoDBEventRecord{}
	if diff := cmp.Diff(empty, streamrecord.Copy(empty), unexported); diff != "" {
		t.Errorf("the copy of an empty record (-want +got):\n%s", diff)
	}
}

func TestAnItemIsNamedByItsStreamAndItsKey(t *testing.T) {
	t.Parallel()

	item := func(arn string, key image) string {
		return streamrecord.Item(events.DynamoDBEventRecord{EventSourceArn: arn, Change: events.DynamoDBStreamRecord{Keys: key}})
	}

	if got, want := streamrecord.Item(record()), item("arn", record().Change.Keys); got != want {
		t.Errorf("got %q, want %q: only the key counts", got, want)
	}

	seen := map[string]string{}

	for name, got := range map[string]string{
		"an item":               item("arn", image{"id": events.NewStringAttribute("1")}),
		"another key":           item("arn", image{"id": events.NewStringAttribute("2")}),
		"a key of another type": item("arn", image{"id": events.NewNumberAttribute("1")}),
		"another stream":        item("arn2", image{"id": events.NewStringAttribute("1")}),
		"no readable key":       item("arn", image{"id": {}}),
	} {
		if other, ok := seen[got]; ok {
			t.Errorf("%s is named as %s is: %q", name, other, got)
		}

		seen[got] = name
	}

	if got, want := item("arn", image{"id": {}}), item("arn", image{"other": {}}); got != want {
		t.Errorf("got %q and %q for two records without a readable key", got, want)
	}
}

func TestAnImageIsTheItemOfTheTable(t *testing.T) {
	t.Parallel()

	item := map[string]types.AttributeValue{
		"null": &types.AttributeValueMemberNULL{Value: true}, "bool": &types.AttributeValueMemberBOOL{Value: true},
		"n": &types.AttributeValueMemberN{Value: "1767322800002"}, "s": &types.AttributeValueMemberS{Value: "s"}, "b": &types.AttributeValueMemberB{Value: []byte("b")},
		"ns": &types.AttributeValueMemberNS{Value: []string{"1"}}, "ss": &types.AttributeValueMemberSS{Value: []string{"s"}},
		"bs": &types.AttributeValueMemberBS{Value: [][]byte{[]byte("b")}},
		"l":  &types.AttributeValueMemberL{Value: []types.AttributeValue{&types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"in": &types.AttributeValueMemberN{Value: "1"}}}}},
		"m":  &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"in": &types.AttributeValueMemberL{Value: []types.AttributeValue{}}}},
	}

	content, err := json.Marshal(audited.StreamRecord(audit.Change{After: item}))
	if err != nil {
		t.Fatal(err)
	}

	var r events.DynamoDBEventRecord
	if err := json.Unmarshal(content, &r); err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(item, streamrecord.Image(r.Change.NewImage), cmpopts.IgnoreUnexported(types.AttributeValueMemberB{}, types.AttributeValueMemberBOOL{}, types.AttributeValueMemberBS{}, types.AttributeValueMemberL{}, types.AttributeValueMemberM{}, types.AttributeValueMemberN{}, types.AttributeValueMemberNS{}, types.AttributeValueMemberNULL{}, types.AttributeValueMemberS{}, types.AttributeValueMemberSS{})); diff != "" {
		t.Errorf("item (-want +got):\n%s", diff)
	}

	if got := streamrecord.Image(r.Change.OldImage); got != nil {
		t.Errorf("got %v for an item that is not there, want nil", got)
	}
}
