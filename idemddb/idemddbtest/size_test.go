package idemddbtest_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/attribute"
)

// TestSizes fills random items up to what is 1,024 bytes by our count, and one more: the real engine must charge 1 and 2 units.
func TestSizes(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	rapid.Check(t, func(t *rapid.T) {
		g := &generator{T: t, pair: p}
		it := attributes{"pk": s("size"), "a": g.value(0), "b": g.value(0), "n": g.number(), "l": g.typical("l")}

		it, err := attribute.Adopt(it)
		if err != nil {
			t.Skip("drew an invalid value")
		}

		room := 1024 - attribute.ItemSize(it) - len("pad")
		if room < 0 {
			t.Skip("drew a large value")
		}

		for units := 1.0; units <= 2; units++ {
			it["pad"] = s(strings.Repeat("x", room+int(units)-1))
			put := &dynamodb.PutItemInput{TableName: &p.simple, Item: it, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal}
			ask(p.theirs, &dynamodb.DeleteItemInput{TableName: &p.simple, Key: attributes{"pk": it["pk"]}})

			if got := ask(p.theirs, put); len(got.Units) != 1 || got.Units[0] != units {
				t.Fatalf("%s: the real engine charges %v, want %v", show(it), got.Units, units)
			}
		}
	})
}

func TestWriteUnitsOfSingleWrites(t *testing.T) {
	t.Parallel()
	db := openDB(t, nil)
	big := attributes{"pk": s("x"), "a": s(strings.Repeat("x", 2500))}
	x, y := attributes{"pk": s("x")}, attributes{"pk": s("y")}
	exists, missing := new("attribute_exists(pk)"), new("attribute_not_exists(pk)")

	checkWriteUnits(t, db, []pricedCall{
		{"a small new item costs 1", putIf(db, y, nil), 1},
		{"a new item costs its size", putIf(db, big, nil), 3},
		{"a refused write costs the size of the item that is there", putIf(db, x, missing), 3},
		{"a small change costs the whole item", func(ctx context.Context) error {
			return errorOf(db.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: new(table), Key: x, UpdateExpression: new("SET b = pk")}))
		}, 3},
		{"a smaller item costs what was there", putIf(db, x, nil), 3},
		{"a refused write of a missing item costs 1", func(ctx context.Context) error {
			return errorOf(db.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: new(table), Key: attributes{"pk": s("z")}, ConditionExpression: exists}))
		}, 1},
		{"an invalid request costs nothing", func(ctx context.Context) error {
			return errorOf(db.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: new(table), Key: x, UpdateExpression: new("SET")}))
		}, 0},
		{"a read writes nothing", func(ctx context.Context) error {
			return errorOf(db.GetItem(ctx, &dynamodb.GetItemInput{TableName: new(table), Key: x}))
		}, 0},
	})
}

func TestWriteUnitsOfTransactions(t *testing.T) {
	t.Parallel()
	db := openDB(t, nil)
	x, y := attributes{"pk": s("x")}, attributes{"pk": s("y")}
	put(t, db, x)
	put(t, db, y)

	putAndCheck := func(it attributes, condition string) func(context.Context) error {
		return func(ctx context.Context) error {
			return errorOf(db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
				{Put: &types.Put{TableName: new(table), Item: it}},
				{ConditionCheck: &types.ConditionCheck{TableName: new(table), Key: y, ConditionExpression: &condition}},
			}}))
		}
	}

	checkWriteUnits(t, db, []pricedCall{
		{"a transaction costs twice", putAndCheck(attributes{"pk": s("x"), "a": s(strings.Repeat("x", 2500))}, "attribute_exists(pk)"), 8},
		{"a canceled transaction costs twice too", putAndCheck(x, "attribute_not_exists(pk)"), 8},
	})
}

// putIf returns a call that writes an item under a condition; under none if that is nil.
func putIf(db *idemddbtest.DB, it attributes, condition *string) func(context.Context) error {
	return func(ctx context.Context) error {
		return errorOf(db.PutItem(ctx, &dynamodb.PutItemInput{TableName: new(table), Item: it, ConditionExpression: condition}))
	}
}

// pricedCall is one request and the write units that it costs.
type pricedCall struct {
	what string
	do   func(ctx context.Context) error
	want int
}

func checkWriteUnits(t *testing.T, db *idemddbtest.DB, calls []pricedCall) {
	t.Helper()

	for _, c := range calls {
		db.ResetRequests()

		err := c.do(t.Context())

		got := db.Requests()
		if len(got) != 1 || got[0].WriteUnits != c.want {
			t.Errorf("%s: got %+v, want %d units", c.what, got, c.want)

			continue
		}

		if (got[0].Err == nil) != (err == nil) || err != nil && !errors.Is(err, got[0].Err) {
			t.Errorf("%s: logged %v, answered %v", c.what, got[0].Err, err)
		}

		if got[0].Refused != strings.Contains(c.what, "refused") && !strings.Contains(c.what, "canceled") {
			t.Errorf("%s: Refused is %v", c.what, got[0].Refused)
		}
	}
}
