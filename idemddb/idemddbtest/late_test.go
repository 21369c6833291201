package idemddbtest_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

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

	it["a"].(*types.AttributeValueMemberS).Value = "second" // the caller's own item, and a value in it

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
