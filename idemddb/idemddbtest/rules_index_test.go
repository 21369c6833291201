package idemddbtest_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// indexed is a schema with a sparse index "unsent": partition key p, a string, and sort key d, a number.
func indexed(name string) *dynamodb.CreateTableInput {
	define := func(name, typ string) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: &name, AttributeType: types.ScalarAttributeType(typ)}
	}
	return &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{define("pk", "S"), define("p", "S"), define("d", "N")},
		KeySchema:            []types.KeySchemaElement{{AttributeName: new("pk"), KeyType: types.KeyTypeHash}},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName: new("unsent"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
			KeySchema: []types.KeySchemaElement{{AttributeName: new("p"), KeyType: types.KeyTypeHash}, {AttributeName: new("d"), KeyType: types.KeyTypeRange}},
		}},
	}
}

// withIndex makes a table of that schema on both engines.
func (p *pair) withIndex(t *testing.T) string {
	t.Helper()
	name := "indexed" + rand.Text()[:8]
	for _, c := range []*dynamodb.Client{p.ours, p.theirs} {
		if _, err := c.CreateTable(t.Context(), indexed(name)); err != nil {
			t.Fatal(err)
		}
	}
	return name
}

// both sends the same to both engines and returns what they answer; the answers are nil beside an error.
func both[In, Out any](t *testing.T, p *pair, call func(*dynamodb.Client, context.Context, In, ...func(*dynamodb.Options)) (*Out, error), in In) (ours, theirs *Out, codes [2]string) {
	t.Helper()
	var err [2]error
	ours, err[0] = call(p.ours, t.Context(), in)
	theirs, err[1] = call(p.theirs, t.Context(), in)
	for i, e := range err {
		if api, ok := errors.AsType[smithy.APIError](e); ok {
			codes[i] = api.ErrorCode()
		} else if e != nil {
			t.Fatal(e)
		}
	}
	return ours, theirs, codes
}

// TestRulesOfIndexes compares how tables with indexes are made.
func TestRulesOfIndexes(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	for rule, change := range map[string]func(*dynamodb.CreateTableInput, *types.GlobalSecondaryIndex){
		"an index is made with its table": func(*dynamodb.CreateTableInput, *types.GlobalSecondaryIndex) {},
		"an index may project all": func(_ *dynamodb.CreateTableInput, ix *types.GlobalSecondaryIndex) {
			ix.Projection.ProjectionType = "ALL"
		},
		"a projection has a type": func(_ *dynamodb.CreateTableInput, ix *types.GlobalSecondaryIndex) { ix.Projection.ProjectionType = "" },
		"INCLUDE includes something": func(_ *dynamodb.CreateTableInput, ix *types.GlobalSecondaryIndex) {
			ix.Projection.ProjectionType = "INCLUDE"
		},
		"KEYS_ONLY includes nothing": func(_ *dynamodb.CreateTableInput, ix *types.GlobalSecondaryIndex) {
			ix.Projection.NonKeyAttributes = []string{"x"}
		},
		"an index has a name": func(_ *dynamodb.CreateTableInput, ix *types.GlobalSecondaryIndex) { ix.IndexName = new("ab") },
		"key attributes are defined": func(in *dynamodb.CreateTableInput, _ *types.GlobalSecondaryIndex) {
			in.AttributeDefinitions = in.AttributeDefinitions[:2]
		},
		"two indexes have two names": func(in *dynamodb.CreateTableInput, ix *types.GlobalSecondaryIndex) {
			in.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{*ix, *ix}
		},
		"a list of indexes is not empty": func(in *dynamodb.CreateTableInput, _ *types.GlobalSecondaryIndex) {
			in.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{}
		},
		"the partition key comes first":    func(_ *dynamodb.CreateTableInput, ix *types.GlobalSecondaryIndex) { slices.Reverse(ix.KeySchema) },
		"a definition belongs to some key": func(in *dynamodb.CreateTableInput, _ *types.GlobalSecondaryIndex) { in.GlobalSecondaryIndexes = nil },
	} {
		in := indexed("made" + rand.Text())
		change(in, &in.GlobalSecondaryIndexes[0])
		_, _, codes := both(t, p, (*dynamodb.Client).CreateTable, in)
		if want := map[bool]string{true: "", false: invalid}[strings.HasPrefix(rule, "an index is") || strings.HasPrefix(rule, "an index may")]; codes != [2]string{want, want} {
			t.Errorf("%s: got %q and %q, want %q", rule, codes[0], codes[1], want)
		}
	}
}

// TestWritesOfIndexedItems compares what writes cost and what they may not bring for the key of an index.
func TestWritesOfIndexedItems(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	name := p.withIndex(t)
	long := s(strings.Repeat("k", 2049))
	for _, c := range []struct {
		rule   string
		item   attributes // what is put; else the update
		update string
		x      types.AttributeValue
		want   string // "invalid", or the units of the table and of the index
	}{
		{"an item without the index's keys is not in it", attributes{}, "", nil, "1 0"},
		{"an item with one of them is not either", attributes{"p": s("0")}, "", nil, "1 0"},
		{"an item enters the index", attributes{"p": s("0"), "d": n("1")}, "", nil, "1 1"},
		{"an entry that stays costs nothing", attributes{"p": s("0"), "d": n("1.0"), "x": s(strings.Repeat("x", 2500))}, "", nil, "3 0"},
		{"what is not projected costs nothing", nil, "SET y = :x", s("y"), "3 0"},
		{"another sort key is a deletion and a write", nil, "SET d = :x", n("2"), "3 2"},
		{"another partition key is a deletion and a write", nil, "SET p = :x", s("1"), "3 2"},
		{"an entry of 2 KB costs two", nil, "SET p = :x", s(strings.Repeat("k", 1500)), "4 3"},
		{"an item leaves the index", nil, "SET y = :x REMOVE d", s("y"), "4 2"},
		{"an update enters the index", nil, "SET d = :x", n("2"), "4 2"},

		{"an update sets a key of its type", nil, "SET d = :x", s("2"), invalid},
		{"an update sets no empty key", nil, "SET p = :x", s(""), invalid},
		{"an update sets no key beyond its size", nil, "SET p = :x", long, invalid},
		{"a put has a key of its type", attributes{"p": n("0"), "d": n("1")}, "", nil, invalid},
		{"a put has it even if the item is not in the index", attributes{"p": n("0")}, "", nil, invalid},
		{"null is not of the type", attributes{"p": &types.AttributeValueMemberNULL{Value: true}}, "", nil, invalid},
		{"a put has no empty key", attributes{"p": s("")}, "", nil, invalid},
		{"a put has no key beyond its size", attributes{"p": long}, "", nil, invalid},
	} {
		key := attributes{"pk": s("k")}
		var got [2]string
		for i, client := range []*dynamodb.Client{p.ours, p.theirs} {
			if c.item != nil {
				out, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: withKey(c.item, key), ReturnConsumedCapacity: "INDEXES"})
				got[i] = unitsOf(err, func() *types.ConsumedCapacity { return out.ConsumedCapacity })
				continue
			}
			out, err := client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
				TableName: &name, Key: key, UpdateExpression: &c.update, ExpressionAttributeValues: attributes{":x": c.x}, ReturnConsumedCapacity: "INDEXES",
			})
			got[i] = unitsOf(err, func() *types.ConsumedCapacity { return out.ConsumedCapacity })
		}
		if got != [2]string{c.want, c.want} {
			t.Errorf("%s: got %q, DynamoDB Local answers %q, want %q", c.rule, got[0], got[1], c.want)
		}
	}
}

func unitsOf(err error, capacity func() *types.ConsumedCapacity) string {
	if err != nil {
		return code(err)
	}
	c := capacity()
	var ofIndex float64
	if used, ok := c.GlobalSecondaryIndexes["unsent"]; ok {
		ofIndex = *used.CapacityUnits
	}
	if *c.CapacityUnits != *c.Table.CapacityUnits+ofIndex {
		return fmt.Sprint("a sum of ", *c.CapacityUnits)
	}
	return fmt.Sprint(*c.Table.CapacityUnits, " ", ofIndex)
}

// TestTransactionsOfIndexedItems states what a wrong key of an index does to a transaction, and that the units of an index are
// not doubled: DynamoDB writes an index after the transaction, as after any other write. DynamoDB Local doubles them.
func TestTransactionsOfIndexedItems(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	name := p.withIndex(t)
	put := func(it attributes) types.TransactWriteItem {
		return types.TransactWriteItem{Put: &types.Put{TableName: &name, Item: withKey(it, attributes{"pk": s("k")})}}
	}
	set := func(expression string, x types.AttributeValue) types.TransactWriteItem {
		return types.TransactWriteItem{Update: &types.Update{
			TableName: &name, Key: attributes{"pk": s("k")}, UpdateExpression: &expression, ExpressionAttributeValues: attributes{":x": x},
		}}
	}
	other := types.TransactWriteItem{Put: &types.Put{TableName: &name, Item: attributes{"pk": s("other")}}}
	const reason = canceled + " None ValidationError"
	for _, c := range []struct {
		rule        string
		item        types.TransactWriteItem
		want, local string
	}{
		{"a put of the wrong type is its item's reason", put(attributes{"p": n("0")}), reason, reason},
		{"an update to the wrong type is its item's reason", set("SET d = :x", s("0")), reason, reason},
		{"a put of an empty key refuses the whole", put(attributes{"p": s("")}), invalid, invalid},
		{"an update to an empty key is its item's reason", set("SET p = :x", s("")), reason, invalid},
		{"an update beyond the size is its item's reason", set("SET p = :x", s(strings.Repeat("k", 2049))), reason, invalid},
		{"an item enters the index", put(attributes{"p": s("0"), "d": n("1")}), "4 1", "4 2"},
		{"an item moves in the index", set("SET d = :x", n("2")), "4 2", "4 4"},
		{"an item leaves the index", set("SET x = :x REMOVE d", n("2")), "4 1", "4 2"},
	} {
		var got [2]string
		for i, client := range []*dynamodb.Client{p.ours, p.theirs} {
			out, err := client.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{
				TransactItems: []types.TransactWriteItem{other, c.item}, ReturnConsumedCapacity: "INDEXES",
			})
			var a answer
			a.refused(err)
			if got[i] = inShort(a); err == nil {
				got[i] = unitsOf(nil, func() *types.ConsumedCapacity { return &out.ConsumedCapacity[0] })
			}
		}
		if got != [2]string{c.want, c.local} {
			t.Errorf("%s: got %q, DynamoDB Local answers %q, want %q and %q", c.rule, got[0], got[1], c.want, c.local)
		}
	}
}

func TestATableDescribesItsIndexes(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	name := p.withIndex(t)
	for _, c := range []*dynamodb.Client{p.ours, p.theirs} {
		for _, it := range []attributes{{"pk": s("in"), "p": s("0"), "d": n("1")}, {"pk": s("out"), "p": s("0")}} {
			if _, err := c.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: it}); err != nil {
				t.Fatal(err)
			}
		}
	}
	ours, theirs, _ := both(t, p, (*dynamodb.Client).DescribeTable, &dynamodb.DescribeTableInput{TableName: &name})
	got, want := ours.Table.GlobalSecondaryIndexes[0], theirs.Table.GlobalSecondaryIndexes[0]
	if *got.ItemCount != 1 || *got.IndexSizeBytes != 9 {
		t.Errorf("got %s", show(got))
	}
	for _, d := range []*types.GlobalSecondaryIndexDescription{&got, &want} {
		d.IndexArn, d.ItemCount, d.IndexSizeBytes = nil, nil, nil // of another Region, and counted at another time
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %s, DynamoDB Local answers %s", show(got), show(want))
	}
}
