package idemddb_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// counted is an effect that shows how often it has happened. It stands in the table of the records.
func counted(name string) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{
		TableName: new("records"), Key: map[string]types.AttributeValue{"pk": text("effect " + name)}, UpdateExpression: new("ADD n :one"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":one": number(1)},
	}}
}

// onlyOnce is an effect whose condition is false if it has happened.
func onlyOnce(name string) types.TransactWriteItem {
	it := counted(name)
	it.Update.ConditionExpression = new("attribute_not_exists(n)")

	return it
}

// putOf is an effect without a condition.
func putOf(pk, body string) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{
		TableName: new("records"), Item: map[string]types.AttributeValue{"pk": text(pk), "body": text(body)},
	}}
}

func items(all ...types.TransactWriteItem) idemddb.Effects { return idemddb.Effects{Items: all} }

// happened demands how often an effect has happened.
func happened(t testing.TB, db *idemddbtest.DB, name string, want int64) {
	t.Helper()

	var got int64
	if it := db.Item("records", map[string]types.AttributeValue{"pk": text("effect " + name)}); it != nil {
		got = numberOf(t, it, "n")
	}

	if got != want {
		t.Errorf("effect %s happened %d times, want %d", name, got, want)
	}
}

// recordOf is the record of a key; nil if there is none.
func recordOf(db *idemddbtest.DB, key string) map[string]types.AttributeValue {
	return db.Item("records", map[string]types.AttributeValue{"pk": text("test#" + key)})
}

// optimistic are the options of Do without a claim.
var optimistic = &idemddb.ClaimOptions{Optimistic: true}

// permanentError is one that no retry mends.
type permanentError struct{ error }

func (permanentError) Permanent() bool { return true }

// passingError is one that says that a retry may mend it.
type passingError struct{ error }

func (passingError) Permanent() bool { return false }
