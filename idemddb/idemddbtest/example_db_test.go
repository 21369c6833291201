package idemddbtest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// A Store takes a DB in place of a *dynamodb.Client.
func ExampleNew() {
	db := idemddbtest.New(nil)

	if _, err := db.CreateTable(context.Background(), idemddbtest.CreateTable("records", "")); err != nil {
		fmt.Println(err)

		return
	}

	store, err := idemddb.New(db, "records", "payments", nil)
	if err != nil {
		fmt.Println(err)

		return
	}

	fmt.Println(claimOnce(store, "p-1"))
	// Output: <nil>
}

// A DB also holds a handler's own items: it evaluates conditions and updates as the service does.
func ExampleDB() {
	ctx := context.Background()
	db := withTable()
	account := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "account#a-1"}}

	_, err := db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: new("records"), Key: account, UpdateExpression: new("ADD balance :amount"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":amount": &types.AttributeValueMemberN{Value: "1250"}},
	})
	fmt.Println(err)

	_, err = db.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: new("records"), Item: account, ConditionExpression: new("attribute_not_exists(pk)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if refusal, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		fmt.Println("refused, balance", refusal.Item["balance"].(*types.AttributeValueMemberN).Value)
	}
	// Output:
	// <nil>
	// refused, balance 1250
}

// A test looks at a record afterwards. That is no request, so that no fault happens to it.
func ExampleDB_Item() {
	db := withTable()
	store := newStore(db, nil)
	fmt.Println(claimOnce(store, "p-1"))
	fmt.Println(stateOf(db.Item("records", recordKey("p-1"))))
	// Output:
	// <nil>
	// COMPLETED
}

func ExampleDB_Items() {
	db := withTable()
	store := newStore(db, nil)
	fmt.Println(claimOnce(store, "p-1"), claimOnce(store, "p-2"))

	for _, record := range db.Items("records") {
		fmt.Println(record["pk"].(*types.AttributeValueMemberS).Value, stateOf(record))
	}
	// Output:
	// <nil> <nil>
	// payments#p-1 COMPLETED
	// payments#p-2 COMPLETED
}

// Requests lists what was sent to DynamoDB, and what it would cost.
func ExampleDB_Requests() {
	db := withTable()
	store := newStore(db, nil)
	fmt.Println(claimOnce(store, "p-1"), claimOnce(store, "p-1"))

	for _, r := range db.Requests() {
		fmt.Println(r.Operation, "units", r.WriteUnits, "refused", r.Refused)
	}
	// Output:
	// <nil> <nil>
	// UpdateItem units 1 refused false
	// UpdateItem units 1 refused false
	// UpdateItem units 1 refused true
}

func ExampleDB_ResetRequests() {
	db := withTable()
	store := newStore(db, nil)
	fmt.Println(claimOnce(store, "p-1"))

	db.ResetRequests() // the log then has only the requests of the duplicate
	fmt.Println(claimOnce(store, "p-1"), len(db.Requests()))
	// Output:
	// <nil>
	// <nil> 1
}

// Client is for code that takes an SDK client, with the SDK's own encoding, retries and errors.
func ExampleDB_Client() {
	db := withTable()
	store := newStore(db.Client(), nil)
	fmt.Println(claimOnce(store, "p-1"))
	fmt.Println(stateOf(db.Item("records", recordKey("p-1"))))
	// Output:
	// <nil>
	// COMPLETED
}

// Handler serves clients in other processes.
func ExampleDB_Handler() {
	db := withTable()

	server := httptest.NewServer(db.Handler())
	defer server.Close()

	client := dynamodb.New(dynamodb.Options{
		BaseEndpoint: &server.URL, Region: "eu-west-1", HTTPClient: idemddb.HTTPClient(),
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	})

	store := newStore(client, nil)
	fmt.Println(claimOnce(store, "p-1"))
	fmt.Println(stateOf(db.Item("records", recordKey("p-1"))))
	// Output:
	// <nil>
	// COMPLETED
}

// A test sees what each request has done to the table.
func ExampleDB_OnChange() {
	db := withTable()
	db.OnChange(func(change idemddbtest.Change) {
		fmt.Println(stateOf(change.Before), "→", stateOf(change.After))
	})

	store := newStore(db, nil)
	fmt.Println(claimOnce(store, "p-1"), claimOnce(store, "p-1"))
	// Output:
	// no record → INPROGRESS
	// INPROGRESS → COMPLETED
	// <nil> <nil>
}
