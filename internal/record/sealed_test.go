package record_test

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/idemddb/go-idemddb/internal/record"
)

// What a codec opens is read as a message or refused without showing it, and a message is what it was.
func FuzzContentOf(f *testing.F) {
	f.Add([]byte(`{"body":"b","group":"g","attrs":{"a":"1"},"seq":7}`))
	f.Add([]byte(`{"body":""}`))
	f.Add([]byte(`{"body":7}`))

	f.Fuzz(func(t *testing.T, plain []byte) {
		c, err := record.ContentOf("bank", plain)
		if err != nil {
			if !errors.Is(err, record.ErrCorrupt) || err.Error() != "record unreadable: what was sealed is no message" {
				t.Errorf("got %v", err)
			}

			return
		}

		again, err := record.ContentOf("bank", c.Plain())
		if len(c.Attributes) == 0 {
			c.Attributes, again.Attributes = nil, nil
		}

		if diff := cmp.Diff(c, again); diff != "" || err != nil {
			t.Errorf("%v\n%s", err, diff)
		}
	})
}

func TestASealedMessageSaysSomething(t *testing.T) {
	t.Parallel()

	for _, plain := range []string{`{"body":""}`, `{}`, `null`, `{"body":7}`, ``} {
		if c, err := record.ContentOf("bank", []byte(plain)); !errors.Is(err, record.ErrCorrupt) {
			t.Errorf("%s is read as %+v with error %v", plain, c, err)
		}
	}
}

func TestASealedMessageIsStoredWithItsTargetAndReadAgain(t *testing.T) {
	t.Parallel()

	sealed := record.Message{
		Index: 2, Cause: "no such queue", Sealed: []byte("bytes"),
		Content: record.Content{To: "bank", Body: "paid", Group: "g", Attributes: map[string]string{"a": "1"}, Sequence: 7},
	}

	stored, err := attributevalue.Marshal([]record.Message{sealed})
	if err != nil {
		t.Fatal(err)
	}

	want := &types.AttributeValueMemberL{Value: []types.AttributeValue{&types.AttributeValueMemberM{Value: item{
		"i": number("2"), "to": text("bank"), "cause": text("no such queue"), "body": &types.AttributeValueMemberB{Value: []byte("bytes")},
	}}}}
	if diff := cmp.Diff(types.AttributeValue(want), stored, cmpopts.IgnoreUnexported(types.AttributeValueMemberL{}, types.AttributeValueMemberM{}, types.AttributeValueMemberN{},
		types.AttributeValueMemberS{}, types.AttributeValueMemberB{})); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}

	if open := (record.Message{}); open.IsSealed() {
		t.Error("a message of which nothing was sealed counts as sealed")
	}

	var got []record.Message
	if err := attributevalue.Unmarshal(stored, &got); err != nil {
		t.Fatal(err)
	}

	sealed.Content = record.Content{To: "bank"}
	if diff := cmp.Diff([]record.Message{sealed}, got); diff != "" || !got[0].IsSealed() {
		t.Errorf("read (-want +got):\n%s", diff)
	}
}

func TestOnlyTheMarkMakesAResultSealed(t *testing.T) {
	t.Parallel()

	blob := &types.AttributeValueMemberB{Value: []byte("r")}
	kept := record.KeptResult{Name: "n", Length: 1, Sum: make([]byte, 32)}.Value()
	null := &types.AttributeValueMemberNULL{Value: true}

	for name, c := range map[string]struct {
		stored           types.AttributeValue
		isSealed, isGood bool
	}{
		"none": {nil, false, true}, "bytes": {blob, false, true}, "omitted": {null, false, true}, "kept elsewhere": {kept, false, true},
		"sealed bytes": {record.SealedResult(blob), true, true}, "sealed, kept elsewhere": {record.SealedResult(kept), true, true},
		"sealed, omitted": {record.SealedResult(null), true, false}, "sealed twice": {record.SealedResult(record.SealedResult(blob)), true, false},
		"sealed and more": {&types.AttributeValueMemberM{Value: item{"sealed": blob, "more": blob}}, false, false},
		"a text":          {text("r"), false, false},
		"one other entry": {&types.AttributeValueMemberM{Value: item{"more": blob}}, false, false},
	} {
		if _, isSealed := record.ResultIn(c.stored); isSealed != c.isSealed || record.IsResult(c.stored) != c.isGood {
			t.Errorf("%s: sealed %v, a result %v", name, isSealed, record.IsResult(c.stored))
		}
	}
}
