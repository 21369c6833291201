package contract

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/around"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
)

// TestWrongEnginesFailTheContract runs every case on engines with one fault each. That the test ends at all shows that no case
// panics: a panic on any goroutine would end the process. Under -short it runs only the cases that it names, so the run without
// -short alone shows that none of the others panics.
func TestWrongEnginesFailTheContract(t *testing.T) {
	t.Parallel()

	const (
		newKey      = "a new key is claimed, and the record says so before the work begins"
		newKeyBatch = "batch: a new key is claimed, and the record says so before the work begins"
		fencing     = "no write of a worker that lost its claim changes the record: held by another, completed, failed, released"
		held        = "a key that is held is refused with the end of its lease, and nothing is written"
		cost        = "a record without a result stays below 1 KB, so that a write costs 1 WCU"
		inBatch     = "batch: settling answers and writes what it does alone, whatever became of the claim"
	)

	for _, c := range []struct {
		fault  string
		engine func(*idemddbtest.DB) Engine
		fails  []string // cases that fail, among others
	}{
		{"UpdateItem is answered with nothing, and not applied", faulty("UpdateItem", idemddbtest.EmptyAnswer), []string{newKey, held}},
		{"UpdateItem is answered with nothing, and applied", faulty("UpdateItem", idemddbtest.EmptyAnswerApplied), []string{fencing}},
		{"UpdateItem is throttled", faulty("UpdateItem", idemddbtest.Throttle), []string{newKey}},
		{"UpdateItem is denied", faulty("UpdateItem", idemddbtest.AccessDenied), []string{newKey}},
		{"UpdateItem is never answered", faulty("UpdateItem", idemddbtest.LateReply), []string{newKey}},
		{"UpdateItem is refused without the item", faulty("UpdateItem", idemddbtest.ConditionWithoutItem), []string{held, fencing}},
		{"statements are refused without the item", faulty("BatchExecuteStatement", idemddbtest.ConditionWithoutItem), []string{inBatch}},
		{"a response is missing", faulty("BatchExecuteStatement", idemddbtest.MissingResponse), []string{inBatch}},
		{"all responses are missing", faulty("BatchExecuteStatement", idemddbtest.EmptyAnswerApplied), []string{inBatch}},
		{"nothing can be read", faulty("GetItem", idemddbtest.Throttle), []string{newKey, newKeyBatch, fencing}},
		{"a read answers nothing", faulty("GetItem", idemddbtest.EmptyAnswer), []string{newKey, newKeyBatch}},
		{"a client answers nil", altered(nilAnswers), []string{newKey, newKeyBatch}},
		{"no condition is ever refused", altered(unconditional), []string{held, fencing}},
		{"the capacity is not in the answer", altered(around.After(func(out *dynamodb.UpdateItemOutput) { out.ConsumedCapacity = nil })), []string{cost}},
	} {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ran := cases
				if testing.Short() {
					ran = slices.DeleteFunc(slices.Clone(cases), func(one testCase) bool { return !slices.Contains(c.fails, one.name) })
				}

				failed := failures(t, c.engine, ran)
				t.Logf("%d of %d cases fail", len(failed), len(ran))

				if len(failed) == 0 {
					t.Error("no case fails")
				}

				for _, name := range c.fails {
					if !slices.Contains(failed, name) {
						t.Errorf("this case does not fail: %s", name)
					}
				}
			})
		})
	}
}

// TestTheRightEngineFailsNoCase shows that it is the faults that are reported.
func TestTheRightEngineFailsNoCase(t *testing.T) {
	t.Parallel()

	all := slices.DeleteFunc(slices.Clone(cases), func(c testCase) bool { return c.costly && testing.Short() })

	synctest.Test(t, func(t *testing.T) {
		if failed := failures(t, func(db *idemddbtest.DB) Engine { return db }, all); len(failed) > 0 {
			t.Errorf("failed: %q", failed)
		}
	})
}

// failures runs cases on an engine, and returns the names of those that fail.
func failures(t *testing.T, engine func(*idemddbtest.DB) Engine, cases []testCase) (failed []string) {
	t.Helper()

	tab := tables()[0]

	db := audited.Tables(t, nil, tab.schema)

	for _, c := range cases {
		if reported := c.run(t, engine(db), tab); len(reported) > 0 {
			failed = append(failed, c.name)
		}
	}

	return failed
}

// faulty returns an engine on which one operation always has a fault.
func faulty(operation string, fault idemddbtest.Fault) func(*idemddbtest.DB) Engine {
	return func(db *idemddbtest.DB) Engine {
		db.Intercept(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
			if r.Operation == operation {
				return fault
			}

			return idemddbtest.None
		})

		return db
	}
}

// altered returns an engine with a function in place of each request.
func altered(do around.Func) func(*idemddbtest.DB) Engine {
	return func(db *idemddbtest.DB) Engine { return &around.Client{DB: db, Do: do} }
}

// nilAnswers answers every call of a Store without effects with neither an output nor an error.
func nilAnswers(ctx context.Context, in any, send around.Send) (any, error) {
	if _, isTransaction := in.(*dynamodb.TransactWriteItemsInput); isTransaction {
		return send(ctx, in)
	}

	return nil, nil
}

// unconditional applies every single write, and answers every statement with success.
func unconditional(ctx context.Context, in any, send around.Send) (any, error) {
	switch sent := in.(type) {
	case *dynamodb.UpdateItemInput:
		changed := *sent
		changed.ConditionExpression = alwaysTrue(sent.ConditionExpression)
		in = &changed
	case *dynamodb.PutItemInput:
		changed := *sent
		changed.ConditionExpression = alwaysTrue(sent.ConditionExpression)
		in = &changed
	}

	out, err := send(ctx, in)
	if answer, isShared := out.(*dynamodb.BatchExecuteStatementOutput); isShared && err == nil {
		for i := range answer.Responses {
			answer.Responses[i].Error = nil
		}
	}

	return out, err
}

// alwaysTrue keeps the names and values of a condition, and adds what makes it true.
func alwaysTrue(condition *string) *string {
	if condition == nil {
		return nil
	}

	return new("attribute_exists(st) OR attribute_not_exists(st) OR " + *condition)
}
