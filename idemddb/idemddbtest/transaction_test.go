package idemddbtest_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// transaction adds one to n of each of these keys, if n is not above 9.
func transaction(keys ...string) *dynamodb.TransactWriteItemsInput {
	in := &dynamodb.TransactWriteItemsInput{}
	for _, key := range keys {
		in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Update: &types.Update{
			TableName: new(table), Key: attributes{"pk": s(key)}, UpdateExpression: new("ADD n :one"),
			ConditionExpression:                 new("attribute_not_exists(n) OR n < :ten"),
			ExpressionAttributeValues:           attributes{":one": n("1"), ":ten": n("10")},
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		}})
	}
	return in
}

func under(token string, in *dynamodb.TransactWriteItemsInput) *dynamodb.TransactWriteItemsInput {
	in.ClientRequestToken = &token
	return in
}

func begin(t *testing.T, db *idemddbtest.DB, in *dynamodb.TransactWriteItemsInput) *idemddbtest.Transaction {
	t.Helper()
	tx, err := db.Begin(in)
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

// sent is what a transaction is answered: "" or a code, then those of the reasons.
func sent(t *testing.T, c calls, in *dynamodb.TransactWriteItemsInput) string {
	t.Helper()
	_, err := c.TransactWriteItems(t.Context(), in)
	var a answer
	a.refused(err)
	return inShort(a)
}

func wantNumber(t *testing.T, db *idemddbtest.DB, key, want string) {
	t.Helper()
	got := "none"
	if v, ok := db.Item(table, attributes{"pk": s(key)})["n"].(*types.AttributeValueMemberN); ok {
		got = v.Value
	}
	if got != want {
		t.Errorf("n of %s: got %s, want %s", key, got, want)
	}
}

func TestATransactionInFlightHoldsItsItems(t *testing.T) {
	t.Parallel()
	const conflict = "TransactionConflictException"
	x := attributes{"pk": s("x")}
	writes := map[string]func(context.Context, calls) error{
		"PutItem": putX,
		"UpdateItem": func(ctx context.Context, c calls) error {
			return errorOf(c.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: new(table), Key: x}))
		},
		"DeleteItem": func(ctx context.Context, c calls) error {
			return errorOf(c.(deleter).DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: new(table), Key: x}))
		},
		"a refused PutItem": func(ctx context.Context, c calls) error {
			return errorOf(c.PutItem(ctx, &dynamodb.PutItemInput{TableName: new(table), Item: x, ConditionExpression: new("attribute_exists(nosuch)")}))
		},
	}
	for way, open := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			db := openDB(t, nil)
			put(t, db, attributes{"pk": s("x"), "n": n("5")})
			c := open(t, db)
			tx := begin(t, db, transaction("x", "y"))

			for name, write := range writes {
				if got := code(write(t.Context(), c)); got != conflict {
					t.Errorf("%s: got %q, want %q", name, got, conflict)
				}
			}
			if got, err := execute(t.Context(), c.(batcher), insertOf("free"), insertOf("x")); err != nil || got[0].Code != "" || got[1].Code != "TransactionConflict" {
				t.Errorf("a statement beside one that is applied: got %s, %v", show(got), err)
			}
			if got, want := sent(t, c, transaction("a", "y", "x", "b")), canceled+" None TransactionConflict TransactionConflict None"; got != want {
				t.Errorf("a transaction: got %q, want %q", got, want)
			}
			if got := sent(t, c, transaction("a")); got != "" {
				t.Errorf("a transaction with other items: got %q", got)
			}
			wantNumber(t, db, "x", "5") // reads see the item as it was

			tx.Commit()
			wantNumber(t, db, "x", "6")
			wantNumber(t, db, "y", "1")
			if got := sent(t, c, transaction("x", "y")); got != "" {
				t.Errorf("after the commit: got %q", got)
			}
		})
	}
}

type deleter interface {
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
}

// While a transaction is committed item by item, a second try of it gets two kinds of reasons: a conflict for an item that is not
// committed yet, and a refused condition for one that is.
func TestAnItemIsCommittedBeforeTheOthers(t *testing.T) {
	t.Parallel()
	db := openDB(t, nil)
	put(t, db, attributes{"pk": s("y"), "n": n("9")})
	tx := begin(t, db, transaction("x", "y", "z"))
	tx.CommitItem(1)
	tx.CommitItem(1)
	wantNumber(t, db, "x", "none")
	wantNumber(t, db, "y", "10")
	if got, want := sent(t, db, transaction("x", "y", "z")), canceled+" TransactionConflict ConditionalCheckFailed TransactionConflict"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	tx.Cancel() // DynamoDB commits what it has begun to commit
	tx.CommitItem(0)
	if got, want := sent(t, db, transaction("x", "z")), canceled+" None TransactionConflict"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := len(db.InFlight()); got != 1 {
		t.Errorf("got %d transactions in flight, want 1", got)
	}
	tx.CommitItem(2)
	if got := len(db.InFlight()); got != 0 {
		t.Errorf("got %d transactions in flight after the last item", got)
	}
	tx.Commit()
	wantNumber(t, db, "x", "1")
	wantNumber(t, db, "z", "1")
}

func TestACanceledTransactionWritesNothing(t *testing.T) {
	t.Parallel()
	db := openDB(t, nil)
	tx := begin(t, db, under("token", transaction("x")))
	tx.Cancel()
	tx.Commit()
	tx.CommitItem(0)
	wantNumber(t, db, "x", "none")
	if got := sent(t, db, under("token", transaction("y"))); got != "" {
		t.Errorf("its token is free: got %q", got)
	}
	if _, err := db.Begin(transaction("x", "x")); code(err) != invalid {
		t.Errorf("an invalid transaction: got %v", err)
	}
	if got := len(db.Requests()); got != 2 { // these are CreateTable and the request that was sent
		t.Errorf("got %d requests: what somebody else did was logged", got)
	}
}

func TestTimeToLiveLeavesAnItemThatIsHeld(t *testing.T) {
	t.Parallel()
	db := openDB(t, nil)
	if _, err := db.UpdateTimeToLive(t.Context(), timeToLive()); err != nil {
		t.Fatal(err)
	}
	put(t, db, attributes{"pk": s("x"), "exp": n(fmtUnix(time.Now().Add(-time.Hour)))})
	tx := begin(t, db, transaction("x"))
	if got := db.Expire(); got != 0 {
		t.Errorf("got %d deleted", got)
	}
	tx.Cancel()
	if got := db.Expire(); got != 1 {
		t.Errorf("got %d deleted, want 1", got)
	}
}

// A transaction holds what it checks as well as what it writes.
func TestAConditionCheckHoldsItsItem(t *testing.T) {
	t.Parallel()
	db := openDB(t, nil)
	put(t, db, attributes{"pk": s("x")})
	tx := begin(t, db, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{ConditionCheck: &types.ConditionCheck{
		TableName: new(table), Key: attributes{"pk": s("x")}, ConditionExpression: new("attribute_exists(pk)"),
	}}}})
	if got := code(putX(t.Context(), db)); got != "TransactionConflictException" {
		t.Errorf("got %q", got)
	}

	tx.Commit()

	if err := putX(t.Context(), db); err != nil {
		t.Errorf("after the commit: got %v", err)
	}
}
