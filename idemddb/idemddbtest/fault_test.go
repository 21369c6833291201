package idemddbtest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"reflect"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// calls are the calls that a test makes in each of the ways.
type calls interface {
	idemddb.DynamoDB
	idemddb.Transactor
}

// ways are the three ways to send a request: the direct call, the SDK's client without sockets, the SDK's client over a socket.
var ways = map[string]func(t *testing.T, db *idemddbtest.DB) calls{
	"direct": func(t *testing.T, db *idemddbtest.DB) calls {
		t.Helper()

		return db
	},
	"client": func(t *testing.T, db *idemddbtest.DB) calls {
		t.Helper()

		return once(db.Client().Options())
	},
	"socket": func(t *testing.T, db *idemddbtest.DB) calls {
		t.Helper()

		return overSocket(t, db)
	},
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

// once returns a client that sends each request once, as the library does.
func once(o dynamodb.Options) *dynamodb.Client {
	o.Retryer = aws.NopRetryer{}

	return dynamodb.New(o)
}

func putX(ctx context.Context, c calls) error {
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

func TestFaultsAreInjectedInOrder(t *testing.T) {
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

		var (
			wg   sync.WaitGroup
			held error
		)

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

	db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
		cancel()

		return idemddbtest.None
	})

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
