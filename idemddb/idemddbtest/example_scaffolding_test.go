package idemddbtest_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// This file is the scaffolding of the examples. A user's own code and tests have something else in its place.

// withTable returns a DynamoDB with a table "records"; in a test it would take t.
func withTable() *idemddbtest.DB {
	db := idemddbtest.New(nil)
	if _, err := db.CreateTable(context.Background(), idemddbtest.CreateTable("records", "")); err != nil {
		panic(err)
	}

	db.ResetRequests()

	return db
}

// newStore returns a Store of the namespace "payments" on the table "records"; in a test it would take t.
func newStore(api idemddb.DynamoDB, opts *idemddb.Options) *idemddb.Store {
	store, err := idemddb.New(api, "records", "payments", opts)
	if err != nil {
		panic(err)
	}

	return store
}

// withIndex returns a DynamoDB with a table "messages" and its index "unsent", which has three of four messages.
func withIndex() *idemddbtest.DB {
	ctx, db := context.Background(), idemddbtest.New(nil)
	in := idemddbtest.CreateTable("messages", "")
	in.AttributeDefinitions = append(in.AttributeDefinitions,
		types.AttributeDefinition{AttributeName: new("shard"), AttributeType: types.ScalarAttributeTypeS},
		types.AttributeDefinition{AttributeName: new("due"), AttributeType: types.ScalarAttributeTypeN})
	in.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{{
		IndexName: new("unsent"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: new("shard"), KeyType: types.KeyTypeHash}, {AttributeName: new("due"), KeyType: types.KeyTypeRange},
		},
	}}

	if _, err := db.CreateTable(ctx, in); err != nil {
		panic(err)
	}

	for i, due := range []string{"", "10", "20", "30"} {
		message := map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: fmt.Sprint("m-", i)}, "shard": &types.AttributeValueMemberS{Value: "0"},
		}
		if due != "" {
			message["due"] = &types.AttributeValueMemberN{Value: due}
		}

		if _, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: new("messages"), Item: message}); err != nil {
			panic(err)
		}
	}

	return db
}

// oneMessage is an event as Lambda sends it.
func oneMessage() events.SQSEvent {
	return events.SQSEvent{Records: []events.SQSMessage{{
		MessageId:      "m-1",
		EventSourceARN: "arn:aws:sqs:eu-west-1:111122223333:payments",
		Body:           `{"paymentId":"p-1"}`,
	}}}
}

// claimOnce claims and completes a key of the namespace "payments".
func claimOnce(store *idemddb.Store, key string) error {
	claim, record, err := store.Claim(context.Background(), key, nil)
	if err != nil || record != nil {
		return err
	}

	if err := claim.Complete(context.Background(), nil); !claim.IsDone(err) {
		return err
	}

	return nil
}

// recordKey returns the key of a record in the namespace "payments".
func recordKey(key string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "payments#" + key}}
}

// stateOf returns the state of a record.
func stateOf(record map[string]types.AttributeValue) string {
	if st, ok := record["st"].(*types.AttributeValueMemberS); ok {
		return st.Value
	}

	return "no record"
}

// kindOf returns the name of an error's kind.
func kindOf(err error) string {
	for _, known := range []error{idemddb.ErrInProgress, idemddb.ErrFenced, idemddb.ErrUnrecorded} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}

	return fmt.Sprint(err)
}

// countUp is a transaction that adds one to the attribute "n" of each record.
func countUp(keys ...string) *dynamodb.TransactWriteItemsInput {
	in := &dynamodb.TransactWriteItemsInput{}

	for _, key := range keys {
		in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Update: &types.Update{
			TableName: new("records"), Key: recordKey(key), UpdateExpression: new("ADD n :one"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":one": &types.AttributeValueMemberN{Value: "1"}},
		}})
	}

	return in
}

// putNew is a transaction that makes each record, which must be new.
func putNew(keys ...string) *dynamodb.TransactWriteItemsInput {
	in := &dynamodb.TransactWriteItemsInput{}

	for _, key := range keys {
		in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Put: &types.Put{
			TableName: new("records"), Item: recordKey(key), ConditionExpression: new("attribute_not_exists(pk)"),
		}})
	}

	return in
}

// send sends countUp under a token, and says what came of it.
func send(db *idemddbtest.DB, token string, keys ...string) string {
	in := countUp(keys...)
	in.ClientRequestToken = &token

	_, err := db.TransactWriteItems(context.Background(), in)
	if err == nil {
		return "done"
	}

	if canceled, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		return canceled.ErrorCode() + " " + codesOf(canceled)
	}

	if e, ok := errors.AsType[*types.TransactionInProgressException](err); ok {
		return e.ErrorCode()
	}

	return "no answer"
}

func codesOf(canceled *types.TransactionCanceledException) string {
	codes := make([]string, len(canceled.CancellationReasons))
	for i, reason := range canceled.CancellationReasons {
		codes[i] = *reason.Code
	}

	return fmt.Sprint(codes)
}

func countOf(db *idemddbtest.DB, key string) string {
	if n, ok := db.Item("records", recordKey(key))["n"].(*types.AttributeValueMemberN); ok {
		return n.Value
	}

	return "0"
}
