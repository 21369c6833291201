package idemddbtest_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// A batcher is what all ways into a DB have for statements.
type batcher interface {
	BatchExecuteStatement(context.Context, *dynamodb.BatchExecuteStatementInput, ...func(*dynamodb.Options)) (*dynamodb.BatchExecuteStatementOutput, error)
}

func insertOf(pk string) types.BatchStatementRequest {
	return types.BatchStatementRequest{Statement: new("INSERT INTO " + table + " VALUE {'pk':?}"), Parameters: list(s(pk))}
}

// updateOf sets a, if it is not 2, and asks for the item that stands in the way.
func updateOf(pk, a string) types.BatchStatementRequest {
	return types.BatchStatementRequest{
		Statement: new("UPDATE " + table + " SET a = ? WHERE pk = ? AND a <> 2 RETURNING ALL OLD *"), Parameters: list(n(a), s(pk)),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

func execute(ctx context.Context, c batcher, statements ...types.BatchStatementRequest) ([]response, error) {
	out, err := c.BatchExecuteStatement(ctx, &dynamodb.BatchExecuteStatementInput{Statements: statements})
	if err != nil {
		return nil, err
	}

	return responsesOf(out), nil
}

func TestTheLogOfStatements(t *testing.T) {
	t.Parallel()
	db := openDB(t, nil)
	put(t, db, attributes{"pk": s("x"), "a": n("2"), "b": s(strings.Repeat("x", 2048))})
	db.ResetRequests()

	kb := types.BatchStatementRequest{Statement: new("INSERT INTO tab VALUE {'pk' : 'lit', 'b' : ?}"), Parameters: list(s(strings.Repeat("x", 1024)))}
	if _, err := execute(t.Context(), db, updateOf("x", "1"), insertOf("y"), kb, updateOf("none", "1"), types.BatchStatementRequest{Statement: new("DELETE FROM tab")}); err != nil {
		t.Fatal(err)
	}

	put(t, db, attributes{"pk": s("z"), "b": s(strings.Repeat("x", 2048))})

	if _, err := execute(t.Context(), db, insertOf("z")); err != nil {
		t.Fatal(err)
	}

	log := db.Requests()

	got := log[0]
	if got.Operation != "BatchExecuteStatement" || got.Table != "" || got.WriteUnits != 3+1+2+1 || !got.Refused || got.Err != nil {
		t.Errorf("got %s", show(got))
	}

	for i, want := range []idemddbtest.Request{
		{Operation: "UPDATE", Table: table, Key: attributes{"pk": s("x")}, Condition: "pk = ? AND a <> 2", Update: "SET a = ?", WriteUnits: 3, Refused: true},
		{Operation: "INSERT", Table: table, Key: attributes{"pk": s("y")}, Update: "{'pk':?}", WriteUnits: 1},
		{Operation: "INSERT", Table: table, Key: attributes{"pk": s("lit")}, Update: "{'pk' : 'lit', 'b' : ?}", WriteUnits: 2},
		{Operation: "UPDATE", Table: table, Key: attributes{"pk": s("none")}, Condition: "pk = ? AND a <> 2", Update: "SET a = ?", WriteUnits: 1, Refused: true},
		{Operation: "DELETE"},
	} {
		part := got.Items[i]
		if failed := part.Err != nil; failed != (want.Refused || want.Operation == "DELETE") {
			t.Errorf("%d: got error %v", i, part.Err)
		}

		if part.Err = nil; show(part) != show(want) {
			t.Errorf("%d: got %s, want %s", i, show(part), show(want))
		}
	}

	if got := log[2].Items[0]; got.WriteUnits != 3 || !got.Refused || !isType[*types.DuplicateItemException](got.Err) {
		t.Errorf("got %s, want an INSERT to cost what its item does", show(got))
	}
}

// A read is charged for what it reads, consistently or not, also where it finds nothing. A transaction in flight does not keep it
// from reading what was there before.
func TestASelectReadsAnItem(t *testing.T) {
	t.Parallel()

	db := openDB(t, nil)
	put(t, db, attributes{"pk": s("large"), "a": s(strings.Repeat("x", 5<<10))})
	put(t, db, attributes{"pk": s("small"), "a": s("x")})

	in := &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{Delete: &types.Delete{TableName: new(table), Key: attributes{"pk": s("small")}}}}}
	if _, err := db.Begin(in); err != nil {
		t.Fatal(err)
	}

	read := func(key string, consistent *bool) types.BatchStatementRequest {
		return types.BatchStatementRequest{
			Statement:  new(`SELECT * FROM "tab" WHERE "pk" = ?`), //nolint:unqueryvet // DynamoDB reads items whole
			Parameters: list(s(key)), ConsistentRead: consistent,
		}
	}

	db.ResetRequests()

	out, err := db.BatchExecuteStatement(t.Context(), &dynamodb.BatchExecuteStatementInput{Statements: []types.BatchStatementRequest{
		read("large", new(true)), read("none", new(true)), read("small", nil),
	}})
	if err != nil {
		t.Fatal(err)
	}

	for i, want := range []int{2, 0, 2} {
		if r := out.Responses[i]; r.Error != nil || len(r.Item) != want || *r.TableName != "tab" {
			t.Errorf("%d: got %s, want an item of %d attributes", i, show(r), want)
		}
	}

	log := db.Requests()[0]
	if log.ReadUnits != 3.5 || log.WriteUnits != 0 || log.Items[0].ReadUnits != 2 || log.Items[0].Operation != "SELECT" || log.Items[0].Key["pk"] == nil {
		t.Errorf("got %s", show(log))
	}

	db.Inject(idemddbtest.AccessDenied)

	_, err = execute(t.Context(), db, read("small", nil))
	if err == nil || !strings.Contains(err.Error(), "dynamodb:PartiQLSelect") {
		t.Errorf("got %v, want a denial of dynamodb:PartiQLSelect", err)
	}
}

func TestWhatStatementsDoNotSupport(t *testing.T) {
	t.Parallel()

	db := openDB(t, nil)
	for text, want := range map[string]string{
		"SELECT a FROM tab WHERE pk = 'x'":                                     "a SELECT of other than *",
		"SELECT * FROM tab":                                                    "a SELECT without WHERE",
		"SELECT * FROM tab WHERE pk > 'x'":                                     "a condition beside its key",
		"SELECT * tab WHERE pk = 'x'":                                          "well formed",
		"SELECT * FROM tab WHERE pk = 'x' OR pk = 'y'":                         "a condition beside its key",
		"SELECT * FROM tab WHERE pk = 'x' AND a > 1":                           "a condition beside its key",
		"SELECT * FROM tab WHERE pk = 'x' ORDER BY pk":                         "well formed",
		"DELETE FROM tab WHERE pk = 'x'":                                       "DELETE",
		"EXISTS(SELECT * FROM tab WHERE pk = 'x')":                             "EXISTS",
		"UPDATE tab SET a = if_not_exists(a, 1) WHERE pk = 'x'":                "if_not_exists",
		"UPDATE tab SET a.b = 1 WHERE pk = 'x'":                                "a path into a document",
		"UPDATE tab SET a = (1) WHERE pk = 'x'":                                "an operand in parentheses",
		"UPDATE tab.i SET a = 1 WHERE pk = 'x'":                                "an index",
		"UPDATE tab SET a = 1 WHERE pk = 'x' AND contains(a, 'x')":             "contains",
		"UPDATE tab SET a = 1 WHERE pk = 'x' AND a BETWEEN 1 AND 2":            "BETWEEN",
		"UPDATE tab SET a = 1 WHERE pk = 'x' AND a IS NULL":                    "IS NULL",
		"UPDATE tab SET a = 1 WHERE pk = 'x' RETURNING ALL NEW *":              "RETURNING",
		"UPDATE tab SET a = 1 WHERE pk = 'x' AND status = 1":                   "quoted",
		"UPDATE tab SET a = 1.5 WHERE pk = 'x'":                                "well formed",
		"UPDATE tab SET a = 1 WHERE pk = 'x' AND a = 1 -- no":                  "well formed",
		"UPDATE tab SET a = 1 WHERE pk = 'x' AND attribute_exists(a, b)":       "operands",
		"UPDATE tab SET a = 1 WHERE pk = 'x' AND attribute_exists(NOT b)":      "quoted",
		"INSERT tab VALUE {'pk':'x'}":                                          "well formed",
		"INSERT INTO tab VALUE {'pk':a}":                                       "well formed",
		"INSERT INTO tab VALUE {'pk':'x','n':" + strings.Repeat("1", 39) + "}": "well formed",
		"INSERT INTO tab VALUE ?":                                              "well formed",
		"INSERT INTO tab VALUE {'':'x'}":                                       "empty",
		"UPDATE tab SET a 1 WHERE pk = 'x'":                                    "well formed",
		"UPDATE tab SET a = 1 WITH pk = 'x'":                                   "well formed",
		"UPDATE tab SET a = 1 WHERE pk":                                        "well formed",
		"UPDATE tab SET a = 1 WHERE (pk = 'x'":                                 "well formed",
		"UPDATE 'tab' SET a = 1 WHERE pk = 'x'":                                "well formed",
		"UPDATE tab SET a = 1 WHERE pk = 'x' ;":                                "well formed",
	} {
		got, err := execute(t.Context(), db, types.BatchStatementRequest{Statement: &text})
		if err != nil || got[0].Code != erroneous || !strings.Contains(got[0].Message, want) || got[0].Table != "" {
			t.Errorf("%s: got %s, %v, want %q", text, show(got), err, want)
		}
	}

	_, err := db.BatchExecuteStatement(t.Context(), &dynamodb.BatchExecuteStatementInput{Statements: []types.BatchStatementRequest{
		{Statement: insertOf("x").Statement, Parameters: list(s("x")), ReturnValuesOnConditionCheckFailure: "ALL_NEW"},
	}})
	if api, ok := errors.AsType[smithy.APIError](err); !ok || api.ErrorCode() != invalid {
		t.Errorf("got %v, want it refused as invalid", err)
	}
}

func TestStatementsShareNothingWithTheCaller(t *testing.T) {
	t.Parallel()
	db := openDB(t, nil)
	inner := list(s("a"))

	st := types.BatchStatementRequest{
		Statement: new("INSERT INTO tab VALUE {'pk':'x','l':?}"), Parameters: list(&types.AttributeValueMemberL{Value: inner}),
	}
	if _, err := execute(t.Context(), db, st); err != nil {
		t.Fatal(err)
	}

	want := db.Item(table, attributes{"pk": s("x")})
	inner[0] = s("changed")

	got, err := db.BatchExecuteStatement(t.Context(), &dynamodb.BatchExecuteStatementInput{Statements: []types.BatchStatementRequest{updateOf("x", "1")}})
	if err != nil {
		t.Fatal(err)
	}

	got.Responses[0].Item["l"].(*types.AttributeValueMemberL).Value[0] = s("changed")
	db.Requests()[1].Items[0].Key["pk"].(*types.AttributeValueMemberS).Value = "changed"
	now := db.Item(table, attributes{"pk": s("x")})
	delete(now, "a")

	if !reflect.DeepEqual(now, want) {
		t.Errorf("got %s, want %s", show(now), show(want))
	}
}
