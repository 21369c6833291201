package main

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
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

// Statements are shown by key, and measured by what they write, find or meet.
func TestMeterCountsEveryStatement(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		e, err := open(t.Context(), "memory")
		if err != nil {
			t.Fatal(err)
		}

		m := &meter{api: e.client, records: e.records}
		ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "call-1"})
		clock := idemddbtest.NewClock(time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC))

		store, err := idemddb.New(m, e.records, "t", &idemddb.Options{Now: clock.Now})
		if err != nil {
			t.Fatal(err)
		}

		group := store.Group()
		claim := func(redelivered bool, keys ...string) []idemddb.ClaimAnswer {
			asked := make([]idemddb.ClaimRequest, len(keys))
			for i, key := range keys {
				asked[i] = idemddb.ClaimRequest{Key: key, Redelivered: redelivered}
			}

			return group.Claim(ctx, asked)
		}
		statement := func(operation, purpose, key, outcome string, units float64) request {
			return request{
				operation: operation, purpose: purpose, key: "t#" + key, outcome: outcome, units: units,
				applied: outcome == "written" || strings.HasPrefix(outcome, "won: "),
			}
		}
		expect := func(name string, calls ...[]request) {
			t.Helper()

			var want []request

			for _, parts := range calls {
				call := request{table: "records", operation: "BatchExecuteStatement", applied: true, parts: parts}
				for _, part := range parts {
					call.units += part.units
				}

				want = append(want, call)
			}

			if diff := cmp.Diff(want, m.take(), cmp.AllowUnexported(request{})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}

		won := claim(false, "d", "c", "b", "a")
		expect("new keys", []request{
			statement("INSERT", "claim", "a", "won: a new key", 1), statement("INSERT", "claim", "b", "won: a new key", 1),
			statement("INSERT", "claim", "c", "won: a new key", 1), statement("INSERT", "claim", "d", "won: a new key", 1),
		})

		clock.Advance(time.Second)

		var writes sync.WaitGroup

		writes.Go(func() { _ = won[0].Claim.Release(ctx, errors.New("no")) })
		writes.Go(func() { _ = won[1].Claim.Extend(ctx) })
		writes.Go(func() { _ = won[2].Claim.Fail(ctx, errors.New("no")) })
		writes.Go(func() { _ = won[3].Claim.Complete(ctx, make([]byte, 2000)) })
		writes.Wait()
		expect("after the work", []request{
			statement("UPDATE", "complete", "a", "written", 3), statement("UPDATE", "fail", "b", "written", 1),
			statement("UPDATE", "extend", "c", "written", 1), statement("UPDATE", "release", "d", "written", 1),
		})

		clock.Advance(32 * time.Second)
		claim(true, "a", "b", "c", "d", "e")
		expect("again", []request{
			statement("UPDATE", "claim", "a", "refused: COMPLETED by call-1", 3), statement("UPDATE", "claim", "b", "refused: FAILED by call-1", 1),
			statement("UPDATE", "claim", "c", "won: takeover from call-1", 1), statement("UPDATE", "claim", "d", "won: it was released", 1),
			statement("UPDATE", "claim", "e", "refused: no record", 1),
		}, []request{statement("INSERT", "claim", "e", "won: a new key", 1)})

		claim(false, "a", "f")
		expect("sent twice", []request{
			statement("INSERT", "claim", "a", "refused: there is a record", 1), statement("INSERT", "claim", "f", "won: a new key", 1),
		}, []request{statement("UPDATE", "claim", "a", "refused: COMPLETED by call-1", 3)})
	})
}
