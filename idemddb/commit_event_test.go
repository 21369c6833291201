package idemddb_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
)

// A commit that was not made has one event, which says why. An alarm on unanswered claims must not go off for a refused
// condition.
func TestACommitHasOneEvent(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		fault     idemddbtest.Fault // of all requests
		condition string            // of the staged item
		want      []idemddb.Kind
	}{
		"committed":                {idemddbtest.None, "attribute_not_exists(pk)", []idemddb.Kind{idemddb.KindCompleted}},
		"its condition was false":  {idemddbtest.None, "attribute_exists(pk)", []idemddb.Kind{idemddb.KindEffectRefused}},
		"DynamoDB does not answer": {idemddbtest.LostReply, "attribute_not_exists(pk)", []idemddb.Kind{idemddb.KindUncommitted}},
		"DynamoDB throttles it":    {idemddbtest.Throttle, "attribute_not_exists(pk)", []idemddb.Kind{idemddb.KindUncommitted}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			synctest.Test(t, func(t *testing.T) {
				db := audited.Tables(t, nil, idemddbtest.CreateTable("records", ""))

				var got []idemddb.Kind

				store, err := idemddb.New(db, "records", "payments", &idemddb.Options{Observe: func(_ context.Context, e idemddb.Event) {
					if e.Kind != idemddb.KindRetried {
						got = append(got, e.Kind)
					}

					if e.Kind == idemddb.KindCompleted && e.Attempt != 1 {
						t.Errorf("attempt %d of work that was never claimed, want 1", e.Attempt)
					}
				}})
				if err != nil {
					t.Fatal(err)
				}

				db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault { return test.fault })

				_, _ = store.Commit(t.Context(), "p-1", nil, nil, idemddb.Effects{Items: []types.TransactWriteItem{{Put: &types.Put{
					TableName:           aws.String("records"),
					Item:                map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "entry"}},
					ConditionExpression: &test.condition,
				}}}})

				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
			})
		})
	}
}
