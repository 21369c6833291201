package idemddbtest_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// This is the second test that docs/testing.md shows: a conflict at a chosen point.

func TestTheCompletionMeetsAnotherTransaction(t *testing.T) {
	db := idemddbtest.New(nil)
	if _, err := db.CreateTable(t.Context(), idemddbtest.CreateTable("records", "")); err != nil {
		t.Fatal(err)
	}

	store, err := idemddb.New(db, "records", "payments", nil)
	if err != nil {
		t.Fatal(err)
	}

	claim, record, err := store.Claim(t.Context(), "p-1", nil)
	if err != nil || record != nil {
		t.Fatal(record, err)
	}

	other, err := db.Begin(&dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{
		ConditionCheck: &types.ConditionCheck{
			TableName: new("records"), Key: recordKey("p-1"), ConditionExpression: new("attribute_exists(pk)"),
		},
	}}})
	if err != nil {
		t.Fatal(err)
	}

	sent := 0

	db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
		if sent++; sent == 3 { // the conflict has met the completion and its first repetition
			other.Commit()
		}

		return idemddbtest.None
	})

	if err := claim.Complete(t.Context(), nil); err != nil {
		t.Errorf("got %v, want the completion tried again until the other transaction has ended", err)
	}
}
