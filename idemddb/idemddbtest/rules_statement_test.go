package idemddbtest_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	failed    = "ConditionalCheckFailed"
	erroneous = "ValidationError"
	duplicate = "DuplicateItem"
	noTable   = "ResourceNotFound"
)

// key stands for the item's partition key among the parameters, and TABLE for the table in the text.
var key types.AttributeValue = &types.AttributeValueMemberNULL{}

func (p *pair) statement(text string, pk types.AttributeValue, parameters ...types.AttributeValue) types.BatchStatementRequest {
	st := types.BatchStatementRequest{
		Statement:                           new(strings.ReplaceAll(strings.ReplaceAll(text, "COMPOSITE", `"`+p.composite+`"`), "TABLE", `"`+p.simple+`"`)),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}

	for _, v := range parameters {
		if v == key {
			v = pk
		}

		st.Parameters = append(st.Parameters, v)
	}

	return st
}

// sameInput is what a claim in a group says of fingerprints.
const sameInput = `UPDATE TABLE SET "b" = ? WHERE "pk" = ? AND ("fp" IS MISSING OR "fp" = ? OR NOT begins_with("fp", ?))`

// statementRule is a rule of statements. check compares it with a real engine.
type statementRule struct {
	rule       string
	item       attributes // nil: there is none
	statement  string
	parameters []types.AttributeValue
	want       string // "" for success
	named      bool   // the response names the table
	after      attributes
}

func (c statementRule) name() string { return c.rule }

func (c statementRule) check(t *testing.T, p *pair) {
	t.Helper()

	k := p.seeded(t, c.item)
	in := &dynamodb.BatchExecuteStatementInput{Statements: []types.BatchStatementRequest{p.statement(c.statement, k["pk"], c.parameters...)}}
	p.compare(t, in)
	p.compare(t, &dynamodb.GetItemInput{TableName: &p.simple, Key: k})
	got := p.db.Item(p.simple, k)
	delete(got, "pk")

	if !reflect.DeepEqual(got, c.after) {
		t.Errorf("got %s, want %s", show(got), show(c.after))
	}

	if c.want == "" && strings.HasPrefix(c.statement, "INSERT") {
		return // a second INSERT would find the item of the first
	}

	p.seededAt(t, k, c.item)

	if got := ask(p.ours, in).Responses[0]; got.Code != c.want || (got.Table == "") == c.named {
		t.Errorf("got %s, want code %q, the table named: %v", show(got), c.want, c.named)
	}
}

func TestRulesOfStatements(t *testing.T) {
	checkRules(t, slices.Concat(
		statementsInsert, statementsSelect, statementsUpdate,
		statementsSetAndRemove, statementsFindTheKeyInTheCondition, statementsKnowMissingAttributes,
		statementsKnowBeginsWith, statementsFindAnotherInput, statementsCompare,
		statementsThatAreNotWellFormedAreRefused,
	))
}

var statementsInsert = []statementRule{
	{"INSERT makes an item", nil, "INSERT INTO TABLE VALUE {'pk':?,'a':?,'it''s':3,'b':'it''s'}", list(key, one), "", true, attributes{"a": one, "it's": n("3"), "b": s("it's")}},
	{"INSERT on an item is refused", attributes{"a": one}, "INSERT INTO TABLE VALUE {'pk':?,'a':?}", list(key, two), duplicate, true, attributes{"a": one}},
	{"INSERT looks at its item's size first", attributes{"a": one}, "INSERT INTO TABLE VALUE {'pk':?,'a':?}", list(key, tooBig), erroneous, true, attributes{"a": one}},
	{"INSERT names an attribute once", nil, "INSERT INTO TABLE VALUE {'pk':?,'a':1,'a':1}", list(key), erroneous, false, nil},
	{"INSERT names no attribute without quotes", nil, "INSERT INTO TABLE VALUE {pk:?}", list(key), erroneous, false, nil},
	{"INSERT needs the key", nil, "INSERT INTO TABLE VALUE {'a':1}", nil, erroneous, false, nil},
	{"INSERT returns nothing", nil, "INSERT INTO TABLE VALUE {'pk':?} RETURNING ALL OLD *", list(key), erroneous, false, nil},
	{"INSERT lists no VALUES", nil, "INSERT INTO TABLE VALUES {'pk':?}", list(key), erroneous, false, nil},
	{"INSERT ends its list", nil, "INSERT INTO TABLE VALUE {'pk':?,}", list(key), erroneous, false, nil},
}

var statementsSelect = []statementRule{
	{"SELECT reads an item", attributes{"a": one}, `SELECT * FROM TABLE WHERE "pk" = ?`, list(key), "", true, attributes{"a": one}},
	{"SELECT of a missing item is no error", nil, "select * from TABLE where pk=?", list(key), "", true, nil},
	{"SELECT needs the key", attributes{"a": one}, "SELECT * FROM TABLE WHERE a = ?", list(one), erroneous, false, attributes{"a": one}},
	{"SELECT needs the whole key", nil, "SELECT * FROM COMPOSITE WHERE pk = ?", list(key), erroneous, false, nil},
	{"SELECT has as many parameters as question marks", nil, "SELECT * FROM TABLE WHERE pk = ?", nil, erroneous, false, nil},
	{"SELECT reads a table that exists", nil, "SELECT * FROM nosuch WHERE pk = ?", list(key), noTable, false, nil},
}

var statementsUpdate = []statementRule{
	{"UPDATE changes an item", attributes{"a": one}, `UPDATE TABLE SET "a" = ? WHERE "pk" = ?`, list(two, key), "", true, attributes{"a": two}},
	{"UPDATE makes no item", nil, "UPDATE TABLE SET a = ? WHERE pk = ?", list(two, key), failed, true, nil},
	{"in a missing item not even the update is looked at", nil, "UPDATE TABLE SET pk = ? SET a = b WHERE pk = ?", list(two, key), failed, true, nil},
	{"UPDATE whose condition fails gives the item", attributes{"a": one}, "UPDATE TABLE SET a = ? WHERE pk = ? AND a = ?", list(two, key, two), failed, true, attributes{"a": one}},
	{"RETURNING ALL OLD * gives the item as it was", attributes{"a": one}, "UPDATE TABLE SET a = ? WHERE pk = ? RETURNING ALL OLD *", list(two, key), "", true, attributes{"a": two}},
	{"the star belongs to RETURNING", attributes{}, "UPDATE TABLE SET a = 1 WHERE pk = ? RETURNING ALL OLD", list(key), erroneous, false, attributes{}},
	{"keywords may be written in any case, names bare", attributes{"a": one}, "update TABLE set a=? where pk=? and a<>? returning all old *", list(two, key, two), "", true, attributes{"a": two}},
	{"a quote in a name is doubled", attributes{}, `UPDATE TABLE SET "q""q" = 1 WHERE pk = ? AND "q""q" IS MISSING`, list(key), "", true, attributes{`q"q`: one}},
	{"a dot in quotes is part of the name", attributes{}, `UPDATE TABLE SET "x.y" = 1 WHERE pk = ?`, list(key), "", true, attributes{"x.y": one}},
	{"a name does not begin with a hash sign", attributes{}, `UPDATE TABLE SET "#a" = 1 WHERE pk = ?`, list(key), erroneous, false, attributes{}},
	{"a name is not empty", attributes{}, `UPDATE TABLE SET "" = 1 WHERE pk = ?`, list(key), erroneous, false, attributes{}},
}

var statementsSetAndRemove = []statementRule{
	{"clauses stand again and in any order", attributes{"a": one, "b": one}, "UPDATE TABLE SET c = 1 REMOVE a SET d = 2 REMOVE b WHERE pk = ?", list(key), "", true, attributes{"c": one, "d": two}},
	{"SET takes commas", attributes{}, "UPDATE TABLE SET c = 1, d = ? WHERE pk = ?", list(two, key), "", true, attributes{"c": one, "d": two}},
	{"REMOVE takes no comma", attributes{"a": one, "b": one}, "UPDATE TABLE REMOVE a, b WHERE pk = ?", list(key), erroneous, false, attributes{"a": one, "b": one}},
	{"right sides see the item as it was", attributes{"a": one}, "UPDATE TABLE SET a = ? SET b = a WHERE pk = ?", list(two, key), "", true, attributes{"a": two, "b": one}},
	{"sums have any length", attributes{"a": one}, "UPDATE TABLE SET a = a + ? - 3 + a WHERE pk = ?", list(two, key), "", true, attributes{"a": one}},
	{"a missing attribute has no value", attributes{}, "UPDATE TABLE SET a = b WHERE pk = ?", list(key), erroneous, true, attributes{}},
	{"a missing attribute has no sum", attributes{}, "UPDATE TABLE SET a = b + 1 WHERE pk = ?", list(key), erroneous, true, attributes{}},
	{"a string can't be added", attributes{"a": s("x")}, "UPDATE TABLE SET a = a + 1 WHERE pk = ?", list(key), erroneous, true, attributes{"a": s("x")}},
	{"a string as a parameter can't be added", attributes{"a": one}, "UPDATE TABLE SET a = a + ? WHERE pk = ?", list(s("x"), key), erroneous, false, attributes{"a": one}},
	{"the condition comes before the update", attributes{}, "UPDATE TABLE SET a = b WHERE pk = ? AND a = ?", list(key, one), failed, true, attributes{}},
	{"overlapping paths are refused", attributes{}, "UPDATE TABLE SET a = 1 REMOVE a WHERE pk = ?", list(key), erroneous, false, attributes{}},
	{"a key attribute can't be set", attributes{}, "UPDATE TABLE SET pk = ? WHERE pk = ?", list(s("x"), key), erroneous, true, attributes{}},
	{"an item over 400 KB does not fit", attributes{}, "UPDATE TABLE SET a = ? WHERE pk = ?", list(tooBig, key), erroneous, true, attributes{}},
}

var statementsFindTheKeyInTheCondition = []statementRule{
	{"the key may stand anywhere at the top", attributes{"a": one}, "UPDATE TABLE SET a = 2 WHERE (a = 1 AND (? = pk))", list(key), "", true, attributes{"a": two}},
	{"a condition without the key is refused", attributes{"a": one}, "UPDATE TABLE SET a = 2 WHERE a = 1", nil, erroneous, false, attributes{"a": one}},
	{"no condition is refused", attributes{"a": one}, "UPDATE TABLE SET a = 2", nil, erroneous, false, attributes{"a": one}},
	{"a key under OR is none", attributes{"a": one}, "UPDATE TABLE SET a = 2 WHERE pk = ? OR a = 1", list(key), erroneous, false, attributes{"a": one}},
	{"a key under NOT is none", attributes{"a": one}, "UPDATE TABLE SET a = 2 WHERE NOT pk = ?", list(key), erroneous, false, attributes{"a": one}},
	{"a key is compared with a value", attributes{"a": one}, "UPDATE TABLE SET a = 2 WHERE pk = a", nil, erroneous, false, attributes{"a": one}},
	{"two keys are none", attributes{"a": one}, "UPDATE TABLE SET a = 2 WHERE pk = ? AND pk = ?", list(key, s("other")), erroneous, false, attributes{"a": one}},
	{"the same key twice is one", attributes{"a": one}, "UPDATE TABLE SET a = 2 WHERE pk = ? AND pk = ?", list(key, key), "", true, attributes{"a": two}},
	{"the key is all of the key", nil, "UPDATE COMPOSITE SET a = 2 WHERE pk = ?", list(key), erroneous, false, nil},
	{"both parts of the key are found", nil, "UPDATE COMPOSITE SET a = 2 WHERE sk = ? AND pk = ?", list(one, key), failed, true, nil},
	{"a key of another type is refused", nil, "UPDATE TABLE SET a = 2 WHERE pk = ?", list(one), erroneous, false, nil},
	{"an empty key is refused", nil, "UPDATE TABLE SET a = 2 WHERE pk = ?", list(s("")), erroneous, true, nil},
	{"a long key is refused", nil, "INSERT INTO TABLE VALUE {'pk':?}", list(s(strings.Repeat("k", 2049))), erroneous, true, nil},
}

var statementsKnowMissingAttributes = []statementRule{
	{"IS MISSING is true of an attribute that is not there", attributes{"a": one}, "UPDATE TABLE SET a = 2 WHERE pk = ? AND b IS MISSING AND a IS NOT MISSING AND NOT a IS MISSING", list(key), "", true, attributes{"a": two}},
	{"MISSING is compared with IS", attributes{}, "UPDATE TABLE SET a = 2 WHERE pk = ? AND b = MISSING", list(key), erroneous, false, attributes{}},
	{"a parameter is never missing", attributes{}, "UPDATE TABLE SET a = 2 WHERE pk = ? AND ? IS MISSING", list(key, one), erroneous, false, attributes{}},
	{"the functions know it too", attributes{"a": one}, "UPDATE TABLE SET a = 2 WHERE pk = ? AND attribute_not_exists(b) AND Attribute_Exists (a)", list(key), "", true, attributes{"a": two}},
}

var statementsKnowBeginsWith = []statementRule{
	{"begins_with finds the beginning of a string, its name written in any case", attributes{"a": s("1:x")}, "UPDATE TABLE SET b = 2 WHERE pk = ? AND begins_with(a, ?) AND Begins_With (a, '1')", list(key, s("1:")), "", true, attributes{"a": s("1:x"), "b": two}},
	{"begins_with is false for another beginning", attributes{"a": s("2:x")}, "UPDATE TABLE SET b = 2 WHERE pk = ? AND begins_with(a, ?)", list(key, s("1:")), failed, true, attributes{"a": s("2:x")}},
	{"NOT begins_with is true for another beginning", attributes{"a": s("2:x")}, "UPDATE TABLE SET b = 2 WHERE pk = ? AND NOT begins_with(a, ?)", list(key, s("1:")), "", true, attributes{"a": s("2:x"), "b": two}},
	{"NOT begins_with is false for this beginning", attributes{"a": s("1:x")}, "UPDATE TABLE SET b = 2 WHERE pk = ? AND NOT begins_with(a, ?)", list(key, s("1:")), failed, true, attributes{"a": s("1:x")}},
	{"NOT begins_with is true for a missing attribute", attributes{}, "UPDATE TABLE SET b = 2 WHERE pk = ? AND NOT begins_with(a, ?)", list(key, s("1:")), "", true, attributes{"b": two}},
	{"NOT begins_with is true for a number", attributes{"a": one}, "UPDATE TABLE SET b = 2 WHERE pk = ? AND NOT begins_with(a, ?)", list(key, s("1")), "", true, attributes{"a": one, "b": two}},
	{"every string begins with the empty one", attributes{"a": s("x")}, "UPDATE TABLE SET b = 2 WHERE pk = ? AND begins_with(a, ?)", list(key, s("")), "", true, attributes{"a": s("x"), "b": two}},
	{"begins_with compares two attributes, too", attributes{"a": s("1:x"), "b": s("1:")}, "UPDATE TABLE SET b = 2 WHERE pk = ? AND begins_with(a, b)", list(key), "", true, attributes{"a": s("1:x"), "b": two}},
	{"begins_with takes no number", attributes{}, "UPDATE TABLE SET b = 2 WHERE pk = ? AND begins_with(a, ?)", list(key, one), erroneous, false, attributes{}},
	{"begins_with takes two operands", attributes{}, "UPDATE TABLE SET b = 2 WHERE pk = ? AND begins_with(a)", list(key), erroneous, false, attributes{}},
	{"begins_with compares no attribute with itself", attributes{}, "UPDATE TABLE SET b = 2 WHERE pk = ? AND begins_with(a, a)", list(key), erroneous, false, attributes{}},
	{"NOT binds closer than OR", attributes{"a": s("1:x")}, `UPDATE TABLE SET b = 2 WHERE pk = ? AND (NOT begins_with(a, ?) OR a = ?)`, list(key, s("1:"), s("1:x")), "", true, attributes{"a": s("1:x"), "b": two}},
	{"NOT turns a parenthesis around", attributes{"a": s("1:x")}, `UPDATE TABLE SET b = 2 WHERE pk = ? AND NOT (begins_with(a, ?) OR a = ?)`, list(key, s("2:"), s("x")), "", true, attributes{"a": s("1:x"), "b": two}},
}

var statementsFindAnotherInput = []statementRule{
	{"another input: no fingerprint", attributes{}, sameInput, list(two, key, s("1:a"), s("1:")), "", true, attributes{"b": two}},
	{"another input: the same fingerprint", attributes{"fp": s("1:a")}, sameInput, list(two, key, s("1:a"), s("1:")), "", true, attributes{"fp": s("1:a"), "b": two}},
	{"another input: another fingerprint of this version", attributes{"fp": s("1:b")}, sameInput, list(two, key, s("1:a"), s("1:")), failed, true, attributes{"fp": s("1:b")}},
	{"another input: a fingerprint of another version", attributes{"fp": s("2:b")}, sameInput, list(two, key, s("1:a"), s("1:")), "", true, attributes{"fp": s("2:b"), "b": two}},
}

var statementsCompare = []statementRule{
	{"a missing attribute differs from every value", attributes{}, "UPDATE TABLE SET a = 2 WHERE pk = ? AND b <> ?", list(key, one), "", true, attributes{"a": two}},
	{"a missing attribute is not less", attributes{}, "UPDATE TABLE SET a = 2 WHERE pk = ? AND b < ?", list(key, one), failed, true, attributes{}},
	{"NOT turns it around", attributes{}, "UPDATE TABLE SET a = 2 WHERE pk = ? AND NOT b < ?", list(key, one), "", true, attributes{"a": two}},
	{"AND binds closer than OR", attributes{"a": one}, "UPDATE TABLE SET a = 2 WHERE pk = ? AND (a = 1 OR a = 1 AND a = 2)", list(key), "", true, attributes{"a": two}},
	{"parentheses may be redundant", attributes{"a": one}, "UPDATE TABLE SET a = 2 WHERE pk = ? AND (((a >= 1)))", list(key), "", true, attributes{"a": two}},
	{"an order of booleans is refused", attributes{}, "UPDATE TABLE SET a = 2 WHERE pk = ? AND b < ?", list(key, &types.AttributeValueMemberBOOL{Value: true}), erroneous, false, attributes{}},
	{"a comparison of an attribute with itself is refused", attributes{}, "UPDATE TABLE SET a = 2 WHERE pk = ? AND b = b", list(key), erroneous, false, attributes{}},
	{"an operand alone is no condition", attributes{}, "UPDATE TABLE SET a = 2 WHERE pk = ? AND b", list(key), erroneous, false, attributes{}},
	{"an operand in NOT is no condition", attributes{}, "UPDATE TABLE SET a = 2 WHERE pk = ? AND NOT b", list(key), erroneous, false, attributes{}},
}

var statementsThatAreNotWellFormedAreRefused = []statementRule{
	{"a parameter too few is refused", attributes{}, "UPDATE TABLE SET a = ? WHERE pk = ?", list(one), erroneous, false, attributes{}},
	{"a parameter too many is not", attributes{}, "UPDATE TABLE SET a = ? WHERE pk = ?", list(one, key, two), "", true, attributes{"a": one}},
	{"a table that is not there is an error of the statement", nil, "UPDATE nosuch SET a = ? WHERE pk = ?", list(one, key), noTable, false, nil},
	{"what is not well formed is an error of the statement", attributes{}, "UPDATE TABLE SET a = ? WHERE pk = ? AND", list(one, key), erroneous, false, attributes{}},
	{"what comes after the end is not well formed", attributes{}, "UPDATE TABLE SET a = ? WHERE pk = ? x", list(one, key), erroneous, false, attributes{}},
	{"an open quote is not well formed", attributes{}, `UPDATE TABLE SET "a = ? WHERE pk = ?`, list(one, key), erroneous, false, attributes{}},
	{"an UPDATE does something", attributes{}, "UPDATE TABLE WHERE pk = ?", list(key), erroneous, false, attributes{}},
	{"blanks alone are no statement", nil, "  ", nil, erroneous, false, nil},
	{"a word alone is no statement", nil, "x", nil, erroneous, false, nil},
}

func list(v ...types.AttributeValue) []types.AttributeValue { return v }

// TestCallRules asks a real engine whether the rules of a whole call of statements are so.
func TestCallRules(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	insert, update := "INSERT INTO TABLE VALUE {'pk':?}", "UPDATE TABLE SET a = ? WHERE pk = ?"

	var empty types.AttributeValue = &types.AttributeValueMemberSS{}

	many := func(n int) (list []types.BatchStatementRequest) {
		for i := range n {
			list = append(list, p.statement(insert, key, s(strings.Repeat("i", i+1))))
		}

		return list
	}

	of := func(statements ...types.BatchStatementRequest) []types.BatchStatementRequest { return statements }
	for _, c := range []struct {
		rule       string
		statements []types.BatchStatementRequest
		want       string
	}{
		{"a call has a statement", []types.BatchStatementRequest{}, invalid},
		{"25 statements are the most", many(25), ""},
		{"26 are too many", many(26), invalid},
		{"an empty statement refuses the call", of(p.statement(insert, key, s("a")), p.statement("", key)), invalid},
		{"reads and writes do not mix", of(p.statement("SELECT pk FROM TABLE WHERE pk = ?", key, s("a")), p.statement(insert, key, s("b"))), invalid},
		{"inserts and updates do, and each has its own error", of(
			p.statement("nonsense", key), p.statement(insert, key, s("c")), p.statement(update, key, n("1"), s("no")),
			p.statement("UPDATE nosuch SET a = ? WHERE pk = ?", key, n("1"), s("d")), p.statement(insert, key, s("d")),
		), ""},
		{"a value that may not be refuses the call", of(p.statement(insert, key, s("e")), p.statement(update, key, empty, s("f"))), invalid},
		{"and of a statement that has no table", of(p.statement(insert, key, s("g")), p.statement("UPDATE nosuch SET a = ? WHERE pk = ?", key, empty, s("f"))), invalid},
		{"but not of one that is not well formed", of(p.statement(insert, key, s("h")), p.statement("nonsense", key, empty)), ""},
		{"the same key in two tables is two items", of(
			p.statement("INSERT INTO TABLE VALUE {'pk':?}", key, s("same")), p.statement("INSERT INTO COMPOSITE VALUE {'pk':?,'sk':1}", key, s("same")),
			p.statement("INSERT INTO COMPOSITE VALUE {'pk':?,'sk':2}", key, s("same")),
		), ""},
		{"a statement that is refused unseen repeats no key", of(
			p.statement(update, key, n("1"), s("twice")), p.statement("UPDATE TABLE SET a = 1 SET a = 2 WHERE pk = ?", key, s("twice")),
			p.statement("INSERT INTO TABLE VALUE {'pk':?,'a':?}", key, s("twice"), s(strings.Repeat("x", 400<<10))),
		), ""},
		{"a statement has at most 8 KB", of(p.statement(insert+strings.Repeat(" ", 8192), key, s("long"))), invalid},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()

			in := &dynamodb.BatchExecuteStatementInput{Statements: c.statements}
			p.compare(t, in)

			if got := ask(p.ours, in); got.Code != c.want {
				t.Errorf("got %q, want %q", got.Code, c.want)
			}
		})
	}
}

// DynamoDB Local answers the same, but has applied both statements: its answer is no proof that nothing was.
func TestTwoStatementsForAnItemRefuseTheCall(t *testing.T) {
	t.Parallel()

	p := newPair(t)
	for _, second := range []string{"UPDATE TABLE SET a = 2 WHERE pk = ?", "UPDATE TABLE SET pk = 'x' WHERE pk = ?", "INSERT INTO TABLE VALUE {'pk':?}"} {
		k := p.seeded(t, attributes{})
		in := &dynamodb.BatchExecuteStatementInput{Statements: []types.BatchStatementRequest{
			p.statement("UPDATE TABLE SET a = 1 WHERE pk = ?", k["pk"], key), p.statement(second, k["pk"], key),
		}}
		p.compare(t, in)

		if got := ask(p.ours, in).Code; got != invalid {
			t.Errorf("got %q, want %q", got, invalid)
		}

		if got := p.db.Item(p.simple, k); !reflect.DeepEqual(got, k) {
			t.Errorf("%s: got %s, want nothing applied", second, show(got))
		}
	}
}
