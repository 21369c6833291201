package wire_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/wire"
)

// transactor gives this answer to a transaction.
type transactor struct {
	out *dynamodb.TransactWriteItemsOutput
	err error
}

func (t transactor) TransactWriteItems(
	context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	return t.out, t.err
}

func TestWhatAnAnswerSaysOfItsTransaction(t *testing.T) {
	t.Parallel()

	done := &dynamodb.TransactWriteItemsOutput{ConsumedCapacity: make([]types.ConsumedCapacity, 1)}
	cancelled := &types.TransactionCanceledException{CancellationReasons: make([]types.CancellationReason, 1)}
	running, used := &types.TransactionInProgressException{}, &types.IdempotentParameterMismatchException{}

	for name, c := range map[string]struct {
		answer  transactor
		outcome protocol.Outcome
		isSpent bool
		err     error
	}{
		"it was applied":                 {transactor{done, nil}, protocol.Applied, false, nil},
		"an answer without content":      {transactor{&dynamodb.TransactWriteItemsOutput{}, nil}, protocol.Unknown, true, protocol.ErrNoContent},
		"neither an answer nor an error": {transactor{nil, nil}, protocol.Unknown, true, protocol.ErrNoContent},
		"an answer and an error":         {transactor{done, io.EOF}, protocol.Unknown, false, io.EOF},
		"it was cancelled":               {transactor{nil, cancelled}, protocol.Refused, true, nil},
		"the token was used before":      {transactor{nil, used}, protocol.Unknown, true, protocol.ErrNoContent},
		"an earlier try is in progress":  {transactor{nil, running}, protocol.Unprocessed, false, running},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			got := wire.Transact(t.Context(), c.answer, &dynamodb.TransactWriteItemsInput{})
			if got.Outcome != c.outcome || got.IsTokenSpent != c.isSpent || !errors.Is(got.Err, c.err) || got.IsInProgress != (c.err == error(running)) {
				t.Errorf("got %+v, want outcome %d, a spent token %t, error %v", got, c.outcome, c.isSpent, c.err)
			}

			if len(got.Reasons) > 0 != (name == "it was cancelled") {
				t.Errorf("%d reasons", len(got.Reasons))
			}
		})
	}
}
