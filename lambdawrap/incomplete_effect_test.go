package lambdawrap_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
)

// The SDK does not send a transaction that lacks a required expression. Its error would count as no answer, for all messages of
// the transaction.
func TestAnEffectThatTheSDKDoesNotSendFailsItsOwnMessage(t *testing.T) {
	t.Parallel()

	for name, effect := range map[string]types.TransactWriteItem{
		"an update of nothing": {Update: &types.Update{TableName: new("counts"), Key: recordKey("a")}},
		"a check of nothing":   {ConditionCheck: &types.ConditionCheck{TableName: new("counts"), Key: recordKey("a")}},
	} {
		each(t, name, claimedAndOptimistic(bothModes), func(h *harness) {
			h.store = h.open(h.db.Client(), nil)

			function := h.handle(func(ctx context.Context, m events.SQSMessage) error {
				if m.Body != "k1" {
					return counting(ctx, m)
				}

				err := idemddb.Stage(ctx, idemddb.Effects{Items: []types.TransactWriteItem{effect}})
				if !errors.Is(err, idemddb.ErrBadEffects) {
					h.Errorf("got %v, want ErrBadEffects", err)
				}

				return err
			})

			h.answeredIn(10*time.Second, function, numbered(3), "m1")
			h.equal("committed", h.counted("k0")+h.counted("k2"), "11")
		})
	}
}
