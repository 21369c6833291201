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

	return errorOf(db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: new("table"), Item: it}))
}

// taken counts the writes that are not throttled.
func taken(n int, write func(i int) error) (count int) {
	for i := range n {
		if write(i) == nil {
			count++
		}
	}

	return count
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

func TestAPartOfATransactionIsThrottledAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := limited(t, idemddbtest.Limits{WriteUnits: 1})
		throttled(t, putDue(t, db, "a", ""), "")
		throttled(t, putDue(t, db, "b", ""), "TableWriteKeyRangeThroughputExceeded")

		err := errorOf(db.TransactWriteItems(t.Context(), putOne("c")))

		e, isCanceled := errors.AsType[*types.TransactionCanceledException](err)
		if !isCanceled || *e.CancellationReasons[0].Code != "ProvisionedThroughputExceeded" {
			t.Errorf("got %v", err)
		}

		r := db.Requests()
		throttled(t, r[len(r)-1].Items[0].Err, "TableWriteKeyRangeThroughputExceeded")
	})
}

// putOne is a transaction of one item.
func putOne(pk string) *dynamodb.TransactWriteItemsInput {
	return &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: &types.Put{TableName: new("table"), Item: attributes{"pk": s(pk)}}},
	}}
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

	get := func(db *idemddbtest.DB, pk string, isConsistent bool) error {
		key := attributes{"pk": s(pk)}

		return errorOf(db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: new("table"), Key: key, ConsistentRead: &isConsistent}))
	}

	for name, c := range map[string]struct {
		do   func(db *idemddbtest.DB, i int) error
		want int // in a second
	}{
		"writes of many keys":             {func(db *idemddbtest.DB, i int) error { return putDue(t, db, fmt.Sprint(i), "") }, 4000},
		"consistent reads of many keys":   {func(db *idemddbtest.DB, i int) error { return get(db, fmt.Sprint(i), true) }, 12_000},
		"writes of one key":               {func(db *idemddbtest.DB, _ int) error { return putDue(t, db, "one", "") }, 1000},
		"consistent reads of one key":     {func(db *idemddbtest.DB, _ int) error { return get(db, "one", true) }, 3000},
		"reads of one key":                {func(db *idemddbtest.DB, _ int) error { return get(db, "one", false) }, 6000},
		"items in one value of the index": {func(db *idemddbtest.DB, i int) error { return putDue(t, db, fmt.Sprint(i), "today") }, 1000},
		"records that enter the index and leave it": {func(db *idemddbtest.DB, i int) error {
			return errors.Join(putDue(t, db, fmt.Sprint(i), "today"), putDue(t, db, fmt.Sprint(i), ""))
		}, 500},
		"transactions of one item": {func(db *idemddbtest.DB, _ int) error {
			return errorOf(db.TransactWriteItems(t.Context(), putOne("one")))
		}, 500},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db := limited(t, documented)
				if got := taken(c.want*3/2, func(i int) error { return c.do(db, i) }); got != c.want {
					t.Errorf("%d were taken, want %d", got, c.want)
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
			return errorOf(db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: new("table"), Key: attributes{"pk": s("a")}}))
		}, "TableReadKeyRangeThroughputExceeded", 2},
		"Query":             {func(db *idemddbtest.DB) error { return errorOf(db.Query(t.Context(), key)) }, "TableReadKeyRangeThroughputExceeded", 1},
		"Query of an index": {func(db *idemddbtest.DB) error { return errorOf(db.Query(t.Context(), due)) }, "IndexReadKeyRangeThroughputExceeded", 2},
		"Scan": {func(db *idemddbtest.DB) error {
			return errorOf(db.Scan(t.Context(), &dynamodb.ScanInput{TableName: new("table")}))
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

func TestStatementsAreThrottledAlone(t *testing.T) {
	t.Parallel()

	for text, limits := range map[string]idemddbtest.Limits{
		`INSERT INTO "table" VALUE {'pk': ?}`: {WriteUnits: 1},
		`SELECT * FROM "table" WHERE pk = ?`:  {ReadUnits: 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			db := limited(t, limits)
			isRead := limits.ReadUnits > 0

			got, err := execute(t.Context(), db,
				types.BatchStatementRequest{Statement: &text, Parameters: list(s("a")), ConsistentRead: &isRead},
				types.BatchStatementRequest{Statement: &text, Parameters: list(s("b")), ConsistentRead: &isRead})
			if err != nil || got[0].Code != "" || got[1].Code != "ProvisionedThroughputExceeded" {
				t.Errorf("%s: got %s, %v", text, show(got), err)
			}

			if r := db.Requests(); r[len(r)-1].ReadUnits != float64(limits.ReadUnits) {
				t.Errorf("%v read units, want %v: what is throttled consumes none", r[len(r)-1].ReadUnits, limits.ReadUnits)
			}
		})
	}
}

// A partition that is too busy for three seconds in a row splits, and the fourth second takes twice as much. A second without
// that begins anew.
func TestAPartitionSplitsUnderLoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := limited(t, idemddbtest.Limits{WriteUnits: 10, SplitAfter: 3 * time.Second})

		var got []int

		for _, load := range []int{100, 100, 5, 100, 100, 100, 100, 5} {
			got = append(got, taken(load, func(i int) error { return putDue(t, db, fmt.Sprint(i), "") }))

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

		for second := range 101 {
			<-time.After(time.Second)

			got := taken(50, func(int) error { return putDue(t, db, "hot", "") })
			if second == 100 && got != 10 {
				t.Errorf("%d writes were taken, want 10", got)
			}
		}
	})
}
