package idemddbtest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
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

func TestFaultsOfACallOfStatements(t *testing.T) {
	t.Parallel()

	succeeds := func(err error) bool { return err == nil }
	for _, c := range []struct {
		fault   idemddbtest.Fault
		applied int // of two inserts
		is      func(error) bool
	}{
		{idemddbtest.None, 2, succeeds},
		{idemddbtest.EmptyAnswer, 0, succeeds},
		{idemddbtest.EmptyAnswerApplied, 2, succeeds},
		{idemddbtest.MissingResponse, 2, succeeds},
		{idemddbtest.LostRequest, 0, isReset},
		{idemddbtest.LostReply, 2, isReset},
		{idemddbtest.LateRequest, 0, isReset},
		{idemddbtest.TruncatedBody, 2, func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }},
		{idemddbtest.ServerErrorApplied, 2, isType[*types.InternalServerError]},
		{idemddbtest.ServerError, 0, isType[*types.InternalServerError]},
		{idemddbtest.Throttle, 0, isType[*types.ProvisionedThroughputExceededException]},
		{idemddbtest.ThrottleAccount, 0, isType[*types.ThrottlingException]},
		{idemddbtest.ReplicatedWriteConflict, 0, isType[*types.ReplicatedWriteConflictException]},
		{idemddbtest.TransactionConflict, 1, succeeds},
		{idemddbtest.AccessDenied, 0, func(err error) bool {
			return code(err) == "AccessDeniedException" && strings.Contains(err.Error(), "dynamodb:PartiQLInsert")
		}},
	} {
		for way, open := range ways {
			t.Run(fmt.Sprintf("%s by %s", c.fault, way), func(t *testing.T) {
				t.Parallel()
				db := openDB(t, nil)
				client := open(t, db).(batcher)
				db.ResetRequests()
				db.Inject(c.fault)

				got, err := execute(t.Context(), client, insertOf("x"), insertOf("y"))
				if !c.is(err) {
					t.Errorf("got %v", err)
				}

				if got := len(db.Items(table)); got != c.applied {
					t.Errorf("got %d items, want %d", got, c.applied)
				}

				if log := db.Requests(); len(log) != 1 || log[0].Fault != c.fault || len(log[0].Items) != 2 {
					t.Errorf("logged: got %+v", log)
				}

				responses, incomplete := map[idemddbtest.Fault]int{
					idemddbtest.EmptyAnswer: 0, idemddbtest.EmptyAnswerApplied: 0, idemddbtest.MissingResponse: 1,
				}[c.fault]
				if incomplete && len(got) != responses {
					t.Errorf("got %s, want %d responses", show(got), responses)
				}

				if c.fault == idemddbtest.TransactionConflict && (got[0].Code != "TransactionConflict" || got[1].Code != "") {
					t.Errorf("got %s", show(got))
				}
			})
		}
	}
}

func TestALateCallOfStatementsIsAppliedWhenDelivered(t *testing.T) {
	t.Parallel()
	db := openDB(t, nil)
	statements := []types.BatchStatementRequest{insertOf("x"), insertOf("y")}

	db.Inject(idemddbtest.LateRequest)

	if _, err := execute(t.Context(), db, statements...); !isReset(err) {
		t.Errorf("got %v", err)
	}

	statements[0].Parameters[0] = s("changed")
	put(t, db, attributes{"pk": s("y")})

	got := db.Deliver()
	if len(got) != 1 || got[0].Items[0].Err != nil || !isType[*types.DuplicateItemException](got[0].Items[1].Err) || !got[0].Refused {
		t.Errorf("got %s, want the first inserted and the second refused", show(got))
	}

	if got := db.Item(table, attributes{"pk": s("x")}); got == nil {
		t.Error("the input was not copied")
	}
}

func TestFaultsOfAStatement(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		fault   idemddbtest.Fault
		code    string
		says    string
		applied bool
	}{
		{idemddbtest.None, "", "", true},
		{idemddbtest.Throttle, "ProvisionedThroughputExceeded", "", false},
		{idemddbtest.ThrottleAccount, "ThrottlingError", "", false},
		{idemddbtest.ServerError, "InternalServerError", "", false},
		{idemddbtest.ServerErrorApplied, "InternalServerError", "", true},
		{idemddbtest.AccessDenied, "AccessDenied", "dynamodb:PartiQLUpdate", false},
		{idemddbtest.TransactionConflict, "TransactionConflict", "", false},
		{idemddbtest.ConditionWithoutItem, "", "", true},
		{idemddbtest.LostReply, erroneous, "LostReply is not a fault of a statement", false},
	} {
		for way, open := range ways {
			t.Run(fmt.Sprintf("%s by %s", c.fault, way), func(t *testing.T) {
				t.Parallel()
				db := openDB(t, nil)
				client := open(t, db).(batcher)
				put(t, db, attributes{"pk": s("x")})
				db.ResetRequests()
				db.InterceptStatements(func(_ context.Context, st idemddbtest.Request) idemddbtest.Fault {
					if st.Operation == "UPDATE" && reflect.DeepEqual(st.Key, attributes{"pk": s("x")}) {
						return c.fault
					}

					return idemddbtest.None
				})

				got, err := execute(t.Context(), client, insertOf("before"), updateOf("x", "1"), insertOf("after"))
				if err != nil {
					t.Fatal(err)
				}

				if got[0].Code != "" || got[1].Code != c.code || got[2].Code != "" || !strings.Contains(got[1].Message, c.says) || got[1].Table != table {
					t.Errorf("got %s, want code %q of the second", show(got), c.code)
				}

				if (got[1].Item != nil) != (c.code == "") {
					t.Errorf("got item %s beside code %q", show(got[1].Item), got[1].Code)
				}

				if applied := db.Item(table, attributes{"pk": s("x")})["a"] != nil; applied != c.applied || len(db.Items(table)) != 3 {
					t.Errorf("applied: got %v, want %v, and %d items", applied, c.applied, len(db.Items(table)))
				}

				log := db.Requests()[0]
				if log.Fault != "" || log.Items[1].Fault != c.fault || log.Items[0].Fault != "" || (log.Items[1].Err == nil) != c.applied {
					t.Errorf("logged: got %s", show(log))
				}
			})
		}
	}
}

func TestARefusedStatementCanLackItsItem(t *testing.T) {
	t.Parallel()

	for _, ofCall := range []bool{true, false} {
		db := openDB(t, nil)
		put(t, db, attributes{"pk": s("x"), "a": n("2")})

		without := func(context.Context, idemddbtest.Request) idemddbtest.Fault { return idemddbtest.ConditionWithoutItem }
		want := attributes{"pk": s("x"), "a": n("2")}

		for range 2 {
			got, err := execute(t.Context(), db.Client(), updateOf("x", "1"))
			if err != nil || got[0].Code != failed || !reflect.DeepEqual(got[0].Refuser, want) {
				t.Errorf("got %s, %v, want item %s", show(got), err, show(want))
			}

			want = nil

			if ofCall {
				db.Intercept(without)
			} else {
				db.InterceptStatements(without)
			}
		}
	}
}

func TestStatementsAreAskedForOnlyIfTheyAreApplied(t *testing.T) {
	t.Parallel()
	db := openDB(t, nil)

	var asked []string

	db.InterceptStatements(func(_ context.Context, st idemddbtest.Request) idemddbtest.Fault {
		asked = append(asked, fmt.Sprint(st.Operation, " ", st.Key["pk"].(*types.AttributeValueMemberS).Value))

		return idemddbtest.Throttle
	})
	db.Inject(idemddbtest.Throttle, idemddbtest.LostRequest, idemddbtest.LateRequest, idemddbtest.TransactionConflict)

	for range 4 {
		_, _ = execute(t.Context(), db, insertOf("x"), updateOf("y", "1"))
	}

	if want := []string{"INSERT x", "UPDATE y"}; !reflect.DeepEqual(asked, want) {
		t.Errorf("got %q, want %q", asked, want)
	}

	if got := db.Deliver(); got[0].Items[0].Err != nil || got[0].Items[0].Fault != "" {
		t.Errorf("delivered: got %s", show(got))
	}

	if err := putX(t.Context(), db); err != nil {
		t.Errorf("another operation: got %v", err)
	}

	ctx, cancel := context.WithCancel(t.Context())

	db.InterceptStatements(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
		cancel()

		return idemddbtest.None
	})

	if _, err := execute(ctx, db, insertOf("z")); !errors.Is(err, context.Canceled) || db.Item(table, attributes{"pk": s("z")}) != nil {
		t.Errorf("canceled while held: got %v", err)
	}

	db.InterceptStatements(nil)

	if got, err := execute(t.Context(), db, insertOf("z")); err != nil || got[0].Code != "" {
		t.Errorf("removed: got %s, %v", show(got), err)
	}
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

func TestWhatStatementsDoNotSupport(t *testing.T) {
	t.Parallel()

	db := openDB(t, nil)
	for text, want := range map[string]string{
		"SELECT * FROM tab WHERE pk = 'x'":                                     "SELECT",
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

// BenchmarkStatements is 25 claims of one call: parsed once, applied each time.
func BenchmarkStatements(b *testing.B) {
	db := openDB(b, nil)

	var statements []types.BatchStatementRequest

	for i := range 25 {
		put(b, db, attributes{"pk": n0(i), "v": n("1"), "fence": n("1"), "lease": n("0"), "st": s("INPROGRESS")})
		statements = append(statements, types.BatchStatementRequest{
			Statement:  new(`UPDATE "tab" SET "v" = ? SET "fence" = "fence" + ? SET "prev" = "lease" REMOVE "fp" REMOVE "err" WHERE "pk" = ? AND ("v" = ? AND "st" = ? AND "lease" < ? AND ("fp" IS MISSING OR "fp" = ?)) RETURNING ALL OLD *`),
			Parameters: list(n("1"), n("1"), n0(i), n("1"), s("INPROGRESS"), n("5"), s("one")),
		})
	}

	for b.Loop() {
		db.ResetRequests() // the log would grow with each iteration

		if got, err := execute(b.Context(), db, statements...); err != nil || got[24].Code != "" {
			b.Fatal(show(got), err)
		}
	}
}

func n0(i int) types.AttributeValue { return s(fmt.Sprint("key-", i)) }
