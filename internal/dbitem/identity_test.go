package dbitem_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/dbitem"
)

func text(s string) types.AttributeValue   { return &types.AttributeValueMemberS{Value: s} }
func number(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }
func binary(s string) types.AttributeValue { return &types.AttributeValueMemberB{Value: []byte(s)} }

func update(table string, pk, sk types.AttributeValue) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{
		TableName: &table, Key: map[string]types.AttributeValue{"pk": pk, "sk": sk}, UpdateExpression: new("ADD n :n"),
	}}
}

func put(table string, pk, sk types.AttributeValue) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{
		TableName: &table, Item: map[string]types.AttributeValue{"pk": pk, "sk": sk, "balance": number("1")},
	}}
}

func TestTheSameItemHasOneIdentityAndNoOtherItemHasIt(t *testing.T) {
	t.Parallel()

	const arn = "arn:aws:dynamodb:eu-central-1:123456789012:table/t"

	item := update("t", text("a"), number("1"))

	for name, c := range map[string]struct {
		other  types.TransactWriteItem
		isSame bool
	}{
		"an update":                {update("t", text("a"), number("1")), true},
		"a put":                    {put("t", text("a"), number("1")), true},
		"by the ARN of the table":  {update(arn, text("a"), number("1")), true},
		"a delete":                 {types.TransactWriteItem{Delete: &types.Delete{TableName: new("t"), Key: item.Update.Key}}, true},
		"a check":                  {types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{TableName: new("t"), Key: item.Update.Key}}, true},
		"a number with a fraction": {update("t", text("a"), number("1.0")), true},
		"a number with zeros":      {put("t", text("a"), number("+0010e-1")), true},
		"ten times the number":     {update("t", text("a"), number("10")), false},
		"no number":                {update("t", text("a"), number("1x")), false},
		"another table":            {update("t2", text("a"), number("1")), false},
		"another partition key":    {update("t", text("b"), number("1")), false},
		"another sort key":         {put("t", text("a"), number("2")), false},
		"a key of another type":    {update("t", binary("a"), text("1")), false},
		"the parts of a key moved": {update("t", text(`a";"sk":1`), number("")), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			ids := dbitem.Identities([]types.TransactWriteItem{c.other, item})
			if got := ids[0] == ids[1]; got != c.isSame || ids[0] == "" || ids[1] == "" {
				t.Errorf("got %q", ids)
			}
		})
	}
}

func TestBinaryKeysHaveTheirOwnIdentities(t *testing.T) {
	t.Parallel()

	ids := dbitem.Identities([]types.TransactWriteItem{update("t", binary("a"), number("1")), update("t", binary("b"), number("1"))})
	if ids[0] == ids[1] {
		t.Errorf("got %q", ids)
	}
}

func TestAPutHasNoIdentityIfNothingNamesTheKeyOfItsTable(t *testing.T) {
	t.Parallel()

	ids := dbitem.Identities([]types.TransactWriteItem{put("t", text("a"), number("1")), update("other", text("a"), number("1"))})
	if ids[0] != "" || ids[1] == "" {
		t.Errorf("got %q", ids)
	}
}
