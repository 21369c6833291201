package idemddbtest_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// The SDK repeats the write whose answer was lost, and its own write then refuses the repetition.
func TestTheClientRetriesAsTheSDKDoes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := openDB(t, nil)
		db.ResetRequests()
		db.Inject(idemddbtest.LostReply)

		_, err := db.Client().PutItem(t.Context(), &dynamodb.PutItemInput{
			TableName: new(table), Item: attributes{"pk": s("x")}, ConditionExpression: new("attribute_not_exists(pk)"),
		})
		if code(err) != refused || len(db.Requests()) != 2 {
			t.Errorf("got %v after %d requests, want a refusal after 2", err, len(db.Requests()))
		}
	})
}

func TestTheWireCarriesEveryOperation(t *testing.T) {
	t.Parallel()

	for way, c := range map[string]func(*idemddbtest.DB) *dynamodb.Client{
		"client": func(db *idemddbtest.DB) *dynamodb.Client { return db.Client() },
		"socket": func(db *idemddbtest.DB) *dynamodb.Client { return overSocket(t, db) },
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()

			w := &wire{T: t, c: c(idemddbtest.New(nil)), item: itemOfEachType()}
			w.key = attributes{"pk": w.item["pk"]}

			createTable(t, w.c, table, "pk", "S")
			w.singleItems()
			w.severalItems()
			w.readsAndDeletes()
			w.tables()
			w.errors()
		})
	}
}

func itemOfEachType() attributes {
	return attributes{
		"pk": s("é\u0000\"\\ "), "n": n("1.5"), "b": &types.AttributeValueMemberB{Value: []byte{0, 255}}, "t": &types.AttributeValueMemberBOOL{Value: true},
		"nil": &types.AttributeValueMemberNULL{Value: true}, "ss": &types.AttributeValueMemberSS{Value: []string{"a", "b"}},
		"ns": &types.AttributeValueMemberNS{Value: []string{"1", "2"}}, "bs": &types.AttributeValueMemberBS{Value: [][]byte{{1}, {2}}},
		"l": &types.AttributeValueMemberL{Value: []types.AttributeValue{s(""), &types.AttributeValueMemberL{Value: []types.AttributeValue{}}}},
		"m": &types.AttributeValueMemberM{Value: attributes{"a": n("1"), "b": &types.AttributeValueMemberM{Value: attributes{}}}},
	}
}

// wire sends each operation once, as the steps of one test.
type wire struct {
	*testing.T

	c         *dynamodb.Client
	item, key attributes
}

// sends demands that an operation succeeds, and returns what it answers.
func sends[In, Out any](w *wire, call func(context.Context, In, ...func(*dynamodb.Options)) (*Out, error), in In) *Out {
	w.Helper()

	out, err := call(w.Context(), in)
	if err != nil {
		w.Fatalf("%T: %v", in, err)
	}

	return out
}

func (w *wire) singleItems() {
	w.Helper()
	sends(w, w.c.PutItem, &dynamodb.PutItemInput{TableName: new(table), Item: w.item})

	got := sends(w, w.c.GetItem, &dynamodb.GetItemInput{TableName: new(table), Key: w.key, ConsistentRead: new(true), ReturnConsumedCapacity: "TOTAL"})
	if !reflect.DeepEqual(got.Item, w.item) || *got.ConsumedCapacity.CapacityUnits != 1 {
		w.Errorf("GetItem: got %s, want %s", show(got), show(w.item))
	}

	sends(w, w.c.UpdateItem, &dynamodb.UpdateItemInput{
		TableName: new(table), Key: w.key, UpdateExpression: new("SET #n = :n"),
		ExpressionAttributeNames: map[string]string{"#n": "n"}, ExpressionAttributeValues: attributes{":n": n("2")},
	})
}

func (w *wire) severalItems() {
	w.Helper()
	sends(w, w.c.TransactWriteItems, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{ConditionCheck: &types.ConditionCheck{TableName: new(table), Key: w.key, ConditionExpression: new("attribute_exists(pk)")}},
		{Put: &types.Put{TableName: new(table), Item: attributes{"pk": s("y")}}},
	}})

	batch := sends(w, w.c.BatchExecuteStatement, &dynamodb.BatchExecuteStatementInput{Statements: []types.BatchStatementRequest{
		{Statement: new(`UPDATE "` + table + `" SET n = n + ? WHERE pk = ? RETURNING ALL OLD *`), Parameters: list(n("0"), w.key["pk"])},
	}})

	w.item["n"] = n("2")
	if !reflect.DeepEqual(batch.Responses[0].Item, w.item) {
		w.Errorf("BatchExecuteStatement: got %s, want %s", show(batch.Responses[0]), show(w.item))
	}
}

func (w *wire) readsAndDeletes() {
	w.Helper()

	if scanned := sends(w, w.c.Scan, &dynamodb.ScanInput{TableName: new(table)}); len(scanned.Items) != 2 {
		w.Errorf("Scan: got %d items", len(scanned.Items))
	}

	queried := sends(w, w.c.Query, &dynamodb.QueryInput{
		TableName: new(table), KeyConditionExpression: new("pk = :pk"), ExpressionAttributeValues: attributes{":pk": w.key["pk"]},
	})
	if len(queried.Items) != 1 || !reflect.DeepEqual(queried.Items[0], w.item) {
		w.Errorf("Query: got %s", show(queried.Items))
	}

	deleted := sends(w, w.c.DeleteItem, &dynamodb.DeleteItemInput{TableName: new(table), Key: w.key, ReturnValues: allOld})
	if !reflect.DeepEqual(deleted.Attributes["n"], n("2")) {
		w.Errorf("DeleteItem: got %s", show(deleted.Attributes))
	}
}

func (w *wire) tables() {
	w.Helper()
	sends(w, w.c.UpdateTimeToLive, timeToLive())

	described := sends(w, w.c.DescribeTable, &dynamodb.DescribeTableInput{TableName: new(table)})
	if described.Table.TableStatus != types.TableStatusActive || *described.Table.ItemCount != 1 || described.Table.CreationDateTime.IsZero() {
		w.Errorf("DescribeTable: got %s", show(described.Table))
	}

	if err := dynamodb.NewTableExistsWaiter(w.c).Wait(w.Context(), &dynamodb.DescribeTableInput{TableName: new(table)}, time.Minute); err != nil {
		w.Errorf("waiter: %v", err)
	}
}

// timeToLive turns Time to Live on.
func timeToLive() *dynamodb.UpdateTimeToLiveInput {
	return &dynamodb.UpdateTimeToLiveInput{
		TableName: new(table), TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: new("exp"), Enabled: new(true)},
	}
}

func (w *wire) errors() {
	w.Helper()

	if err := errorOf(w.c.ListTables(w.Context(), &dynamodb.ListTablesInput{})); code(err) != "UnknownOperationException" {
		w.Errorf("an operation that is not there: got %v", err)
	}

	err := errorOf(w.c.PutItem(w.Context(), &dynamodb.PutItemInput{TableName: new("nosuch"), Item: w.item}))
	if !isType[*types.ResourceNotFoundException](err) {
		w.Errorf("no table: got %v", err)
	}
}

func TestAMessageNeedsNoEscaping(t *testing.T) {
	t.Parallel()
	db := openDB(t, nil)

	_, err := db.Client().UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: new(table), Key: attributes{"pk": s("x")}, UpdateExpression: new("SET a = \x01\u2028é"),
	})
	if api, ok := errors.AsType[smithy.APIError](err); !ok || api.ErrorCode() != invalid || !strings.Contains(api.ErrorMessage(), "Syntax error") {
		t.Errorf("got %v", err)
	}
}
