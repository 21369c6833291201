package idemddbtest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// ways are the three ways into a DB: the direct call, the SDK's client without sockets, the SDK's client over a socket.
var ways = map[string]func(t *testing.T, db *idemddbtest.DB) idemddb.DynamoDB{
	"direct": func(t *testing.T, db *idemddbtest.DB) idemddb.DynamoDB { t.Helper(); return db },
	"client": func(t *testing.T, db *idemddbtest.DB) idemddb.DynamoDB {
		t.Helper()
		return once(db.Client().Options())
	},
	"socket": func(t *testing.T, db *idemddbtest.DB) idemddb.DynamoDB { t.Helper(); return overSocket(t, db) },
}

func overSocket(t *testing.T, db *idemddbtest.DB) *dynamodb.Client {
	t.Helper()
	server := httptest.NewServer(db.Handler())
	t.Cleanup(server.Close)
	return once(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
		HTTPClient: awshttp.NewBuildableClient(),
	})
}

// once is a client that sends each request once, as the library does.
func once(o dynamodb.Options) *dynamodb.Client {
	o.Retryer = aws.NopRetryer{}
	return dynamodb.New(o)
}

func putX(ctx context.Context, c idemddb.DynamoDB) error {
	_, err := c.PutItem(ctx, &dynamodb.PutItemInput{TableName: new(table), Item: attributes{"pk": s("x")}})
	return err
}

func code(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode()
	}
	return ""
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault   idemddbtest.Fault
		applied bool
		status  int // of the response; 0 for none
		is      func(error) bool
	}{
		{idemddbtest.LostRequest, false, 0, isReset},
		{idemddbtest.LostReply, true, 0, isReset},
		{idemddbtest.LateRequest, false, 0, isReset},
		{idemddbtest.LateCommit, false, 0, isReset},
		{idemddbtest.TruncatedBody, true, 200, func(err error) bool {
			_, ok := errors.AsType[*smithy.DeserializationError](err)
			return ok && errors.Is(err, io.ErrUnexpectedEOF) && code(err) == ""
		}},
		{idemddbtest.EmptyAnswer, false, 0, func(err error) bool { return err == nil }},
		{idemddbtest.EmptyAnswerApplied, true, 0, func(err error) bool { return err == nil }},
		{idemddbtest.MissingResponse, true, 0, func(err error) bool { return err == nil }},
		{idemddbtest.ServerErrorApplied, true, 500, isType[*types.InternalServerError]},
		{idemddbtest.ServerError, false, 500, isType[*types.InternalServerError]},
		{idemddbtest.Throttle, false, 400, isType[*types.ProvisionedThroughputExceededException]},
		{idemddbtest.ThrottleAccount, false, 400, isType[*types.ThrottlingException]},
		{idemddbtest.TransactionConflict, false, 400, isType[*types.TransactionConflictException]},
		{idemddbtest.CanceledWithoutReasons, false, 400, isType[*types.TransactionConflictException]},
		{idemddbtest.ThrottleReason, false, 400, isType[*types.ThrottlingException]},
		{idemddbtest.TransactionInProgress, false, 400, isType[*types.TransactionInProgressException]},
		{idemddbtest.ReplicatedWriteConflict, false, 400, isType[*types.ReplicatedWriteConflictException]},
		{idemddbtest.AccessDenied, false, 400, func(err error) bool {
			return isType[*smithy.GenericAPIError](err) && code(err) == "AccessDeniedException"
		}},
		{idemddbtest.None, true, 0, func(err error) bool { return err == nil }},
	} {
		for way, open := range ways {
			t.Run(fmt.Sprintf("%s by %s", c.fault, way), func(t *testing.T) {
				t.Parallel()
				db := openDB(t, nil)
				db.ResetRequests()
				db.Inject(c.fault)
				err := putX(t.Context(), open(t, db))
				if !c.is(err) {
					t.Errorf("got %v", err)
				}
				if got := len(db.Items(table)) == 1; got != c.applied {
					t.Errorf("applied: got %v, want %v", got, c.applied)
				}
				if err != nil {
					shaped(t, err, c.status)
				}
				if got := db.Requests(); len(got) != 1 || got[0].Fault != c.fault {
					t.Errorf("logged: got %+v", got)
				}
			})
		}
	}
}

func isReset(err error) bool { return errors.Is(err, syscall.ECONNRESET) && code(err) == "" }

func isType[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// shaped checks that the error is wrapped as the SDK wraps errors.
func shaped(t *testing.T, err error, status int) {
	t.Helper()
	op, ok := err.(*smithy.OperationError)
	if !ok || op.Service() != "DynamoDB" || op.Operation() != "PutItem" {
		t.Errorf("got %T, want a smithy.OperationError of PutItem", err)
	}
	response, ok := errors.AsType[*awshttp.ResponseError](err)
	if !ok || response.HTTPStatusCode() != status {
		t.Errorf("got %v, want a response error with status %d", err, status)
	}
}

func TestALateReplyWaitsForTheContext(t *testing.T) {
	t.Parallel()
	for way, open := range ways {
		if way == "socket" { // sockets and bubbles do not mix
			continue
		}
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db := openDB(t, nil)
				db.Inject(idemddbtest.LateReply)
				start := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				err := putX(ctx, open(t, db))
				if !isType[*smithy.CanceledError](err) || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v", err)
				}
				if got := time.Since(start); got != 2*time.Second || len(db.Items(table)) != 1 {
					t.Errorf("got an answer after %v, %d items", got, len(db.Items(table)))
				}
			})
		})
	}
}

func TestALateReplyOverASocketWaitsForTheClient(t *testing.T) {
	t.Parallel()
	db := openDB(t, nil)
	c := overSocket(t, db)
	ctx, cancel := context.WithCancel(t.Context())
	db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
		defer time.AfterFunc(10*time.Millisecond, cancel)
		return idemddbtest.LateReply
	})
	if err := putX(ctx, c); !isType[*smithy.CanceledError](err) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestALateRequestIsAppliedWhenDelivered(t *testing.T) {
	t.Parallel()
	db := openDB(t, nil)
	it := attributes{"pk": s("x"), "a": s("first")}
	send := func() {
		_, _ = db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: new(table), Item: it, ConditionExpression: new("attribute_not_exists(pk)")})
	}
	db.Inject(idemddbtest.LateRequest, idemddbtest.LateRequest)
	send()
	it["a"] = s("second")
	send()
	if got := len(db.Items(table)); got != 0 {
		t.Errorf("got %d items before the delivery", got)
	}
	got := db.Deliver()
	if len(got) != 2 || got[0].Err != nil || !got[1].Refused {
		t.Errorf("got %+v, want the first applied and the second refused", got)
	}
	if got := db.Item(table, attributes{"pk": s("x")})["a"]; !reflect.DeepEqual(got, s("first")) {
		t.Errorf("got %s: the input was not copied, or not applied in order", show(got))
	}
	if got := db.Deliver(); len(got) != 0 {
		t.Errorf("delivered again: %+v", got)
	}
}

func TestFaultsMeetRequestsInOrder(t *testing.T) {
	t.Parallel()
	db := openDB(t, nil)
	db.Intercept(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
		if r.Operation == "PutItem" && reflect.DeepEqual(r.Key["pk"], s("x")) {
			return idemddbtest.AccessDenied
		}
		return idemddbtest.None
	})
	db.Inject(idemddbtest.Throttle, idemddbtest.None, idemddbtest.ServerError)
	var got []string
	for range 4 {
		got = append(got, code(putX(t.Context(), db)))
	}
	db.Intercept(nil)
	got = append(got, code(putX(t.Context(), db)))
	want := []string{"ProvisionedThroughputExceededException", "", "InternalServerError", "AccessDeniedException", ""}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAnInterceptorMayHoldARequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := openDB(t, nil)
		release := make(chan struct{})
		db.Intercept(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
			if r.Condition != "" {
				<-release
			}
			return idemddbtest.None
		})
		var wg sync.WaitGroup
		var held error
		wg.Go(func() {
			_, held = db.PutItem(t.Context(), &dynamodb.PutItemInput{
				TableName: new(table), Item: attributes{"pk": s("x")}, ConditionExpression: new("attribute_not_exists(pk)"),
			})
		})
		synctest.Wait()
		if err := putX(t.Context(), db); err != nil {
			t.Errorf("another request was held too: %v", err)
		}
		close(release)
		wg.Wait()
		if code(held) != refused {
			t.Errorf("got %v, want the held request to come second", held)
		}
	})
}

func TestARequestThatIsCanceledIsNotApplied(t *testing.T) {
	t.Parallel()
	db := openDB(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault { cancel(); return idemddbtest.None })
	for _, when := range []string{"on its way", "before it was sent"} {
		if err := putX(ctx, db); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v", when, err)
		}
	}
	if got := len(db.Items(table)); got != 0 {
		t.Errorf("got %d items", got)
	}
}

func TestARefusalCanLackItsItem(t *testing.T) {
	t.Parallel()
	db := openDB(t, nil)
	put(t, db, attributes{"pk": s("x")})
	for _, c := range []struct {
		fault idemddbtest.Fault
		want  attributes
	}{{idemddbtest.None, attributes{"pk": s("x")}}, {idemddbtest.ConditionWithoutItem, nil}} {
		db.Inject(c.fault)
		_, err := db.Client().PutItem(t.Context(), &dynamodb.PutItemInput{
			TableName: new(table), Item: attributes{"pk": s("x")}, ConditionExpression: new("attribute_not_exists(pk)"),
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		})
		e, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
		if !ok || !reflect.DeepEqual(e.Item, c.want) {
			t.Errorf("%q: got %v, item %s", c.fault, err, show(e.Item))
		}
	}
}

func TestAConflictCancelsATransaction(t *testing.T) {
	t.Parallel()
	db := openDB(t, nil)
	db.Inject(idemddbtest.TransactionConflict)
	_, err := db.Client().TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: &types.Put{TableName: new(table), Item: attributes{"pk": s("x")}}}, {Put: &types.Put{TableName: new(table), Item: attributes{"pk": s("y")}}},
	}})
	e, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok || *e.CancellationReasons[0].Code != "TransactionConflict" || *e.CancellationReasons[1].Code != "None" {
		t.Errorf("got %v", err)
	}
}

// The SDK's own retry hides a lost answer, and then meets its own write.
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
