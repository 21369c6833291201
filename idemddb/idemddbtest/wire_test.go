package idemddbtest_test

import (
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
			w.reads()
			w.delete()
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

func (w *wire) succeeded(what string, err error) {
	w.Helper()

	if err != nil {
		w.Errorf("%s: %v", what, err)
	}
}

func (w *wire) singleItems() {
	w.Helper()

	_, err := w.c.PutItem(w.Context(), &dynamodb.PutItemInput{TableName: new(table), Item: w.item})
	w.succeeded("PutItem", err)
	got, err := w.c.GetItem(w.Context(), &dynamodb.GetItemInput{TableName: new(table), Key: w.key, ConsistentRead: new(true), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal})
	w.succeeded("GetItem", err)

	if err == nil && (!reflect.DeepEqual(got.Item, w.item) || *got.ConsumedCapacity.CapacityUnits != 1) {
		w.Errorf("GetItem: got %s, want %s", show(got), show(w.item))
	}

	_, err = w.c.UpdateItem(w.Context(), &dynamodb.UpdateItemInput{
		TableName: new(table), Key: w.key, UpdateExpression: new("SET #n = :n"),
		ExpressionAttributeNames: map[string]string{"#n": "n"}, ExpressionAttributeValues: attributes{":n": n("2")},
	})
	w.succeeded("UpdateItem", err)
}

func (w *wire) severalItems() {
	w.Helper()

	_, err := w.c.TransactWriteItems(w.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{ConditionCheck: &types.ConditionCheck{TableName: new(table), Key: w.key, ConditionExpression: new("attribute_exists(pk)")}},
		{Put: &types.Put{TableName: new(table), Item: attributes{"pk": s("y")}}},
	}})
	w.succeeded("TransactWriteItems", err)
	batch, err := w.c.BatchExecuteStatement(w.Context(), &dynamodb.BatchExecuteStatementInput{Statements: []types.BatchStatementRequest{
		{Statement: new(`UPDATE "` + table + `" SET n = n + ? WHERE pk = ? RETURNING ALL OLD *`), Parameters: list(n("0"), w.key["pk"])},
	}})
	w.succeeded("BatchExecuteStatement", err)

	w.item["n"] = n("2")
	if err == nil && !reflect.DeepEqual(batch.Responses[0].Item, w.item) {
		w.Errorf("BatchExecuteStatement: got %s, want %s", show(batch.Responses[0]), show(w.item))
	}
}

func (w *wire) reads() {
	w.Helper()

	scanned, err := w.c.Scan(w.Context(), &dynamodb.ScanInput{TableName: new(table)})
	w.succeeded("Scan", err)

	if err == nil && len(scanned.Items) != 2 {
		w.Errorf("Scan: got %d items", len(scanned.Items))
	}

	queried, err := w.c.Query(w.Context(), &dynamodb.QueryInput{
		TableName: new(table), KeyConditionExpression: new("pk = :pk"), ExpressionAttributeValues: attributes{":pk": w.key["pk"]},
	})
	w.succeeded("Query", err)

	if err == nil && (len(queried.Items) != 1 || !reflect.DeepEqual(queried.Items[0], w.item)) {
		w.Errorf("Query: got %s", show(queried.Items))
	}
}

func (w *wire) delete() {
	w.Helper()

	deleted, err := w.c.DeleteItem(w.Context(), &dynamodb.DeleteItemInput{TableName: new(table), Key: w.key, ReturnValues: types.ReturnValueAllOld})
	w.succeeded("DeleteItem", err)

	if err == nil && !reflect.DeepEqual(deleted.Attributes["n"], n("2")) {
		w.Errorf("DeleteItem: got %s", show(deleted.Attributes))
	}
}

func (w *wire) tables() {
	w.Helper()

	_, err := w.c.UpdateTimeToLive(w.Context(), &dynamodb.UpdateTimeToLiveInput{
		TableName: new(table), TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: new("exp"), Enabled: new(true)},
	})
	w.succeeded("UpdateTimeToLive", err)
	described, err := w.c.DescribeTable(w.Context(), &dynamodb.DescribeTableInput{TableName: new(table)})
	w.succeeded("DescribeTable", err)

	if err == nil && (described.Table.TableStatus != types.TableStatusActive || *described.Table.ItemCount != 1 || described.Table.CreationDateTime.IsZero()) {
		w.Errorf("DescribeTable: got %s", show(described.Table))
	}

	if err := dynamodb.NewTableExistsWaiter(w.c).Wait(w.Context(), &dynamodb.DescribeTableInput{TableName: new(table)}, time.Minute); err != nil {
		w.Errorf("waiter: %v", err)
	}
}

func (w *wire) errors() {
	w.Helper()

	_, err := w.c.ListTables(w.Context(), &dynamodb.ListTablesInput{})
	if code(err) != "UnknownOperationException" {
		w.Errorf("an operation that is not there: got %v", err)
	}

	_, err = w.c.PutItem(w.Context(), &dynamodb.PutItemInput{TableName: new("nosuch"), Item: w.item})
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
