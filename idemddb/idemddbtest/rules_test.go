package idemddbtest_test

import (
	"context"
	"crypto/rand"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	refused = "ConditionalCheckFailedException"
	invalid = "ValidationException"
)

// conditionRule is a rule of conditions. check compares it with a real engine.
type conditionRule struct {
	rule      string
	item      attributes // nil: there is none
	condition string
	values    attributes
	want      string // "" for success
}

// rule is one case that both engines must answer alike.
type rule interface {
	name() string
	check(t *testing.T, p *pair)
}

func checkRules[R rule](t *testing.T, rules []R) {
	t.Helper()
	t.Parallel()
	p := newPair(t)

	for _, c := range rules {
		t.Run(c.name(), func(t *testing.T) { t.Parallel(); c.check(t, p) })
	}
}

func (c conditionRule) name() string { return c.rule }

func (c conditionRule) check(t *testing.T, p *pair) {
	t.Helper()

	in := &dynamodb.UpdateItemInput{
		TableName: &p.simple, Key: p.seeded(t, c.item), ConditionExpression: &c.condition, ExpressionAttributeValues: c.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}

	got, theirs := ask(p.ours, in), ask(p.theirs, in)
	if got.Code != c.want {
		t.Errorf("got %q, want %q", got.Code, c.want)
	}

	if theirs.Code != c.want {
		t.Errorf("the real engine answers %q, want %q: %s", theirs.Code, c.want, theirs.Message)
	}
}

// Values of the rules.
var (
	one, two = n("1"), n("2")
	tooBig   = s(strings.Repeat("x", 400<<10))
	oneAndX  = listOf(one, s("x"))
	ab       = &types.AttributeValueMemberSS{Value: []string{"a", "b"}}
)

func listOf(v ...types.AttributeValue) types.AttributeValue {
	return &types.AttributeValueMemberL{Value: v}
}
func docOf(m attributes) types.AttributeValue { return &types.AttributeValueMemberM{Value: m} }

func TestRulesOfConditions(t *testing.T) {
	checkRules(t, slices.Concat(
		conditionsOnMissingAttributes, conditionsCompareValues, conditionsCombineTerms,
		conditionsCallFunctions, conditionsThatAreRefused,
	))
}

var conditionsOnMissingAttributes = []conditionRule{
	{"a missing attribute equals nothing", attributes{}, "own = :x", attributes{":x": one}, refused},
	{"a missing attribute differs from every value", attributes{}, "own <> :x", attributes{":x": one}, ""},
	{"two missing attributes are not equal", attributes{}, "own = b", nil, refused},
	{"two missing attributes differ", attributes{}, "own <> b", nil, ""},
	{"in a missing item every attribute differs", nil, "own <> :x", attributes{":x": one}, ""},
	{"a missing attribute is not less", attributes{}, "own < :x", attributes{":x": one}, refused},
	{"a missing attribute is not greater or equal", attributes{}, "own >= :x", attributes{":x": one}, refused},
	{"NOT turns a comparison with a missing attribute around", attributes{}, "NOT own < :x", attributes{":x": one}, ""},
}

var conditionsCompareValues = []conditionRule{
	{"values of two types differ", attributes{"own": s("1")}, "own <> :x", attributes{":x": one}, ""},
	{"values of two types have no order", attributes{"own": s("1")}, "own < :x OR own >= :x", attributes{":x": one}, refused},
	{"numbers are compared by value", attributes{"a": n("10")}, "a > :x AND a = :y", attributes{":x": n("9"), ":y": n("1e1")}, ""},
	{"numbers of 38 digits are compared exactly", attributes{"a": n("12345678901234567890123456789012345678")}, "a > :x", attributes{":x": n("12345678901234567890123456789012345677")}, ""},
	{"negative numbers are ordered", attributes{"a": n("-2")}, "a < :x AND a > :y", attributes{":x": n("-1.5"), ":y": n("-10")}, ""},
	{"strings are ordered by their bytes", attributes{"a": s("Z")}, "a < :x", attributes{":x": s("a")}, ""},
	{"sets are equal in any order", attributes{"a": ab}, "a = :x", attributes{":x": &types.AttributeValueMemberSS{Value: []string{"b", "a"}}}, ""},
	{"BETWEEN includes both bounds", attributes{"a": one, "b": two}, "a BETWEEN :x AND :y AND b BETWEEN :x AND :y", attributes{":x": one, ":y": two}, ""},
	{"BETWEEN with its bounds the wrong way round is refused", attributes{"a": one}, "a BETWEEN :y AND :x", attributes{":x": one, ":y": two}, invalid},
	{"IN finds one of the list", attributes{"a": two}, "a IN (:x, :y)", attributes{":x": one, ":y": two}, ""},
}

var conditionsCombineTerms = []conditionRule{
	{"AND binds closer than OR", attributes{"a": one}, "a = :x OR a = :y AND a = :y", attributes{":x": one, ":y": two}, ""},
	{"NOT binds closer than AND", attributes{"a": one}, "NOT attribute_exists(b) AND a = :x", attributes{":x": one}, ""},
	{"parentheses bind first", attributes{"a": one}, "(a = :x OR a = :y) AND a = :y", attributes{":x": one, ":y": two}, refused},
	{"keywords may be written in any case", attributes{"a": one}, "nOt a = :y aNd a betweeN :x And :y", attributes{":x": one, ":y": two}, ""},
}

var conditionsCallFunctions = []conditionRule{
	{"function names are lower case", attributes{"a": one}, "ATTRIBUTE_EXISTS(a)", nil, invalid},
	{"attribute_exists sees into documents", attributes{"a": oneAndX}, "attribute_exists(a[1]) AND attribute_not_exists(a[2])", nil, ""},
	{"attribute_type compares the type", attributes{"a": oneAndX}, "attribute_type(a, :t)", attributes{":t": s("L")}, ""},
	{"begins_with takes strings", attributes{"a": s("abc")}, "begins_with(a, :x)", attributes{":x": s("ab")}, ""},
	{"begins_with takes no numbers", attributes{"a": s("abc")}, "begins_with(a, :x)", attributes{":x": one}, invalid},
	{"contains finds a part of a string", attributes{"a": s("abc")}, "contains(a, :x)", attributes{":x": s("bc")}, ""},
	{"contains finds a member of a set", attributes{"a": ab}, "contains(a, :x)", attributes{":x": s("b")}, ""},
	{"contains finds no set in a set", attributes{"a": ab}, "contains(a, :x)", attributes{":x": ab}, refused},
	{"contains finds an element of a list", attributes{"a": oneAndX}, "contains(a, :x)", attributes{":x": n("1.0")}, ""},
	{"size counts characters, not bytes", attributes{"a": s("é")}, "size(a) = :x", attributes{":x": one}, ""},
	{"size of a number is nothing", attributes{"a": one}, "size(a) = :x", attributes{":x": one}, refused},
}

var conditionsThatAreRefused = []conditionRule{
	{"a comparison of an attribute with itself is refused", attributes{"a": one}, "a = a", nil, invalid},
	{"an order of booleans is refused", attributes{"a": one}, "a < :x", attributes{":x": &types.AttributeValueMemberBOOL{Value: true}}, invalid},
	{"a reserved word needs an alias", attributes{}, "status = :x", attributes{":x": one}, invalid},
	{"a reserved word needs an alias below the top too", attributes{}, "a.ttl = :x", attributes{":x": one}, invalid},
	{"an unused value is refused", attributes{"a": one}, "a = :x", attributes{":x": one, ":y": one}, invalid},
	{"an undefined value is refused", attributes{"a": one}, "a = :x AND a = :y", attributes{":x": one}, invalid},
	{"redundant parentheses are refused", attributes{"a": one}, "((a = :x))", attributes{":x": one}, invalid},
	{"parentheses around two in parentheses are not", attributes{"a": one}, "((a = :x) OR (a = :x))", attributes{":x": one}, ""},
	{"an empty condition is refused", attributes{"a": one}, "", nil, invalid},
	{"a condition longer than 4 KB is refused", attributes{"a": one}, "a = :x" + strings.Repeat(" ", 4096), attributes{":x": one}, invalid},
	{"an operand alone is no condition", attributes{"a": one}, "a", nil, invalid},
	{"an empty set is no value", attributes{"a": one}, "a = :x", attributes{":x": &types.AttributeValueMemberSS{}}, invalid},
	{"a word is no number", attributes{"a": one}, "a = :x", attributes{":x": n("one")}, invalid},
	{"a number of 39 digits is refused", attributes{"a": one}, "a = :x", attributes{":x": n(strings.Repeat("1", 39))}, invalid},
}

// updateRule is a rule of updates. check compares it with a real engine.
type updateRule struct {
	rule   string
	item   attributes // nil: there is none
	update string
	values attributes
	want   attributes // nil: refused as invalid; without the key
}

func (c updateRule) name() string { return c.rule }

func (c updateRule) check(t *testing.T, p *pair) {
	t.Helper()

	key := p.seeded(t, c.item)
	in := &dynamodb.UpdateItemInput{
		TableName: &p.simple, Key: key, UpdateExpression: &c.update, ExpressionAttributeValues: c.values, ReturnValues: types.ReturnValueAllNew,
	}
	p.compare(t, in)
	got := p.db.Item(p.simple, key)
	p.compare(t, &dynamodb.GetItemInput{TableName: &p.simple, Key: key})

	if c.want == nil {
		if a := ask(p.ours, in); a.Code != invalid {
			t.Errorf("got %q, want it refused as invalid", a.Code)
		}

		return
	}

	delete(got, "pk")

	for name, v := range c.want {
		if v == nil { // the case permits any value
			v = got[name]
		}

		if !reflect.DeepEqual(got[name], v) {
			t.Errorf("%s: got %s, want %s", name, show(got[name]), show(v))
		}
	}

	if len(got) != len(c.want) {
		t.Errorf("got %s, want %s", show(got), show(c.want))
	}
}

func TestRulesOfUpdates(t *testing.T) {
	checkRules(t, slices.Concat(
		updatesOfAttributes, updatesOfLists, updatesOfMaps,
		updatesThatAddAndRemove, updatesConsistOfClauses, updatesUpToTheSizeOfAnItem,
	))
}

var updatesOfAttributes = []updateRule{
	{"an update of a missing item makes it", nil, "SET a = :x", attributes{":x": one}, attributes{"a": one}},
	{"right sides see the item as it was", attributes{"a": one}, "SET a = :x, b = a", attributes{":x": two}, attributes{"a": two, "b": one}},
	{"an update may read the key that it makes", nil, "SET a = pk", nil, attributes{"a": nil}},
	{"if_not_exists keeps what is there", attributes{"a": one}, "SET a = if_not_exists(a, :x)", attributes{":x": two}, attributes{"a": one}},
	{"a fence begins with the clock and rises by one", nil, "SET a = if_not_exists(a, :x) + :y", attributes{":x": n("1700000000000"), ":y": one}, attributes{"a": n("1700000000001")}},
	{"numbers are subtracted exactly", attributes{"a": n("0.3")}, "SET a = a - :x", attributes{":x": n("0.1")}, attributes{"a": n("0.2")}},
	{"a sum beyond 38 digits is refused", attributes{"a": n("1e38")}, "SET a = a + :x", attributes{":x": n("0.1")}, nil},
	{"a missing attribute has no value", attributes{}, "SET a = b", nil, nil},
	{"a string can't be added", attributes{"b": s("x")}, "SET a = b + :x", attributes{":x": one}, nil},
}

var updatesOfLists = []updateRule{
	{"list_append keeps the order", attributes{"a": listOf(one)}, "SET a = list_append(:x, a)", attributes{":x": listOf(two)}, attributes{"a": listOf(two, one)}},
	{"an index beyond the end appends", attributes{"a": listOf(one)}, "SET a[7] = :x", attributes{":x": two}, attributes{"a": listOf(one, two)}},
	{"indices mean the list as it was", attributes{"a": listOf(one, two, s("x"))}, "REMOVE a[0] SET a[1] = :x", attributes{":x": n("9")}, attributes{"a": listOf(n("9"), s("x"))}},
	{"what is set beyond the end is appended by index", attributes{"a": listOf(one)}, "SET a[5] = :x, a[3] = :y", attributes{":x": one, ":y": two}, attributes{"a": listOf(one, two, one)}},
	{"several elements are removed by their old index", attributes{"a": listOf(s("0"), s("1"), s("2"), s("3"))}, "REMOVE a[0], a[2]", nil, attributes{"a": listOf(s("1"), s("3"))}},
}

var updatesOfMaps = []updateRule{
	{"a nested attribute is set in its map", attributes{"a": docOf(attributes{})}, "SET a.b = :x", attributes{":x": one}, attributes{"a": docOf(attributes{"b": one})}},
	{"a path without its map is refused", attributes{}, "SET a.b = :x", attributes{":x": one}, nil},
	{"overlapping paths are refused", attributes{"a": docOf(attributes{})}, "SET a.b = :x, a = :x", attributes{":x": one}, nil},
	{"conflicting paths are refused", attributes{"a": docOf(attributes{})}, "SET a.b = :x, a[0] = :x", attributes{":x": one}, nil},
}

var updatesThatAddAndRemove = []updateRule{
	{"REMOVE of a missing attribute does nothing", attributes{"a": one}, "REMOVE b", nil, attributes{"a": one}},
	{"ADD begins at zero", nil, "ADD a :x", attributes{":x": n("-1")}, attributes{"a": n("-1")}},
	{"ADD unites sets", attributes{"a": &types.AttributeValueMemberSS{Value: []string{"a"}}}, "ADD a :x", attributes{":x": &types.AttributeValueMemberSS{Value: []string{"b", "a"}}}, attributes{"a": &types.AttributeValueMemberSS{Value: []string{"a", "b"}}}},
	{"ADD of a string is refused", nil, "ADD a :x", attributes{":x": s("x")}, nil},
	{"DELETE of the last member removes the set", attributes{"a": &types.AttributeValueMemberNS{Value: []string{"1"}}}, "DELETE a :x", attributes{":x": &types.AttributeValueMemberNS{Value: []string{"1.0"}}}, attributes{}},
}

var updatesConsistOfClauses = []updateRule{
	{"a key attribute can't be set", attributes{}, "SET pk = :x", attributes{":x": s("x")}, nil},
	{"a key attribute can't be removed", attributes{}, "REMOVE pk", nil, nil},
	{"a clause stands once", attributes{}, "SET a = :x SET b = :x", attributes{":x": one}, nil},
	{"clauses stand in any order and case", attributes{"b": one}, "remove b Set a = :x", attributes{":x": one}, attributes{"a": one}},
	{"a sum has two terms", attributes{}, "SET a = :x + :x + :x", attributes{":x": one}, nil},
	{"list_append is not nested", attributes{"a": listOf()}, "SET a = list_append(a, list_append(a, a))", nil, nil},
}

var updatesUpToTheSizeOfAnItem = []updateRule{
	{"an item of 400 KB fits", nil, "SET a = :x", attributes{":x": s(strings.Repeat("x", 400<<10-2-1-32))}, attributes{"a": nil}},
	{"an item over 400 KB does not", nil, "SET a = :x", attributes{":x": s(strings.Repeat("x", 400<<10-2-1-32+1))}, nil},
}

// seeded puts the item, if there is one, under a new key of 32 bytes on both engines.
func (p *pair) seeded(t *testing.T, it attributes) attributes {
	t.Helper()

	key := attributes{"pk": s((rand.Text() + rand.Text())[:32])}
	p.seededAt(t, key, it)

	return key
}

// seededAt puts the item, if there is one, under this key.
func (p *pair) seededAt(t *testing.T, key, it attributes) {
	t.Helper()

	if it == nil {
		return
	}

	put := maps.Clone(it)

	put["pk"] = key["pk"]
	for _, c := range []*dynamodb.Client{p.ours, p.theirs} {
		if _, err := c.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: &p.simple, Item: put}); err != nil {
			t.Fatal(err)
		}
	}
}
