package main

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
)

// What a write costs is what the service says; for a refusal it says nothing, and the item in its way is measured.
func TestMeterCountsEveryWrite(t *testing.T) {
	t.Parallel()

	e, err := open(t.Context(), "memory")
	if err != nil {
		t.Fatal(err)
	}

	m := &meter{api: e.client, records: e.records}
	long := item{
		"pk": &types.AttributeValueMemberS{Value: "k"}, "st": &types.AttributeValueMemberS{Value: "COMPLETED"},
		"own": &types.AttributeValueMemberS{Value: "call-1/x"}, "res": &types.AttributeValueMemberB{Value: make([]byte, 2000)},
	}
	put := &dynamodb.PutItemInput{
		TableName: &e.records, Item: long, ConditionExpression: new("attribute_not_exists(pk)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}

	_, errNew := m.PutItem(t.Context(), put)
	_, errAgain := m.PutItem(t.Context(), put)
	_, errBoth := m.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{
		TransactItems: []types.TransactWriteItem{{Put: &types.Put{TableName: &e.ledger, Item: long}}},
	})

	if errNew != nil || errAgain == nil || errBoth != nil {
		t.Fatal(errNew, errAgain, errBoth)
	}

	want := []request{
		{table: "records", operation: "PutItem", purpose: "claim", key: "k", outcome: "won: a new key", applied: true, units: 2},
		{table: "records", operation: "PutItem", purpose: "claim", key: "k", outcome: "refused: COMPLETED by call-1", units: 2},
		{table: "records", operation: "TransactWriteItems", purpose: "complete", outcome: "written", applied: true, units: 4},
	}
	if diff := cmp.Diff(want, m.take(), cmp.AllowUnexported(request{})); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}

	if put.ReturnConsumedCapacity != "" {
		t.Error("the caller's input was changed")
	}
}
