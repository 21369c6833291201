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
			everyOperation(t, c(idemddbtest.New(nil)))
		})
	}
}

func everyOperation(t *testing.T, c *dynamodb.Client) {
	t.Helper()
	ctx := t.Context()
	createTable(t, c, table, "pk", "S")

	it := attributes{
		"pk": s("é\u0000\"\\ "), "n": n("1.5"), "b": &types.AttributeValueMemberB{Value: []byte{0, 255}}, "t": &types.AttributeValueMemberBOOL{Value: true},
		"nil": &types.AttributeValueMemberNULL{Value: true}, "ss": &types.AttributeValueMemberSS{Value: []string{"a", "b"}},
		"ns": &types.AttributeValueMemberNS{Value: []string{"1", "2"}}, "bs": &types.AttributeValueMemberBS{Value: [][]byte{{1}, {2}}},
		"l": &types.AttributeValueMemberL{Value: []types.AttributeValue{s(""), &types.AttributeValueMemberL{Value: []types.AttributeValue{}}}},
		"m": &types.AttributeValueMemberM{Value: attributes{"a": n("1"), "b": &types.AttributeValueMemberM{Value: attributes{}}}},
	}
	key := attributes{"pk": it["pk"]}
	do := func(what string, err error) {
		t.Helper()

		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := c.PutItem(ctx, &dynamodb.PutItemInput{TableName: new(table), Item: it})
	do("PutItem", err)
	got, err := c.GetItem(ctx, &dynamodb.GetItemInput{TableName: new(table), Key: key, ConsistentRead: new(true), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal})
	do("GetItem", err)

	if err == nil && (!reflect.DeepEqual(got.Item, it) || *got.ConsumedCapacity.CapacityUnits != 1) {
		t.Errorf("GetItem: got %s, want %s", show(got), show(it))
	}

	_, err = c.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: new(table), Key: key, UpdateExpression: new("SET #n = :n"),
		ExpressionAttributeNames: map[string]string{"#n": "n"}, ExpressionAttributeValues: attributes{":n": n("2")},
	})
	do("UpdateItem", err)
	_, err = c.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{ConditionCheck: &types.ConditionCheck{TableName: new(table), Key: key, ConditionExpression: new("attribute_exists(pk)")}},
		{Put: &types.Put{TableName: new(table), Item: attributes{"pk": s("y")}}},
	}})
	do("TransactWriteItems", err)
	batch, err := c.BatchExecuteStatement(ctx, &dynamodb.BatchExecuteStatementInput{Statements: []types.BatchStatementRequest{
		{Statement: new(`UPDATE "` + table + `" SET n = n + ? WHERE pk = ? RETURNING ALL OLD *`), Parameters: list(n("0"), key["pk"])},
	}})
	do("BatchExecuteStatement", err)

	it["n"] = n("2")
	if err == nil && !reflect.DeepEqual(batch.Responses[0].Item, it) {
		t.Errorf("BatchExecuteStatement: got %s, want %s", show(batch.Responses[0]), show(it))
	}

	scanned, err := c.Scan(ctx, &dynamodb.ScanInput{TableName: new(table)})
	do("Scan", err)

	if err == nil && len(scanned.Items) != 2 {
		t.Errorf("Scan: got %d items", len(scanned.Items))
	}

	queried, err := c.Query(ctx, &dynamodb.QueryInput{
		TableName: new(table), KeyConditionExpression: new("pk = :pk"), ExpressionAttributeValues: attributes{":pk": key["pk"]},
	})
	do("Query", err)

	if err == nil && (len(queried.Items) != 1 || !reflect.DeepEqual(queried.Items[0], it)) {
		t.Errorf("Query: got %s", show(queried.Items))
	}

	deleted, err := c.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: new(table), Key: key, ReturnValues: types.ReturnValueAllOld})
	do("DeleteItem", err)

	if err == nil && !reflect.DeepEqual(deleted.Attributes["n"], n("2")) {
		t.Errorf("DeleteItem: got %s", show(deleted.Attributes))
	}

	_, err = c.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName: new(table), TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: new("exp"), Enabled: new(true)},
	})
	do("UpdateTimeToLive", err)
	described, err := c.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: new(table)})
	do("DescribeTable", err)

	if err == nil && (described.Table.TableStatus != types.TableStatusActive || *described.Table.ItemCount != 1 || described.Table.CreationDateTime.IsZero()) {
		t.Errorf("DescribeTable: got %s", show(described.Table))
	}

	if err := dynamodb.NewTableExistsWaiter(c).Wait(ctx, &dynamodb.DescribeTableInput{TableName: new(table)}, time.Minute); err != nil {
		t.Errorf("waiter: %v", err)
	}

	_, err = c.ListTables(ctx, &dynamodb.ListTablesInput{})
	if code(err) != "UnknownOperationException" {
		t.Errorf("an operation that is not there: got %v", err)
	}

	_, err = c.PutItem(ctx, &dynamodb.PutItemInput{TableName: new("nosuch"), Item: it})
	if !isType[*types.ResourceNotFoundException](err) {
		t.Errorf("no table: got %v", err)
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
