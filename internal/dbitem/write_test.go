package dbitem_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/dbitem"
)

func TestTheSizeOfAWriteIsThatOfItsKeyAndItsValues(t *testing.T) {
	t.Parallel()

	item := update("t", text("abc"), number("1250")) // 2+3 and 2+3 bytes
	item.Update.ExpressionAttributeValues = map[string]types.AttributeValue{
		":l": &types.AttributeValueMemberL{Value: []types.AttributeValue{text("a"), binary("bc")}},          // 2+3, 1+1 and 2+1
		":m": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"name": number("12.50")}}, // 2+3, and 4+3+1
	}

	if got := dbitem.WriteSize(item, item); got != 2*(10+10+13) {
		t.Errorf("got %d bytes, want %d", got, 2*(10+10+13))
	}
}

func TestWhatDynamoDBWouldRefuseIsAnError(t *testing.T) {
	t.Parallel()

	largest := strings.Repeat("x", dbitem.MaxSize-len("pk"+"sk"+"a"))

	for name, c := range map[string]struct {
		item types.TransactWriteItem
		want string // "" for none
	}{
		"the largest item":     {update("t", text("a"), text(largest)), ""},
		"a larger one":         {update("t", text("a"), text(largest+"x")), "it has 409601 bytes, an item holds 409600"},
		"no write":             {types.TransactWriteItem{}, "it must be one of Put, Update, Delete and ConditionCheck, is 0 of them"},
		"no table":             {update("", text("a"), text("b")), "its TableName is empty"},
		"a put of nothing":     {types.TransactWriteItem{Put: &types.Put{TableName: new("t")}}, "its item is empty"},
		"a delete of no key":   {types.TransactWriteItem{Delete: &types.Delete{TableName: new("t")}}, "its key is empty"},
		"an update of nothing": {types.TransactWriteItem{Update: &types.Update{TableName: new("t"), Key: map[string]types.AttributeValue{"pk": text("a")}}}, "its UpdateExpression is empty"},
		"a check of nothing": {
			types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{TableName: new("t"), Key: map[string]types.AttributeValue{"pk": text("a")}}}, "its ConditionExpression is empty",
		},
	} {
		if err := dbitem.CheckWrite(c.item); (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}
