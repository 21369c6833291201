package dbitem_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/dbitem"
)

func TestACopyOfEachKindAsksForTheOldItemAndSharesNothing(t *testing.T) {
	t.Parallel()

	table, expression := "t", "e"
	key, values, names := map[string]types.AttributeValue{"pk": text("a")}, map[string]types.AttributeValue{":v": text("b")}, map[string]string{"#a": "a"}

	copies := dbitem.CopyWrites([]types.TransactWriteItem{
		{Put: &types.Put{
			TableName: &table, Item: key, ConditionExpression: &expression, ExpressionAttributeNames: names, ExpressionAttributeValues: values,
		}},
		{Update: &types.Update{
			TableName: &table, Key: key, ConditionExpression: &expression, UpdateExpression: &expression,
			ExpressionAttributeNames: names, ExpressionAttributeValues: values,
		}},
		{Delete: &types.Delete{
			TableName: &table, Key: key, ConditionExpression: &expression, ExpressionAttributeNames: names, ExpressionAttributeValues: values,
		}},
		{ConditionCheck: &types.ConditionCheck{
			TableName: &table, Key: key, ConditionExpression: &expression, ExpressionAttributeNames: names, ExpressionAttributeValues: values,
		}},
	})
	before := shown(t, copies)

	for name, n := range map[string]int{"ALL_OLD": 4, `"t"`: 4, `"e"`: 5, `"pk":{"Value":"a"}`: 4, `":v":{"Value":"b"}`: 4, `"#a":"a"`: 4} {
		if got := strings.Count(before, name); got != n {
			t.Errorf("%s stands %d times in the copies, want %d: %s", name, got, n, before)
		}
	}

	table, expression = "changed", "changed"

	clear(key)
	clear(values)
	clear(names)

	if after := shown(t, copies); after != before {
		t.Errorf("the copies changed with the originals: %s", after)
	}
}

func shown(t *testing.T, items []types.TransactWriteItem) string {
	t.Helper()

	text, err := json.Marshal(items)
	if err != nil {
		t.Fatal(err)
	}

	return string(text)
}
