package idemddbtest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// claimInput is the update of a claim, with ten attributes.
func claimInput() *dynamodb.UpdateItemInput {
	return &dynamodb.UpdateItemInput{
		TableName: new(table), Key: attributes{"pk": s("namespace#key")}, ReturnValues: types.ReturnValueAllOld,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		ConditionExpression:                 new(claimCondition), UpdateExpression: new(claimUpdate),
		ExpressionAttributeNames: map[string]string{"#exp": "exp"},
		ExpressionAttributeValues: attributes{
			":v": n("1"), ":inprogress": s("INPROGRESS"), ":before": n("1700000000000"), ":nowsec": n("0"), ":mine": s("request-id/random"), ":fp": s("1:a"), ":fpver": s("1:"),
			":max": n("1000000000"), ":now": n("1700000000000"), ":one": n("1"), ":until": n("1600000000000"), ":exp": n("1800000000"), ":zero": n("0"),
		},
	}
}

func BenchmarkUpdateItem(b *testing.B) {
	benchmarkUpdate(b, func(db *idemddbtest.DB) updater { return db })
}

func BenchmarkClientUpdateItem(b *testing.B) {
	benchmarkUpdate(b, func(db *idemddbtest.DB) updater { return db.Client() })
}

type updater interface {
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
}

func benchmarkUpdate(b *testing.B, open func(*idemddbtest.DB) updater) {
	b.Helper()
	b.ReportAllocs()
	db := openDB(b, nil)
	c, in := open(db), claimInput()
	mine := [2]types.AttributeValue{s("a"), s("b")}

	for i := 0; b.Loop(); i++ {
		db.ResetRequests() // the log would grow with each iteration

		in.ExpressionAttributeValues[":mine"] = mine[i%2]
		if _, err := c.UpdateItem(b.Context(), in); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStatements is 25 claims of one call: parsed once, applied each time.
func BenchmarkStatements(b *testing.B) {
	db := openDB(b, nil)

	var statements []types.BatchStatementRequest

	for i := range 25 {
		put(b, db, attributes{"pk": n0(i), "v": n("1"), "fence": n("1"), "lease": n("0"), "st": s("INPROGRESS")})
		statements = append(statements, types.BatchStatementRequest{
			Statement:  new(`UPDATE "tab" SET "v" = ? SET "fence" = "fence" + ? SET "prev" = "lease" REMOVE "fp" REMOVE "err" WHERE "pk" = ? AND ("v" = ? AND "st" = ? AND "lease" < ? AND ("fp" IS MISSING OR "fp" = ?)) RETURNING ALL OLD *`),
			Parameters: list(n("1"), n("1"), n0(i), n("1"), s("INPROGRESS"), n("5"), s("one")),
		})
	}

	for b.Loop() {
		db.ResetRequests() // the log would grow with each iteration

		if got, err := execute(b.Context(), db, statements...); err != nil || got[24].Code != "" {
			b.Fatal(show(got), err)
		}
	}
}

func n0(i int) types.AttributeValue { return s(fmt.Sprint("key-", i)) }
