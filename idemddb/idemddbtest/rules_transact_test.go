package idemddbtest_test

import (
	"crypto/rand"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	canceled = "TransactionCanceledException"
	mismatch = "IdempotentParameterMismatchException"
)

// Three kilobytes below the limit of an item.
var nearLimit = s(strings.Repeat("x", 397<<10))

// TestRulesOfTransactions states what refuses a transaction as a whole and what cancels it for one of its items, and asks a real
// engine. Where DynamoDB Local is known to differ from the service's documentation, the rule says so.
func TestRulesOfTransactions(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	there := p.seeded(t, attributes{"a": s("text"), "n": n("1"), "big": nearLimit})
	gone := attributes{"pk": s(rand.Text())}
	one, large := attributes{":x": n("1")}, attributes{":x": s(strings.Repeat("x", 4<<10))}
	for _, c := range []struct {
		rule  string
		items []types.TransactWriteItem
		want  string // the code, then for a canceled transaction those of its reasons
		local string // what DynamoDB Local answers, "" for the same
	}{
		{"nothing is no transaction", []types.TransactWriteItem{}, invalid, ""},
		{"a hundred items are a transaction", p.puts(100, s("")), "", ""},
		{"a hundred and one are not", p.puts(101, s("")), invalid, ""},
		{"up to 4 MB are written", p.puts(10, nearLimit), "", ""},
		{"more than 4 MB are not", p.puts(11, nearLimit), invalid, ""},
		{"what updates set counts too", p.updates(11, nearLimit), invalid, ""},
		{"an item is named once", []types.TransactWriteItem{p.update(there, "SET b = :x", one), p.check(there, "attribute_exists(pk)")}, invalid, ""},
		{"a part does one thing", []types.TransactWriteItem{{Put: p.put(gone).Put, Delete: &types.Delete{TableName: &p.simple, Key: there}}}, invalid, ""},
		{"a part does something", []types.TransactWriteItem{{}}, invalid, ""},

		{"the reasons are in the order of the items", []types.TransactWriteItem{p.check(there, "attribute_not_exists(pk)"), p.put(gone), p.check(attributes{"pk": s("no")}, "attribute_exists(pk)")}, canceled + " ConditionalCheckFailed None ConditionalCheckFailed", ""},
		{"a missing table refuses the whole", []types.TransactWriteItem{p.put(gone), {Put: &types.Put{TableName: new("nosuch"), Item: gone}}}, "ResourceNotFoundException", ""},
		{"a syntax error refuses the whole", []types.TransactWriteItem{p.put(gone), p.update(there, "SET", nil)}, invalid, ""},
		{"an unused value refuses the whole", []types.TransactWriteItem{p.put(gone), p.update(there, "SET b = pk", one)}, invalid, ""},
		{"an empty key refuses the whole", []types.TransactWriteItem{p.put(gone), p.put(attributes{"pk": s("")})}, invalid, ""},
		{"a missing key refuses the whole", []types.TransactWriteItem{p.put(gone), p.put(attributes{"a": s("")})}, invalid, ""},
		{"a key with more than the key refuses the whole", []types.TransactWriteItem{p.put(gone), p.update(attributes{"pk": s("a"), "a": s("")}, "SET b = pk", nil)}, invalid, ""},
		{"a put of more than 400 KB refuses the whole", []types.TransactWriteItem{p.put(gone), p.put(attributes{"pk": s("a"), "b": nearLimit, "c": large[":x"]})}, invalid, ""},

		{"a key of the wrong type is that item's reason", []types.TransactWriteItem{p.put(gone), p.put(attributes{"pk": n("1")})}, canceled + " None ValidationError", ""},
		{"an update to more than 400 KB is that item's reason", []types.TransactWriteItem{p.put(gone), p.update(there, "SET b = :x", large)}, canceled + " None ValidationError", ""},
		{"an update of a key is that item's reason", []types.TransactWriteItem{p.put(gone), p.update(there, "SET pk = :x", one)}, canceled + " None ValidationError", canceled + " ValidationError"},
		{"a missing attribute is that item's reason", []types.TransactWriteItem{p.put(gone), p.update(there, "SET b = c", nil)}, canceled + " None ValidationError", invalid},
		{"an operand of the wrong type is that item's reason", []types.TransactWriteItem{p.put(gone), p.update(there, "SET b = a + :x", one)}, canceled + " None ValidationError", invalid},
		{"a type that does not fit is that item's reason", []types.TransactWriteItem{p.put(gone), p.update(there, "ADD a :x", one)}, canceled + " None ValidationError", invalid},
		{"a missing path is that item's reason", []types.TransactWriteItem{p.put(gone), p.update(there, "SET c.d = :x", one)}, canceled + " None ValidationError", invalid},
		{"a number that is too large is that item's reason", []types.TransactWriteItem{p.put(gone), p.update(there, "ADD n :x", attributes{":x": n("9.9999999999999999999999999999999999999e125")})}, canceled + " None ValidationError", invalid},
	} {
		t.Run(c.rule, func(t *testing.T) {
			in := &dynamodb.TransactWriteItemsInput{TransactItems: c.items}
			if got := inShort(ask(p.ours, in)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			want := c.local
			if want == "" {
				want = c.want
			}
			if got := inShort(ask(p.theirs, in)); got != want {
				t.Errorf("DynamoDB Local answers %q, want %q", got, want)
			}
		})
	}
}

// TestRulesOfTokens states what a ClientRequestToken does, and asks a real engine.
func TestRulesOfTokens(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	key, late := p.seeded(t, nil), p.seeded(t, nil)
	add, check := p.update(key, "ADD n :x", attributes{":x": n("1")}), p.check(late, "attribute_exists(pk)")
	done, free := rand.Text(), rand.Text()
	for _, c := range []struct {
		rule    string
		token   string
		items   []types.TransactWriteItem
		returns types.ReturnConsumedCapacity
		want    string
		total   string // n afterwards
	}{
		{"the first is applied", done, []types.TransactWriteItem{add}, "", "", "1"},
		{"the second is not", done, []types.TransactWriteItem{add}, "", "", "1"},
		{"the other settings may differ", done, []types.TransactWriteItem{add}, "TOTAL", "", "1"},
		{"another value is a mismatch", done, []types.TransactWriteItem{p.update(key, "ADD n :x", attributes{":x": n("2")})}, "", mismatch, "1"},
		{"another spelling of the value is a mismatch", done, []types.TransactWriteItem{p.update(key, "ADD n :x", attributes{":x": n("1.0")})}, "", mismatch, "1"},
		{"an item more is a mismatch", done, []types.TransactWriteItem{add, check}, "", mismatch, "1"},
		{"a canceled transaction is not done", free, []types.TransactWriteItem{add, check}, "", canceled + " None ConditionalCheckFailed", "1"},
		{"a canceled transaction leaves its token to others", free, []types.TransactWriteItem{add}, "", "", "2"},
		{"a token of 36 characters is one", rand.Text()[:18] + rand.Text()[:18], []types.TransactWriteItem{add}, "", "", "3"},
		{"a token of 37 is not", rand.Text()[:18] + rand.Text()[:19], []types.TransactWriteItem{add}, "", invalid, "3"},
	} {
		in := &dynamodb.TransactWriteItemsInput{TransactItems: c.items, ClientRequestToken: &c.token}
		in.ReturnConsumedCapacity = c.returns
		for name, got := range map[string]answer{"we answer": ask(p.ours, in), "the real engine answers": ask(p.theirs, in)} {
			if inShort(got) != c.want {
				t.Errorf("%s: %s %s, want %q", c.rule, name, show(got), c.want)
			}
		}
		get := &dynamodb.GetItemInput{TableName: &p.simple, Key: key}
		p.compare(t, get)
		if got := ask(p.ours, get).Item["n"]; !reflect.DeepEqual(got, n(c.total)) {
			t.Errorf("%s: got %s, want %s", c.rule, show(got), c.total)
		}
	}
}

// TestUnitsOfTransactions compares what transactions cost. It leaves out what DynamoDB Local charges otherwise: the price of a
// read for a ConditionCheck, half the price for a Delete of a missing item, and less than a read of each item for a repeated
// token. The units that are distinguished as written or read are in the service's answers alone.
func TestUnitsOfTransactions(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	large, small := p.seeded(t, attributes{"a": s(strings.Repeat("x", 2500))}), p.seeded(t, attributes{})
	in := &dynamodb.TransactWriteItemsInput{ClientRequestToken: new(rand.Text()), ReturnConsumedCapacity: "INDEXES", TransactItems: []types.TransactWriteItem{
		p.put(large), p.update(small, "SET a = :x", attributes{":x": s(strings.Repeat("x", 1100))}), p.put(attributes{"pk": s(rand.Text())}),
	}}
	answers := map[string]types.ConsumedCapacity{}
	for name, c := range map[string]*dynamodb.Client{"ours": p.ours, "theirs": p.theirs} {
		out, err := c.TransactWriteItems(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		answers[name] = out.ConsumedCapacity[0]
	}
	ours, theirs := answers["ours"], answers["theirs"]
	if *ours.WriteCapacityUnits != 12 || ours.ReadCapacityUnits != nil {
		t.Errorf("3 KB that were there, 2 KB that are there now, and a small item, all twice: got %s", show(ours))
	}
	ours.WriteCapacityUnits = nil
	if !reflect.DeepEqual(ours, theirs) {
		t.Errorf("got %s, DynamoDB Local answers %s", show(ours), show(theirs))
	}
	out, err := p.ours.TransactWriteItems(t.Context(), in)
	if err != nil || *out.ConsumedCapacity[0].ReadCapacityUnits != 6 || *out.ConsumedCapacity[0].CapacityUnits != 6 || out.ConsumedCapacity[0].WriteCapacityUnits != nil {
		t.Errorf("the second time it reads three items, twice: got %s, %v", show(out), err)
	}
}

func inShort(a answer) string {
	for _, r := range a.Reasons {
		a.Code += " " + r.Code
	}
	return a.Code
}

func (p *pair) put(it attributes) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{TableName: &p.simple, Item: it}}
}

func (p *pair) update(key attributes, expression string, values attributes) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{TableName: &p.simple, Key: key, UpdateExpression: &expression, ExpressionAttributeValues: values}}
}

func (p *pair) check(key attributes, condition string) types.TransactWriteItem {
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{TableName: &p.simple, Key: key, ConditionExpression: &condition}}
}

// puts are puts of this many new items with this attribute.
func (p *pair) puts(count int, a types.AttributeValue) []types.TransactWriteItem {
	prefix := rand.Text()
	items := make([]types.TransactWriteItem, count)
	for i := range items {
		items[i] = p.put(attributes{"pk": s(fmt.Sprint(prefix, i)), "a": a})
	}
	return items
}

func (p *pair) updates(count int, a types.AttributeValue) []types.TransactWriteItem {
	prefix := rand.Text()
	items := make([]types.TransactWriteItem, count)
	for i := range items {
		items[i] = p.update(attributes{"pk": s(fmt.Sprint(prefix, i))}, "SET a = :x", attributes{":x": a})
	}
	return items
}
