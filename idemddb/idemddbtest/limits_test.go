package idemddbtest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// limited returns a DB with a table whose index has the partition key "due".
func limited(t *testing.T, limits idemddbtest.Limits) *idemddbtest.DB {
	t.Helper()

	db := idemddbtest.New(&idemddbtest.Options{Limits: limits})
	in := idemddbtest.CreateTable("table", "")
	in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: new("due"), AttributeType: types.ScalarAttributeTypeS})
	in.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{{
		IndexName: new("unsent"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		KeySchema: []types.KeySchemaElement{{AttributeName: new("due"), KeyType: types.KeyTypeHash}},
	}}

	if _, err := db.CreateTable(t.Context(), in); err != nil {
		t.Fatal(err)
	}

	return db
}

// putDue puts an item, which is in a partition of the index if due is not empty.
func putDue(t *testing.T, db *idemddbtest.DB, pk, due string) error {
	t.Helper()

	it := attributes{"pk": s(pk)}
	if due != "" {
		it["due"] = s(due)
	}

	_, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: new("table"), Item: it})

	return err
}

// throttled demands that a write was throttled, or was not if the reason is empty.
func throttled(t *testing.T, err error, reason string) {
	t.Helper()

	e, isThrottled := errors.AsType[*types.ProvisionedThroughputExceededException](err)

	switch {
	case reason == "" && err != nil:
		t.Error(err)
	case reason != "" && (!isThrottled || len(e.ThrottlingReasons) != 1 || *e.ThrottlingReasons[0].Reason != reason):
		t.Errorf("got %v, want %s", err, reason)
	}
}

func TestAPartitionTakesItsUnitsInEachSecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := limited(t, idemddbtest.Limits{WriteUnits: 3})

		for second := range 2 {
			for i := range 5 {
				want := map[bool]string{true: "TableWriteKeyRangeThroughputExceeded"}[i >= 3]
				throttled(t, putDue(t, db, fmt.Sprint(second, i), ""), want)
			}

			<-time.After(time.Second)
		}

		if n := len(db.Items("table")); n != 6 {
			t.Errorf("%d items, want 6", n)
		}
	})
}

func TestPartitionsHaveTheirOwnUnits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := limited(t, idemddbtest.Limits{WriteUnits: 5, Partitions: 4})
		taken := 0

		for i := range 100 {
			if putDue(t, db, fmt.Sprint(i), "") == nil {
				taken++
			}
		}

		if taken != 4*5 {
			t.Errorf("%d writes were taken, want 20", taken)
		}
	})
}

func TestAnIndexThatCannotKeepUpThrottlesItsTable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := limited(t, idemddbtest.Limits{IndexWriteUnits: 2})
		throttled(t, putDue(t, db, "a", "today"), "")
		throttled(t, putDue(t, db, "b", "today"), "")
		throttled(t, putDue(t, db, "c", "today"), "IndexWriteKeyRangeThroughputExceeded")
		throttled(t, putDue(t, db, "d", ""), "")
		throttled(t, putDue(t, db, "a", ""), "IndexWriteKeyRangeThroughputExceeded") // the entry would be deleted

		<-time.After(time.Second)
		throttled(t, putDue(t, db, "a", ""), "")
	})
}

func TestStatementsAndPartsAreThrottledAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := limited(t, idemddbtest.Limits{WriteUnits: 1})

		insert := func(pk string) types.BatchStatementRequest {
			return types.BatchStatementRequest{Statement: new(`INSERT INTO "table" VALUE {'pk': ?}`), Parameters: []types.AttributeValue{s(pk)}}
		}

		out, err := db.BatchExecuteStatement(t.Context(), &dynamodb.BatchExecuteStatementInput{Statements: []types.BatchStatementRequest{insert("a"), insert("b")}})
		if err != nil {
			t.Fatal(err)
		}

		if e := out.Responses[1].Error; out.Responses[0].Error != nil || e == nil || e.Code != types.BatchStatementErrorCodeEnumProvisionedThroughputExceeded {
			t.Errorf("got %+v", out.Responses)
		}

		_, err = db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
			{Put: &types.Put{TableName: new("table"), Item: attributes{"pk": s("c")}}},
		}})

		e, isCanceled := errors.AsType[*types.TransactionCanceledException](err)
		if !isCanceled || *e.CancellationReasons[0].Code != "ProvisionedThroughputExceeded" {
			t.Errorf("got %v", err)
		}
	})
}

func TestARequestWaitsForItsLatency(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := limited(t, idemddbtest.Limits{Latency: func() time.Duration { return 7 * time.Millisecond }})
		began := time.Now()

		if err := putDue(t, db, "a", ""); err != nil || time.Since(began) != 7*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(began))
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()

		_, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: new("table"), Item: attributes{"pk": s("b")}})
		if !errors.Is(err, context.DeadlineExceeded) || len(db.Items("table")) != 1 {
			t.Errorf("%v, %d items", err, len(db.Items("table")))
		}
	})
}
