package idemddbtest_test

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// The DB has the clock of the test.
func ExampleOptions() {
	clock := idemddbtest.NewClock(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC))
	db := idemddbtest.New(&idemddbtest.Options{Now: clock.Now})

	out, err := db.CreateTable(context.Background(), idemddbtest.CreateTable("records", ""))
	fmt.Println(out.TableDescription.CreationDateTime.UTC(), err)
	// Output: 2026-01-02 12:00:00 +0000 UTC <nil>
}

// A test looks at the requests that were sent.
func ExampleRequest() {
	db := withTable()
	store := newStore(db, nil)
	db.Inject(idemddbtest.Throttle)
	fmt.Println(claimOnce(store, "p-1"))

	for _, r := range db.Requests() {
		fmt.Printf("%s %s %d %q\n", r.Operation, r.Table, r.WriteUnits, r.Fault)
	}
	// Output:
	// <nil>
	// UpdateItem records 0 "Throttle"
	// UpdateItem records 1 ""
	// UpdateItem records 1 ""
}

func ExampleDB_CreateTable() {
	db := idemddbtest.New(nil)
	out, err := db.CreateTable(context.Background(), idemddbtest.CreateTable("records", ""))
	fmt.Println(out.TableDescription.TableStatus, err)
	// Output: ACTIVE <nil>
}

func ExampleDB_UpdateTimeToLive() {
	out, err := withTable().UpdateTimeToLive(context.Background(), &dynamodb.UpdateTimeToLiveInput{
		TableName:               new("records"),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: new("exp"), Enabled: new(true)},
	})
	fmt.Println(*out.TimeToLiveSpecification.AttributeName, err)
	// Output: exp <nil>
}

func ExampleDB_PutItem() {
	db := withTable()
	put := &dynamodb.PutItemInput{
		TableName: new("records"), Item: recordKey("p-1"), ConditionExpression: new("attribute_not_exists(pk)"),
	}

	for range 2 {
		_, err := db.PutItem(context.Background(), put)
		fmt.Println(err == nil)
	}
	// Output:
	// true
	// false
}

func ExampleDB_UpdateItem() {
	out, err := withTable().UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
		TableName: new("records"), Key: recordKey("p-1"), UpdateExpression: new("SET fence = if_not_exists(fence, :zero) + :one"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":zero": &types.AttributeValueMemberN{Value: "0"}, ":one": &types.AttributeValueMemberN{Value: "1"},
		},
		ReturnValues: types.ReturnValueAllNew,
	})
	fmt.Println(out.Attributes["fence"].(*types.AttributeValueMemberN).Value, err)
	// Output: 1 <nil>
}

// Each statement has a response of its own: the first is refused, and the second is evaluated all the same.
func ExampleDB_BatchExecuteStatement() {
	db := withTable()
	insert := types.BatchStatementRequest{
		Statement:  new(`INSERT INTO "records" VALUE {'pk': ?}`),
		Parameters: []types.AttributeValue{recordKey("p-1")["pk"]},
	}
	update := types.BatchStatementRequest{
		Statement:  new(`UPDATE "records" SET "fence" = "fence" + 1 WHERE "pk" = ? AND "fence" IS NOT MISSING`),
		Parameters: []types.AttributeValue{recordKey("p-2")["pk"]},
	}

	for _, statements := range [][]types.BatchStatementRequest{{insert}, {insert, update}} {
		out, err := db.BatchExecuteStatement(context.Background(), &dynamodb.BatchExecuteStatementInput{Statements: statements})
		for _, response := range out.Responses {
			if response.Error != nil {
				fmt.Println(response.Error.Code, err)
			}
		}
	}
	// Output:
	// DuplicateItem <nil>
	// ConditionalCheckFailed <nil>
}

func ExampleDB_GetItem() {
	out, err := withTable().GetItem(context.Background(), &dynamodb.GetItemInput{TableName: new("records"), Key: recordKey("p-1")})
	fmt.Println(len(out.Item), err)
	// Output: 0 <nil>
}

func ExampleDB_Scan() {
	db := withTable()
	store := newStore(db, nil)
	fmt.Println(claimOnce(store, "p-1"))

	out, err := db.Scan(context.Background(), &dynamodb.ScanInput{TableName: new("records")})
	fmt.Println(out.Count, err)
	// Output:
	// <nil>
	// 1 <nil>
}

// A sparse index: it has the items that have its key, here those with a due time. The second page begins where the first one
// ends.
func ExampleDB_Query() {
	db := withIndex()
	query := &dynamodb.QueryInput{
		TableName: new("messages"), IndexName: new("unsent"), Limit: new(int32(1)),
		KeyConditionExpression:   new("#shard = :shard AND #due < :now"),
		ExpressionAttributeNames: map[string]string{"#shard": "shard", "#due": "due"},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":shard": &types.AttributeValueMemberS{Value: "0"}, ":now": &types.AttributeValueMemberN{Value: "30"},
		},
	}

	for {
		out, err := db.Query(context.Background(), query)
		if err != nil {
			fmt.Println(err)
		}

		for _, entry := range out.Items {
			fmt.Println(entry["pk"].(*types.AttributeValueMemberS).Value)
		}

		if query.ExclusiveStartKey = out.LastEvaluatedKey; query.ExclusiveStartKey == nil {
			break
		}
	}
	// Output:
	// m-1
	// m-2
}

// An index that lags: the message was sent and has left the index, and a reader of the index still finds it.
func ExampleDB_HoldIndexes() {
	ctx := context.Background()
	db := withIndex()
	count := func() int32 {
		out, err := db.Scan(ctx, &dynamodb.ScanInput{TableName: new("messages"), IndexName: new("unsent")})
		if err != nil {
			fmt.Println(err)
		}

		return out.Count
	}

	release := db.HoldIndexes()
	_, err := db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: new("messages"), Key: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "m-1"}},
		UpdateExpression: new("REMOVE due"),
	})
	fmt.Println(err, count())

	release()
	fmt.Println(count())
	// Output:
	// <nil> 3
	// 2
}

// When somebody deletes a record, the work of its key runs again.
func ExampleDB_DeleteItem() {
	db := withTable()
	store := newStore(db, nil)
	fmt.Println(claimOnce(store, "p-1"))

	_, err := db.DeleteItem(context.Background(), &dynamodb.DeleteItemInput{TableName: new("records"), Key: recordKey("p-1")})
	fmt.Println(err, stateOf(db.Item("records", recordKey("p-1"))))
	// Output:
	// <nil>
	// <nil> no record
}

// The condition of the second part fails, so that the first is not written either.
func ExampleDB_TransactWriteItems() {
	db := withTable()
	_, err := db.TransactWriteItems(context.Background(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: &types.Put{TableName: new("records"), Item: recordKey("p-1")}},
		{ConditionCheck: &types.ConditionCheck{
			TableName: new("records"), Key: recordKey("p-2"), ConditionExpression: new("attribute_exists(pk)"),
		}},
	}})
	fmt.Println(err != nil, len(db.Items("records")))
	// Output: true 0
}
