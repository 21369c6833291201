package idemddb_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// The benchmarks compare this package with the same SDK calls without it, on the SDK's client over the in-memory engine. Compare
// the pairs of one run.

func benchDB(b *testing.B) (*idemddbtest.DB, *dynamodb.Client) {
	b.Helper()

	db := idemddbtest.New(nil)
	if _, err := db.CreateTable(b.Context(), idemddbtest.CreateTable("records", "")); err != nil {
		b.Fatal(err)
	}

	return db, db.Client()
}

// benchStore returns a Store with the defaults, and its table, whose requests count from now on.
func benchStore(b *testing.B) (*idemddbtest.DB, *idemddb.Store) {
	b.Helper()

	db, client := benchDB(b)

	s, err := idemddb.New(client, "records", "bench", nil)
	if err != nil {
		b.Fatal(err)
	}

	db.ResetRequests()

	return db, s
}

// report adds what DynamoDB was asked for.
func report(b *testing.B, db *idemddbtest.DB, loops int) {
	b.Helper()

	requests, units := db.Requests(), 0
	for _, r := range requests {
		units += r.WriteUnits
	}

	b.ReportMetric(float64(len(requests))/float64(loops), "requests/op")
	b.ReportMetric(float64(units)/float64(loops), "WU/op")
	b.ReportAllocs()
}

func BenchmarkFirstRun(b *testing.B) {
	b.Run("idemddb", func(b *testing.B) {
		db, s := benchStore(b)

		n := 0
		for b.Loop() {
			n++

			c, rec, err := s.Claim(b.Context(), strconv.Itoa(n), nil)
			if c == nil {
				b.Fatal("no claim:", rec, err)
			}

			if err := c.Complete(b.Context(), nil); err != nil {
				b.Fatal(err)
			}
		}

		report(b, db, n)
	})
	b.Run("SDK calls", func(b *testing.B) {
		db, client := benchDB(b)
		db.ResetRequests()

		n := 0
		for b.Loop() {
			n++
			token := rand.Text()

			out, err := client.UpdateItem(b.Context(), claimWithSDK(strconv.Itoa(n), token))
			if err != nil || len(out.Attributes) != 0 {
				b.Fatal(out, err)
			}

			if _, err := client.UpdateItem(b.Context(), completeWithSDK(strconv.Itoa(n), token)); err != nil {
				b.Fatal(err)
			}
		}

		report(b, db, n)
	})
}

// BenchmarkDo shows what it costs to keep the value of the work, beside BenchmarkFirstRun.
func BenchmarkDo(b *testing.B) {
	lines := make([]string, 1000)
	for i := range lines {
		lines[i] = "line " + strconv.Itoa(i)
	}

	for _, value := range []receipt{{ID: 7, Text: "paid"}, {ID: 7, Text: "paid", Lines: lines}} {
		b.Run(strconv.Itoa(len(value.Lines))+" lines", func(b *testing.B) {
			db, s := benchStore(b)

			n := 0
			for b.Loop() {
				n++

				if _, err := idemddb.Do(b.Context(), s, strconv.Itoa(n), nil, func(context.Context) (receipt, error) { return value, nil }); err != nil {
					b.Fatal(err)
				}
			}

			report(b, db, n)
		})
	}
}

func BenchmarkDuplicate(b *testing.B) {
	b.Run("idemddb", func(b *testing.B) {
		db, client := benchDB(b)

		s, err := idemddb.New(client, "records", "bench", nil)
		if err != nil {
			b.Fatal(err)
		}

		c, rec, err := s.Claim(b.Context(), "k", nil)
		if c == nil {
			b.Fatal("no claim:", rec, err)
		}

		if err := c.Complete(b.Context(), nil); err != nil {
			b.Fatal(err)
		}

		db.ResetRequests()

		n := 0
		for b.Loop() {
			n++

			if _, rec, err := s.Claim(b.Context(), "k", nil); rec == nil {
				b.Fatal(err)
			}
		}

		report(b, db, n)
	})
	b.Run("SDK calls", func(b *testing.B) {
		db, client := benchDB(b)
		if _, err := client.UpdateItem(b.Context(), claimWithSDK("k", "t")); err != nil {
			b.Fatal(err)
		}

		if _, err := client.UpdateItem(b.Context(), completeWithSDK("k", "t")); err != nil {
			b.Fatal(err)
		}

		db.ResetRequests()

		n := 0
		for b.Loop() {
			n++
			_, err := client.UpdateItem(b.Context(), claimWithSDK("k", rand.Text()))

			refusal, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
			if !ok {
				b.Fatal(err)
			}

			if state, ok := refusal.Item["st"].(*types.AttributeValueMemberS); !ok || state.Value != "COMPLETED" {
				b.Fatal(refusal.Item)
			}
		}

		report(b, db, n)
	})
}

// BenchmarkBatch is a batch of ten: claims at once, and completions at once.
func BenchmarkBatch(b *testing.B) {
	const size = 10

	b.Run("idemddb", func(b *testing.B) {
		db, s := benchStore(b)

		n := 0
		for b.Loop() {
			n++

			var all sync.WaitGroup

			batch := s.Batch()
			batch.Expect(size)

			for i := range size {
				all.Go(func() {
					c, rec, err := batch.Claim(b.Context(), fmt.Sprint(n, "-", i), nil)
					if c == nil {
						b.Error("no claim:", rec, err)

						return
					}

					if err := c.Complete(b.Context(), nil); err != nil {
						b.Error(err)
					}
				})
			}

			all.Wait()
		}

		report(b, db, n)
	})
	b.Run("SDK calls", func(b *testing.B) {
		db, client := benchDB(b)
		db.ResetRequests()

		send := func(statements []types.BatchStatementRequest) {
			out, err := client.BatchExecuteStatement(b.Context(), &dynamodb.BatchExecuteStatementInput{Statements: statements})
			if err != nil {
				b.Fatal(err)
			}

			for _, r := range out.Responses {
				if r.Error != nil {
					b.Fatal(*r.Error.Message)
				}
			}
		}

		n := 0
		for b.Loop() {
			n++

			var claims, completions []types.BatchStatementRequest

			for i := range size {
				key, token := fmt.Sprint(n, "-", i), rand.Text()
				claims = append(claims, insertWithSDK(key, token))
				completions = append(completions, completeStatementWithSDK(key, token))
			}

			send(claims)
			send(completions)
		}

		report(b, db, n)
	})
}

func insertWithSDK(key, token string) types.BatchStatementRequest {
	now := time.Now()

	return types.BatchStatementRequest{
		Statement: new(`INSERT INTO "records" VALUE {'pk': ?, 'exp': ?, 'v': ?, 'st': ?, 'own': ?, 'fence': ?, 'prev': ?,` +
			` 'lease': ?, 'att': ?, 'born': ?}`),
		Parameters: []types.AttributeValue{
			text("bench#" + key), number(now.Unix() + 7*24*60*60), number(1), text("INPROGRESS"), text(token),
			number(now.UnixMilli() + 1), number(0), number(now.UnixMilli() + 30_000), number(1), number(now.UnixMilli()),
		},
	}
}

func completeStatementWithSDK(key, token string) types.BatchStatementRequest {
	now := time.Now()

	return types.BatchStatementRequest{
		Statement: new(`UPDATE "records" SET st = ? SET done = ? SET exp = ? REMOVE err` +
			` WHERE pk = ? AND own = ? AND fence > ? AND st = ? AND lease > ?`),
		Parameters: []types.AttributeValue{
			text("COMPLETED"), number(now.UnixMilli()), number(now.Unix() + 7*24*60*60),
			text("bench#" + key), text(token), number(0), text("INPROGRESS"), number(0),
		},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// claimWithSDK and completeWithSDK are what a careful user would send: the same conditions and attributes.
func claimWithSDK(key, token string) *dynamodb.UpdateItemInput {
	now := time.Now()

	return &dynamodb.UpdateItemInput{
		TableName: new("records"),
		Key:       map[string]types.AttributeValue{"pk": text("bench#" + key)},
		ConditionExpression: new("attribute_not_exists(#pk) OR (v = :v AND st = :inprogress AND lease < :dead AND #exp > :nowsec" +
			" AND own <> :mine)"),
		UpdateExpression: new("SET v = :v, st = :inprogress, own = :mine, fence = if_not_exists(fence, :nowms) + :one," +
			" prev = if_not_exists(lease, :zero), lease = :lease, #exp = :exp, att = if_not_exists(att, :zero) + :one," +
			" born = if_not_exists(born, :nowms) REMOVE fp"),
		ExpressionAttributeNames: map[string]string{"#pk": "pk", "#exp": "exp"},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":v": number(1), ":inprogress": text("INPROGRESS"), ":zero": number(0), ":one": number(1), ":mine": text(token),
			":nowms": number(now.UnixMilli()), ":nowsec": number(now.Unix()), ":dead": number(now.UnixMilli() - 1000),
			":lease": number(now.UnixMilli() + 30_000), ":exp": number(now.Unix() + 7*24*60*60),
		},
		ReturnValues:                        types.ReturnValueAllOld,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

func completeWithSDK(key, token string) *dynamodb.UpdateItemInput {
	now := time.Now()

	return &dynamodb.UpdateItemInput{
		TableName:                new("records"),
		Key:                      map[string]types.AttributeValue{"pk": text("bench#" + key)},
		ConditionExpression:      new("own = :mine AND fence > :zero AND st = :inprogress AND lease > :zero"),
		UpdateExpression:         new("SET st = :completed, done = :nowms, #exp = :exp REMOVE err"),
		ExpressionAttributeNames: map[string]string{"#exp": "exp"},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":mine": text(token), ":zero": number(0), ":inprogress": text("INPROGRESS"), ":completed": text("COMPLETED"),
			":nowms": number(now.UnixMilli()), ":exp": number(now.Unix() + 7*24*60*60),
		},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}
