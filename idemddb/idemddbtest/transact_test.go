package idemddbtest_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

func TestAClientRequestTokenHoldsTenMinutes(t *testing.T) {
	t.Parallel()

	clock := idemddbtest.NewClock(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	db := openDB(t, &idemddbtest.Options{Now: clock.Now})
	add := func(by string) error {
		_, err := db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{
			ClientRequestToken: new("token"),
			TransactItems: []types.TransactWriteItem{{Update: &types.Update{
				TableName: new(table), Key: attributes{"pk": s("x")}, UpdateExpression: new("ADD n :by"), ExpressionAttributeValues: attributes{":by": n(by)},
			}}},
		})

		return err
	}
	want := func(total string) {
		t.Helper()

		if got := db.Item(table, attributes{"pk": s("x")})["n"]; !reflect.DeepEqual(got, n(total)) {
			t.Errorf("got %s, want %s", show(got), total)
		}
	}

	for range 2 {
		if err := add("1"); err != nil {
			t.Fatal(err)
		}
	}

	want("1")

	if _, ok := errors.AsType[*types.IdempotentParameterMismatchException](add("2")); !ok {
		t.Error("another transaction under the same token was taken")
	}

	clock.Advance(10 * time.Minute)

	if err := add("1"); err != nil {
		t.Fatal(err)
	}

	want("2")
}

func TestATransactionAnswersAReasonForEachPart(t *testing.T) {
	t.Parallel()
	db := openDB(t, nil)
	put(t, db, attributes{"pk": s("x"), "a": n("1")})

	part := func(key, update string, rv types.ReturnValuesOnConditionCheckFailure) types.TransactWriteItem {
		return types.TransactWriteItem{Update: &types.Update{
			TableName: new(table), Key: attributes{"pk": s(key)}, UpdateExpression: &update, ConditionExpression: new("attribute_not_exists(a)"),
			ReturnValuesOnConditionCheckFailure: rv,
		}}
	}
	_, err := db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		part("new", "SET b = pk", ""), part("x", "SET b = pk", types.ReturnValuesOnConditionCheckFailureAllOld), part("other", "SET b = nosuch", ""),
	}})

	canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok || len(canceled.CancellationReasons) != 3 {
		t.Fatalf("got %v", err)
	}

	for i, want := range []string{"None", "ConditionalCheckFailed", "ValidationError"} {
		if got := *canceled.CancellationReasons[i].Code; got != want {
			t.Errorf("reason %d: got %s, want %s", i, got, want)
		}
	}

	if got, want := canceled.CancellationReasons[1].Item, db.Item(table, attributes{"pk": s("x")}); !reflect.DeepEqual(got, want) {
		t.Errorf("item: got %s, want %s", show(got), show(want))
	}

	if got := len(db.Items(table)); got != 1 {
		t.Errorf("got %d items: a canceled transaction wrote", got)
	}

	_, err = db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		part("new", "SET b = pk", ""), part("new", "SET a = pk", ""),
	}})
	if api, ok := errors.AsType[smithy.APIError](err); !ok || api.ErrorCode() != invalid {
		t.Errorf("two parts for one item: got %v", err)
	}
}

func TestAConflictCancelsATransaction(t *testing.T) {
	t.Parallel()
	db := openDB(t, nil)
	db.Inject(idemddbtest.TransactionConflict)
	_, err := db.Client().TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: &types.Put{TableName: new(table), Item: attributes{"pk": s("x")}}}, {Put: &types.Put{TableName: new(table), Item: attributes{"pk": s("y")}}},
	}})

	e, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok || *e.CancellationReasons[0].Code != "TransactionConflict" || *e.CancellationReasons[1].Code != "None" {
		t.Errorf("got %v", err)
	}
}
