package engine_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/smithy-go"
)

// Both add to one item, so that the second waits for the first when each is sent alone, and its time ends meanwhile.
func TestARefusalOfATransactionOfSeveralKeysIsNoAnswerToOneOfThem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := &client{answers: []answer{refuses("ValidationException")}, takes: time.Millisecond}
		e, _ := engineOn(db)

		first, second := writeOf("1", recorded(), "sum"), writeOf("2", recorded(), "sum")
		second.End = time.Now().Add(2 * time.Millisecond)

		first.Joint.Items[0].As, second.Joint.Items[0].As = "sum", "sum"

		errs := together(t, e, first, second)
		if _, isAnswer := errors.AsType[smithy.APIError](errs[1]); errs[0] != nil || errs[1] == nil || isAnswer {
			t.Errorf("got %v and %v after transactions of %v items", errs[0], errs[1], db.sizes)
		}
	})
}
