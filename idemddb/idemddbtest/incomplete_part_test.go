package idemddbtest_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// The SDK's client does not even send a part without a required expression, so that only the methods of DB get one.
func TestAPartWithoutItsExpressionIsNotValid(t *testing.T) {
	t.Parallel()

	db := idemddbtest.New(nil)
	createTable(t, db, "records", "pk", "S")

	key := attributes{"pk": s("a")}
	for _, part := range []types.TransactWriteItem{
		{Update: &types.Update{TableName: new("records"), Key: key}},
		{ConditionCheck: &types.ConditionCheck{TableName: new("records"), Key: key}},
	} {
		_, err := db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{part}})
		if code(err) != invalid || db.Item("records", key) != nil {
			t.Errorf("got %v and the item %v, want %s and none", err, db.Item("records", key), invalid)
		}
	}
}
