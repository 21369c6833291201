package idemddbtest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

func TestEveryChangeOfAnItemIsSeenAndNothingElse(t *testing.T) {
	t.Parallel()

	clock := idemddbtest.NewClock(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	db := openDB(t, &idemddbtest.Options{Now: clock.Now})
	key := attributes{"pk": s("k")}
	update := func(expression string, values attributes) *dynamodb.UpdateItemInput {
		return &dynamodb.UpdateItemInput{
			TableName: new(table), Key: key, UpdateExpression: &expression, ExpressionAttributeValues: values,
		}
	}
	refused := update("SET a = :a", attributes{":a": n("9")})
	refused.ConditionExpression = new("attribute_not_exists(pk)")

	if _, err := db.UpdateTimeToLive(t.Context(), timeToLive()); err != nil {
		t.Fatal(err)
	}

	for _, c := range []struct {
		name string
		do   func() error
		want string
	}{
		{"a put of a new item", func() error { put(t, db, attributes{"pk": s("k"), "a": n("1")}); return nil }, "k: none → 1"},
		{"an update that leaves the item as it was", func() error {
			return errorOf(db.UpdateItem(t.Context(), update("SET a = :a", attributes{":a": n("1")})))
		}, ""},
		{"an update that is refused", func() error {
			if _, err := db.UpdateItem(t.Context(), refused); err == nil {
				t.Error("the condition is true")
			}

			return nil
		}, ""},
		{"an update", func() error {
			return errorOf(db.UpdateItem(t.Context(), update("SET a = :a", attributes{":a": n("2")})))
		}, "k: 1 → 2"},
		{"a statement", func() error {
			return errorOf(db.BatchExecuteStatement(t.Context(), &dynamodb.BatchExecuteStatementInput{Statements: []types.BatchStatementRequest{{
				Statement: new(`UPDATE "` + table + `" SET a = 3 WHERE pk = 'k'`),
			}}}))
		}, "k: 2 → 3"},
		{"a transaction", func() error {
			return errorOf(db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
				{Put: &types.Put{TableName: new(table), Item: attributes{"pk": s("k"), "a": n("4")}}},
				{Put: &types.Put{TableName: new(table), Item: attributes{"pk": s("l"), "a": n("5"), "exp": n(fmt.Sprint(clock.Now().Unix()))}}},
			}}))
		}, "k: 3 → 4, l: none → 5"},
		{"Time to Live", func() error { clock.Advance(time.Hour); db.Expire(); return nil }, "l: 5 → none by Time to Live"},
		{"a deletion", func() error {
			return errorOf(db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: new(table), Key: key}))
		}, "k: 4 → none"},
		{"a deletion of what is not there", func() error {
			return errorOf(db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: new(table), Key: key}))
		}, ""},
		{"a put that nobody sees any more", func() error { db.OnChange(nil); put(t, db, attributes{"pk": s("k")}); return nil }, ""},
	} {
		got := ""

		db.OnChange(func(change idemddbtest.Change) {
			if got != "" {
				got += ", "
			}

			got += describeChange(change)

			if change.Table != table || !change.Time.Equal(clock.Now()) {
				t.Errorf("%s: got table %q at %v", c.name, change.Table, change.Time)
			}

			delete(change.After, "a") // a copy
		})

		if err := c.do(); err != nil {
			t.Fatal(c.name, err)
		}

		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func errorOf[T any](_ T, err error) error { return err }

// describeChange shows the attribute a of both images.
func describeChange(change idemddbtest.Change) string {
	a := func(it attributes) string {
		if number, ok := it["a"].(*types.AttributeValueMemberN); ok {
			return number.Value
		}

		return "none"
	}

	key := change.Before
	if key == nil {
		key = change.After
	}

	pk, _ := key["pk"].(*types.AttributeValueMemberS)
	text := fmt.Sprintf("%s: %s → %s", pk.Value, a(change.Before), a(change.After))

	if change.ByTimeToLive {
		text += " by Time to Live"
	}

	return text
}
