package record_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/record"
)

// An interceptor of a user, or a fake, may hold a nil pointer in an attribute. That is no result, and no panic.
func TestAResultThatIsANilPointerIsNone(t *testing.T) {
	t.Parallel()

	for name, stored := range map[string]types.AttributeValue{
		"a map":           (*types.AttributeValueMemberM)(nil),
		"a map, sealed":   record.SealedResult((*types.AttributeValueMemberM)(nil)),
		"bytes":           (*types.AttributeValueMemberB)(nil),
		"bytes, sealed":   record.SealedResult((*types.AttributeValueMemberB)(nil)),
		"a null":          (*types.AttributeValueMemberNULL)(nil),
		"a null, sealed":  record.SealedResult((*types.AttributeValueMemberNULL)(nil)),
		"a text":          (*types.AttributeValueMemberS)(nil),
		"a text in a map": &types.AttributeValueMemberM{Value: item{"sealed": (*types.AttributeValueMemberS)(nil)}},
	} {
		if record.IsResult(stored) {
			t.Errorf("%s: it counts as a result", name)
		}
	}
}

func TestAMapNamesAResultOnlyIfItHasANameAndADigest(t *testing.T) {
	t.Parallel()

	kept := func(member string, value types.AttributeValue) types.AttributeValue {
		entries := item{"name": text("n"), "len": number("1"), "sum": &types.AttributeValueMemberB{Value: make([]byte, 32)}}
		entries[member] = value

		return &types.AttributeValueMemberM{Value: entries}
	}

	if _, ok := record.KeptResultOf(kept("len", number("2"))); !ok {
		t.Error("a name, a length and a digest are not taken for a result")
	}

	for name, stored := range map[string]types.AttributeValue{
		"no name": kept("name", text("")), "a length that is a text": kept("len", text("one")),
		"a short digest": kept("sum", &types.AttributeValueMemberB{Value: make([]byte, 31)}),
	} {
		if kept, ok := record.KeptResultOf(stored); ok {
			t.Errorf("%s: it names the result %+v", name, kept)
		}
	}
}

func TestANilPointerIsNeitherATextNorANumber(t *testing.T) {
	t.Parallel()

	if got := record.TextOf((*types.AttributeValueMemberS)(nil)); got != "" {
		t.Errorf("got the text %q", got)
	}

	if n, ok := record.NumberOf((*types.AttributeValueMemberN)(nil)); ok {
		t.Errorf("got the number %d", n)
	}
}
