package contract

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
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
		{"a client answers nil", func(db *idemddbtest.DB) Engine { return nilAnswers{db} }, []string{newKey, newKeyBatch}},
		{"no condition is ever refused", func(db *idemddbtest.DB) Engine { return unconditional{db} }, []string{held, fencing}},
		{"the capacity is not in the answer", func(db *idemddbtest.DB) Engine { return withoutCapacity{db} }, []string{cost}},
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

	db := idemddbtest.New(nil)
	if _, err := db.CreateTable(t.Context(), tab.schema); err != nil {
		t.Fatal(err)
	}

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

// nilAnswers answers every call with neither an output nor an error.
type nilAnswers struct{ *idemddbtest.DB }

func (nilAnswers) UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return nil, nil
}

func (nilAnswers) PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return nil, nil
}

func (nilAnswers) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return nil, nil
}

func (nilAnswers) BatchExecuteStatement(
	context.Context, *dynamodb.BatchExecuteStatementInput, ...func(*dynamodb.Options),
) (*dynamodb.BatchExecuteStatementOutput, error) {
	return nil, nil
}

// unconditional applies every single write, and answers every statement with success.
type unconditional struct{ *idemddbtest.DB }

func (e unconditional) UpdateItem(
	ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	changed := *in
	changed.ConditionExpression = alwaysTrue(in.ConditionExpression)

	return e.DB.UpdateItem(ctx, &changed, opts...)
}

func (e unconditional) PutItem(
	ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options),
) (*dynamodb.PutItemOutput, error) {
	changed := *in
	changed.ConditionExpression = alwaysTrue(in.ConditionExpression)

	return e.DB.PutItem(ctx, &changed, opts...)
}

func (e unconditional) BatchExecuteStatement(
	ctx context.Context, in *dynamodb.BatchExecuteStatementInput, opts ...func(*dynamodb.Options),
) (*dynamodb.BatchExecuteStatementOutput, error) {
	out, err := e.DB.BatchExecuteStatement(ctx, in, opts...)
	if err != nil {
		return nil, err
	}

	for i := range out.Responses {
		out.Responses[i].Error = nil
	}

	return out, nil
}

// alwaysTrue keeps the names and values of a condition, and adds what makes it true.
func alwaysTrue(condition *string) *string {
	if condition == nil {
		return nil
	}

	return new("attribute_exists(st) OR attribute_not_exists(st) OR " + *condition)
}

// withoutCapacity never says what a write consumed.
type withoutCapacity struct{ *idemddbtest.DB }

func (e withoutCapacity) UpdateItem(
	ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	out, err := e.DB.UpdateItem(ctx, in, opts...)
	if err == nil {
		out.ConsumedCapacity = nil
	}

	return out, err
}
