package idemddbtest_test

import (
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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
