package idemddbtest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

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
