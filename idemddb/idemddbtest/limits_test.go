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

		r := db.Requests()
		throttled(t, r[len(r)-1].Items[0].Err, "TableWriteKeyRangeThroughputExceeded")
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

// documented are the numbers of AWS for a new on-demand table: 4 partitions, each of which takes 1,000 write and 3,000 read units
// a second.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html,
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode.html
var documented = idemddbtest.Limits{WriteUnits: 1000, IndexWriteUnits: 1000, ReadUnits: 3000, Partitions: 4}

func TestTheDocumentedNumbers(t *testing.T) {
	t.Parallel()

	write := func(db *idemddbtest.DB, pk, due string) error {
		it := attributes{"pk": s(pk)}
		if due != "" {
			it["due"] = s(due)
		}

		_, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: new("table"), Item: it})

		return err
	}

	get := func(db *idemddbtest.DB, pk string, isConsistent bool) error {
		_, err := db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: new("table"), Key: attributes{"pk": s(pk)}, ConsistentRead: &isConsistent})

		return err
	}

	for name, c := range map[string]struct {
		do   func(db *idemddbtest.DB, i int) error
		want int // in a second
	}{
		"writes of many keys":             {func(db *idemddbtest.DB, i int) error { return write(db, fmt.Sprint(i), "") }, 4000},
		"consistent reads of many keys":   {func(db *idemddbtest.DB, i int) error { return get(db, fmt.Sprint(i), true) }, 12_000},
		"writes of one key":               {func(db *idemddbtest.DB, _ int) error { return write(db, "one", "") }, 1000},
		"consistent reads of one key":     {func(db *idemddbtest.DB, _ int) error { return get(db, "one", true) }, 3000},
		"reads of one key":                {func(db *idemddbtest.DB, _ int) error { return get(db, "one", false) }, 6000},
		"items in one value of the index": {func(db *idemddbtest.DB, i int) error { return write(db, fmt.Sprint(i), "today") }, 1000},
		"records that enter the index and leave it": {func(db *idemddbtest.DB, i int) error {
			return errors.Join(write(db, fmt.Sprint(i), "today"), write(db, fmt.Sprint(i), ""))
		}, 500},
		"transactions of one item": {func(db *idemddbtest.DB, _ int) error {
			_, err := db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
				{Put: &types.Put{TableName: new("table"), Item: attributes{"pk": s("one")}}},
			}})

			return err
		}, 500},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db, taken := limited(t, documented), 0

				for i := range c.want * 3 / 2 {
					if c.do(db, i) == nil {
						taken++
					}
				}

				if taken != c.want {
					t.Errorf("%d were taken, want %d", taken, c.want)
				}
			})
		})
	}
}

func TestEachWayOfReadingIsThrottled(t *testing.T) {
	t.Parallel()

	key := &dynamodb.QueryInput{
		TableName: new("table"), KeyConditionExpression: new("pk = :pk"), ExpressionAttributeValues: attributes{":pk": s("a")}, ConsistentRead: new(true),
	}
	due := &dynamodb.QueryInput{
		TableName: new("table"), IndexName: new("unsent"), KeyConditionExpression: new("due = :due"), ExpressionAttributeValues: attributes{":due": s("today")},
	}

	for name, c := range map[string]struct {
		read   func(db *idemddbtest.DB) error
		reason string
		taken  int // until the unit is used up
	}{
		"GetItem": {func(db *idemddbtest.DB) error {
			_, err := db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: new("table"), Key: attributes{"pk": s("a")}})

			return err
		}, "TableReadKeyRangeThroughputExceeded", 2},
		"Query": {func(db *idemddbtest.DB) error {
			_, err := db.Query(t.Context(), key)

			return err
		}, "TableReadKeyRangeThroughputExceeded", 1},
		"Query of an index": {func(db *idemddbtest.DB) error {
			_, err := db.Query(t.Context(), due)

			return err
		}, "IndexReadKeyRangeThroughputExceeded", 2},
		"Scan": {func(db *idemddbtest.DB) error {
			_, err := db.Scan(t.Context(), &dynamodb.ScanInput{TableName: new("table")})

			return err
		}, "TableReadKeyRangeThroughputExceeded", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db := limited(t, idemddbtest.Limits{ReadUnits: 1})
				throttled(t, putDue(t, db, "a", "today"), "")

				for range c.taken {
					throttled(t, c.read(db), "")
				}

				throttled(t, c.read(db), c.reason)
				throttled(t, putDue(t, db, "a", "today"), "") // writes have their own units

				<-time.After(time.Second)
				throttled(t, c.read(db), "")
			})
		})
	}
}

func TestAStatementThatReadsIsThrottledAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := limited(t, idemddbtest.Limits{ReadUnits: 1})

		look := func(pk string) types.BatchStatementRequest {
			return types.BatchStatementRequest{
				Statement:  new(`SELECT * FROM "table" WHERE pk = ?`), //nolint:unqueryvet // DynamoDB reads items whole
				Parameters: []types.AttributeValue{s(pk)}, ConsistentRead: new(true),
			}
		}

		out, err := db.BatchExecuteStatement(t.Context(), &dynamodb.BatchExecuteStatementInput{Statements: []types.BatchStatementRequest{look("a"), look("b")}})
		if err != nil {
			t.Fatal(err)
		}

		if e := out.Responses[1].Error; out.Responses[0].Error != nil || e == nil || e.Code != types.BatchStatementErrorCodeEnumProvisionedThroughputExceeded {
			t.Errorf("got %+v", out.Responses)
		}

		if r := db.Requests(); r[len(r)-1].ReadUnits != 1 {
			t.Errorf("%v read units, want 1: what is throttled consumes none", r[len(r)-1].ReadUnits)
		}
	})
}

// A partition that is too busy for three seconds in a row splits, and the fourth second takes twice as much. A second without
// that begins anew.
func TestAPartitionSplitsUnderLoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := limited(t, idemddbtest.Limits{WriteUnits: 10, SplitAfter: 3 * time.Second})

		var got []int

		for _, load := range []int{100, 100, 5, 100, 100, 100, 100, 5} {
			taken := 0

			for i := range load {
				if putDue(t, db, fmt.Sprint(i), "") == nil {
					taken++
				}
			}

			got = append(got, taken)

			<-time.After(time.Second)
		}

		if want := fmt.Sprint([]int{10, 10, 5, 10, 10, 10, 20, 5}); fmt.Sprint(got) != want {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestAHotItemHasOnePartitionHoweverOftenThatSplits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := limited(t, idemddbtest.Limits{WriteUnits: 10, SplitAfter: time.Second})

		for range 100 {
			<-time.After(time.Second)

			for range 50 {
				_ = putDue(t, db, "hot", "")
			}
		}

		<-time.After(time.Second)

		taken := 0

		for range 50 {
			if putDue(t, db, "hot", "") == nil {
				taken++
			}
		}

		if taken != 10 {
			t.Errorf("%d writes were taken, want 10", taken)
		}
	})
}
