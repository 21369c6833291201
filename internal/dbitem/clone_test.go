package dbitem_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/idemddb/go-idemddb/internal/dbitem"
)

// everything has a value of each type, and makes it anew with each call.
func everything() map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"s": &types.AttributeValueMemberS{Value: "a"}, "n": &types.AttributeValueMemberN{Value: "1"},
		"b": &types.AttributeValueMemberB{Value: []byte("a")}, "empty": &types.AttributeValueMemberB{Value: []byte{}},
		"bool": &types.AttributeValueMemberBOOL{Value: true}, "null": &types.AttributeValueMemberNULL{Value: true},
		"ss": &types.AttributeValueMemberSS{Value: []string{"a"}}, "ns": &types.AttributeValueMemberNS{Value: []string{"1"}},
		"bs": &types.AttributeValueMemberBS{Value: [][]byte{[]byte("a")}},
		"m": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{
			"l": &types.AttributeValueMemberL{Value: []types.AttributeValue{&types.AttributeValueMemberB{Value: []byte("a")}}},
		}},
	}
}

func TestACopyIsEqualAndSharesNothing(t *testing.T) {
	t.Parallel()

	from := everything()
	to := dbitem.Clone(from)

	scribble(&types.AttributeValueMemberM{Value: from})

	if diff := cmp.Diff(everything(), to, cmpopts.IgnoreUnexported(
		types.AttributeValueMemberS{}, types.AttributeValueMemberN{}, types.AttributeValueMemberB{}, types.AttributeValueMemberBOOL{},
		types.AttributeValueMemberNULL{}, types.AttributeValueMemberSS{}, types.AttributeValueMemberNS{}, types.AttributeValueMemberBS{},
		types.AttributeValueMemberM{}, types.AttributeValueMemberL{},
	)); diff != "" {
		t.Errorf("the copy changed with the original (-want +got):\n%s", diff)
	}
}

func TestNothingStaysNothingAndAnEmptyBinaryValueStaysOne(t *testing.T) {
	t.Parallel()

	if got := dbitem.Clone(nil); got != nil {
		t.Errorf("got %v of no item", got)
	}

	if got := dbitem.CloneBytes(nil); got == nil {
		t.Error("got no bytes of an empty binary value")
	}
}

// scribble changes all that a value holds.
func scribble(v types.AttributeValue) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		v.Value = "changed"
	case *types.AttributeValueMemberN:
		v.Value = "2"
	case *types.AttributeValueMemberB:
		clear(v.Value)
	case *types.AttributeValueMemberBOOL:
		v.Value = false
	case *types.AttributeValueMemberNULL:
		v.Value = false
	case *types.AttributeValueMemberSS:
		clear(v.Value)
	case *types.AttributeValueMemberNS:
		clear(v.Value)
	case *types.AttributeValueMemberBS:
		for _, b := range v.Value {
			clear(b)
		}
	case *types.AttributeValueMemberL:
		for _, element := range v.Value {
			scribble(element)
		}
	case *types.AttributeValueMemberM:
		for _, element := range v.Value {
			scribble(element)
		}

		clear(v.Value)
	}
}
