package idemddb_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
)

// DynamoDB takes 1 and 1.0 for one key, so that both additions are to one item.
func TestAdditionsToOneNumberAreSummedHoweverItIsWritten(t *testing.T) {
	t.Parallel()

	s, db := newStore(t, nil)

	_, err := db.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: new("accounts"), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: new("id"), AttributeType: types.ScalarAttributeTypeN}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: new("id"), KeyType: types.KeyTypeHash}},
	})
	must(t, err)

	key := func(number string) map[string]types.AttributeValue {
		return map[string]types.AttributeValue{"id": &types.AttributeValueMemberN{Value: number}}
	}

	var e idemddb.Effects
	for _, number := range []string{"1", "1.0", "1e0"} {
		e.Adds = append(e.Adds, idemddb.Add{
			Table: "accounts", Key: key(number), Values: map[string]types.AttributeValue{"sum": &types.AttributeValueMemberN{Value: "5"}},
		})
	}

	_, err = s.Commit(t.Context(), "k", nil, nil, e)
	must(t, err)

	if got, ok := db.Item("accounts", key("1"))["sum"].(*types.AttributeValueMemberN); !ok || got.Value != "15" {
		t.Errorf("got %v, want 15", got)
	}
}
