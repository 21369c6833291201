package idemddbtest_test

import (
	"context"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

const table = "tab"

func openDB(t testing.TB, opts *idemddbtest.Options) *idemddbtest.DB {
	t.Helper()

	db := idemddbtest.New(opts)
	createTable(t, db, table, "pk", "S")

	return db
}

func put(t testing.TB, db *idemddbtest.DB, it attributes) {
	t.Helper()

	if _, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: new(table), Item: it}); err != nil {
		t.Fatal(err)
	}
}

func TestNothingIsSharedWithTheCaller(t *testing.T) {
	t.Parallel()
	db := openDB(t, nil)
	list := []types.AttributeValue{s("a")}
	bytes := []byte{1}
	it := attributes{"pk": s("x"), "l": &types.AttributeValueMemberL{Value: list}, "b": &types.AttributeValueMemberB{Value: bytes}}
	put(t, db, it)
	want := db.Item(table, attributes{"pk": s("x")})

	list[0], bytes[0] = s("changed"), 9

	delete(it, "l")

	out, err := db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: new(table), Key: attributes{"pk": s("x")}, ReturnValues: types.ReturnValueAllNew,
	})
	if err != nil {
		t.Fatal(err)
	}

	out.Attributes["b"].(*types.AttributeValueMemberB).Value[0] = 9
	db.Item(table, attributes{"pk": s("x")})["pk"].(*types.AttributeValueMemberS).Value = "changed"
	db.Items(table)[0]["l"].(*types.AttributeValueMemberL).Value[0] = s("changed")
	db.Requests()[1].Key["pk"].(*types.AttributeValueMemberS).Value = "changed"

	if got := db.Item(table, attributes{"pk": s("x")}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %s, want %s", show(got), show(want))
	}

	if got := db.Requests()[1].Key["pk"]; !reflect.DeepEqual(got, s("x")) {
		t.Errorf("logged key: got %s", show(got))
	}
}

func TestNumbersAreReturnedInTheirNormalForm(t *testing.T) {
	t.Parallel()

	db := openDB(t, nil)
	for in, want := range map[string]string{
		"1.0": "1", "007": "7", "-0.00": "0", "+1.10": "1.1", "1e2": "100", "1.5E-3": "0.0015", ".5": "0.5", "5.": "5", "0e200": "0",
		"1E+125": "1" + strings.Repeat("0", 125), "1e-130": "0." + strings.Repeat("0", 129) + "1",
	} {
		put(t, db, attributes{"pk": s("x"), "n": n(in)})

		if got := db.Item(table, attributes{"pk": s("x")})["n"]; !reflect.DeepEqual(got, n(want)) {
			t.Errorf("%s: got %s, want %s", in, show(got), want)
		}
	}
}

func TestItemsAreOrderedByKey(t *testing.T) {
	t.Parallel()

	db := idemddbtest.New(nil)
	createTable(t, db, table, "pk", "S", "sk", "N")

	for _, k := range [][2]string{{"b", "1"}, {"a", "10"}, {"a", "9"}, {"a", "-1"}} {
		put(t, db, attributes{"pk": s(k[0]), "sk": n(k[1])})
	}

	var got []string
	for _, it := range db.Items(table) {
		got = append(got, it["pk"].(*types.AttributeValueMemberS).Value+it["sk"].(*types.AttributeValueMemberN).Value)
	}

	if want := []string{"a-1", "a9", "a10", "b1"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}

	if db.Items("nosuch") != nil || db.Item("nosuch", nil) != nil || db.Item(table, attributes{"pk": s("a")}) != nil {
		t.Error("something came out of nothing")
	}
}

func TestWriteUnits(t *testing.T) {
	t.Parallel()
	db := openDB(t, nil)
	big := s(strings.Repeat("x", 2500))
	x, y := attributes{"pk": s("x")}, attributes{"pk": s("y")}
	exists, missing := new("attribute_exists(pk)"), new("attribute_not_exists(pk)")

	for _, c := range []struct {
		what string
		do   func(ctx context.Context) error
		want int
	}{
		{"a small new item costs 1", func(ctx context.Context) error {
			_, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: new(table), Item: y})

			return err
		}, 1},
		{"a new item costs its size", func(ctx context.Context) error {
			_, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: new(table), Item: attributes{"pk": s("x"), "a": big}})

			return err
		}, 3},
		{"a refused write costs the size of the item that is there", func(ctx context.Context) error {
			_, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: new(table), Item: x, ConditionExpression: missing})

			return err
		}, 3},
		{"a small change costs the whole item", func(ctx context.Context) error {
			_, err := db.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: new(table), Key: x, UpdateExpression: new("SET b = pk")})

			return err
		}, 3},
		{"a smaller item costs what was there", func(ctx context.Context) error {
			_, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: new(table), Item: x})

			return err
		}, 3},
		{"a refused write of a missing item costs 1", func(ctx context.Context) error {
			_, err := db.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: new(table), Key: attributes{"pk": s("z")}, ConditionExpression: exists})

			return err
		}, 1},
		{"a transaction costs twice", func(ctx context.Context) error {
			_, err := db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
				{Put: &types.Put{TableName: new(table), Item: attributes{"pk": s("x"), "a": big}}},
				{ConditionCheck: &types.ConditionCheck{TableName: new(table), Key: y, ConditionExpression: exists}},
			}})

			return err
		}, 8},
		{"a canceled transaction costs twice too", func(ctx context.Context) error {
			_, err := db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
				{Put: &types.Put{TableName: new(table), Item: x}},
				{ConditionCheck: &types.ConditionCheck{TableName: new(table), Key: y, ConditionExpression: missing}},
			}})

			return err
		}, 8},
		{"an invalid request costs nothing", func(ctx context.Context) error {
			_, err := db.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: new(table), Key: x, UpdateExpression: new("SET")})

			return err
		}, 0},
		{"a read writes nothing", func(ctx context.Context) error {
			_, err := db.GetItem(ctx, &dynamodb.GetItemInput{TableName: new(table), Key: x})

			return err
		}, 0},
	} {
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

func TestExpireDeletesWhatTimeToLiveWould(t *testing.T) {
	t.Parallel()

	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	clock := idemddbtest.NewClock(now)
	db := openDB(t, &idemddbtest.Options{Now: clock.Now})
	ttl := &types.TimeToLiveSpecification{AttributeName: new("exp"), Enabled: new(true)}

	seconds := func(d time.Duration) string { return strconv.FormatInt(now.Add(d).Unix(), 10) }
	for name, exp := range map[string]types.AttributeValue{
		"past": n(seconds(-time.Second)), "future": n(seconds(time.Hour)), "text": s(seconds(-time.Hour)),
		"milliseconds": n(seconds(-time.Hour) + "000"), "six years ago": n(seconds(-6 * 366 * 24 * time.Hour)), "none": n("0"),
	} {
		put(t, db, attributes{"pk": s(name), "exp": exp})
	}

	if got := db.Expire(); got != 0 {
		t.Errorf("without Time to Live: got %d deleted", got)
	}

	if _, err := db.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{TableName: new(table), TimeToLiveSpecification: ttl}); err != nil {
		t.Fatal(err)
	}

	if db.Item(table, attributes{"pk": s("past")}) == nil {
		t.Error("an expired item went by itself")
	}

	if got := db.Expire(); got != 1 || db.Item(table, attributes{"pk": s("past")}) != nil {
		t.Errorf("got %d deleted, want the one that is past", got)
	}

	clock.Advance(2 * time.Hour)

	if got := db.Expire(); got != 1 || db.Item(table, attributes{"pk": s("future")}) != nil {
		t.Errorf("later: got %d deleted, want the one that was in the future", got)
	}
}

func TestAClientRequestTokenHoldsTenMinutes(t *testing.T) {
	t.Parallel()

	clock := idemddbtest.NewClock(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	db := openDB(t, &idemddbtest.Options{Now: clock.Now})
	add := func(by string) error {
		_, err := db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{
			ClientRequestToken: new("token"),
			TransactItems: []types.TransactWriteItem{{Update: &types.Update{
				TableName: new(table), Key: attributes{"pk": s("x")}, UpdateExpression: new("ADD n :by"), ExpressionAttributeValues: attributes{":by": n(by)},
			}}},
		})

		return err
	}
	want := func(total string) {
		t.Helper()

		if got := db.Item(table, attributes{"pk": s("x")})["n"]; !reflect.DeepEqual(got, n(total)) {
			t.Errorf("got %s, want %s", show(got), total)
		}
	}

	for range 2 {
		if err := add("1"); err != nil {
			t.Fatal(err)
		}
	}

	want("1")

	if _, ok := errors.AsType[*types.IdempotentParameterMismatchException](add("2")); !ok {
		t.Error("another transaction under the same token was taken")
	}

	clock.Advance(10 * time.Minute)

	if err := add("1"); err != nil {
		t.Fatal(err)
	}

	want("2")
}

func TestATransactionAnswersAReasonForEachPart(t *testing.T) {
	t.Parallel()
	db := openDB(t, nil)
	put(t, db, attributes{"pk": s("x"), "a": n("1")})

	part := func(key, update string, rv types.ReturnValuesOnConditionCheckFailure) types.TransactWriteItem {
		return types.TransactWriteItem{Update: &types.Update{
			TableName: new(table), Key: attributes{"pk": s(key)}, UpdateExpression: &update, ConditionExpression: new("attribute_not_exists(a)"),
			ReturnValuesOnConditionCheckFailure: rv,
		}}
	}
	_, err := db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		part("new", "SET b = pk", ""), part("x", "SET b = pk", types.ReturnValuesOnConditionCheckFailureAllOld), part("other", "SET b = nosuch", ""),
	}})

	canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok || len(canceled.CancellationReasons) != 3 {
		t.Fatalf("got %v", err)
	}

	for i, want := range []string{"None", "ConditionalCheckFailed", "ValidationError"} {
		if got := *canceled.CancellationReasons[i].Code; got != want {
			t.Errorf("reason %d: got %s, want %s", i, got, want)
		}
	}

	if got, want := canceled.CancellationReasons[1].Item, db.Item(table, attributes{"pk": s("x")}); !reflect.DeepEqual(got, want) {
		t.Errorf("item: got %s, want %s", show(got), show(want))
	}

	if got := len(db.Items(table)); got != 1 {
		t.Errorf("got %d items: a canceled transaction wrote", got)
	}

	_, err = db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		part("new", "SET b = pk", ""), part("new", "SET a = pk", ""),
	}})
	if api, ok := errors.AsType[smithy.APIError](err); !ok || api.ErrorCode() != invalid {
		t.Errorf("two parts for one item: got %v", err)
	}
}

func TestOneOfManyClaimersWins(t *testing.T) {
	t.Parallel()
	db := openDB(t, nil)

	var wg sync.WaitGroup

	wins := make(chan string, 64)

	for i := range 64 {
		wg.Go(func() {
			_, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{
				TableName: new(table), Item: attributes{"pk": s("x"), "own": s(strconv.Itoa(i))}, ConditionExpression: new("attribute_not_exists(pk)"),
			})
			if err == nil {
				wins <- strconv.Itoa(i)
			}
		})
	}

	wg.Wait()
	close(wins)

	if len(wins) != 1 || !reflect.DeepEqual(db.Items(table)[0]["own"], s(<-wins)) {
		t.Errorf("got %d winners, want 1, the stored one", len(wins))
	}
}

// claimInput is the update of a claim, with ten attributes.
func claimInput() *dynamodb.UpdateItemInput {
	return &dynamodb.UpdateItemInput{
		TableName: new(table), Key: attributes{"pk": s("namespace#key")}, ReturnValues: types.ReturnValueAllOld,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		ConditionExpression:                 new(claimCondition), UpdateExpression: new(claimUpdate),
		ExpressionAttributeNames: map[string]string{"#exp": "exp"},
		ExpressionAttributeValues: attributes{
			":v": n("1"), ":inprogress": s("INPROGRESS"), ":before": n("1700000000000"), ":nowsec": n("0"), ":mine": s("request-id/random"), ":fp": s("1:a"), ":fpver": s("1:"),
			":max": n("1000000000"), ":now": n("1700000000000"), ":one": n("1"), ":until": n("1600000000000"), ":exp": n("1800000000"), ":zero": n("0"),
		},
	}
}

func BenchmarkUpdateItem(b *testing.B) {
	benchmarkUpdate(b, func(db *idemddbtest.DB) updater { return db })
}
func BenchmarkClientUpdateItem(b *testing.B) {
	benchmarkUpdate(b, func(db *idemddbtest.DB) updater { return db.Client() })
}

type updater interface {
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
}

func benchmarkUpdate(b *testing.B, open func(*idemddbtest.DB) updater) {
	b.Helper()
	b.ReportAllocs()
	db := openDB(b, nil)
	c, in := open(db), claimInput()
	mine := [2]types.AttributeValue{s("a"), s("b")}

	for i := 0; b.Loop(); i++ {
		db.ResetRequests() // the log would grow with each iteration

		in.ExpressionAttributeValues[":mine"] = mine[i%2]
		if _, err := c.UpdateItem(b.Context(), in); err != nil {
			b.Fatal(err)
		}
	}
}
