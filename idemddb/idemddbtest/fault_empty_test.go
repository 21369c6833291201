package idemddbtest_test

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// An empty answer is a success without content by each way into the DB, whether its write was lost, applied or refused.
func TestAnEmptyAnswerIsASuccessWithoutContent(t *testing.T) {
	t.Parallel()

	for _, fault := range []idemddbtest.Fault{idemddbtest.EmptyAnswer, idemddbtest.EmptyAnswerApplied} {
		for way, open := range ways {
			for operation, write := range emptyAnswers {
				t.Run(fmt.Sprintf("%s of %s by %s", fault, operation, way), func(t *testing.T) {
					t.Parallel()

					db := openDB(t, nil)
					for _, refused := range []bool{false, true} {
						db.Inject(fault)

						if content, err := write(t, open(t, db)); content != nil || err != nil {
							t.Errorf("refused %t: got %v, %v, want an answer without content", refused, content, err)
						}

						if got, want := len(db.Items(table)) == 1, refused || fault == idemddbtest.EmptyAnswerApplied; got != want {
							t.Errorf("refused %t: got an item: %t, want %t", refused, got, want)
						}

						put(t, db, attributes{"pk": s("x")}) // the next write is refused
					}
				})
			}
		}
	}
}

// emptyAnswers write the key "x" if it is new, and return what the answer carries.
var emptyAnswers = map[string]func(*testing.T, calls) (content any, err error){
	"UpdateItem": func(t *testing.T, c calls) (any, error) {
		t.Helper()

		out, err := c.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: new(table), Key: attributes{"pk": s("x")}, ConditionExpression: new("attribute_not_exists(pk)"),
			ReturnValues: allNew, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		})

		return carried(out, err, err == nil && (out.Attributes != nil || out.ConsumedCapacity != nil))
	},
	"PutItem": func(t *testing.T, c calls) (any, error) {
		t.Helper()

		out, err := c.PutItem(t.Context(), &dynamodb.PutItemInput{
			TableName: new(table), Item: attributes{"pk": s("x")}, ConditionExpression: new("attribute_not_exists(pk)"),
			ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		})

		return carried(out, err, err == nil && out.ConsumedCapacity != nil)
	},
	"TransactWriteItems": func(t *testing.T, c calls) (any, error) {
		t.Helper()

		in := transaction("x")
		in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
		in.TransactItems[0].Update.ConditionExpression = new("attribute_not_exists(pk)")
		delete(in.TransactItems[0].Update.ExpressionAttributeValues, ":ten")

		out, err := c.TransactWriteItems(t.Context(), in)

		return carried(out, err, err == nil && out.ConsumedCapacity != nil)
	},
}

// carried is an answer that has something, else nil.
func carried(out any, err error, has bool) (any, error) {
	if !has {
		return nil, err
	}

	return out, err
}
