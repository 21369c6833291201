package wire

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/idemddb/go-idemddb/internal/protocol"
)

// Transactor is what [Transact] needs of a client; *dynamodb.Client has it.
type Transactor interface {
	TransactWriteItems(
		ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options),
	) (*dynamodb.TransactWriteItemsOutput, error)
}

// Transacted is the answer to one try of a transaction.
type Transacted struct {
	Outcome protocol.Outcome           // Refused, without an Err, if it was cancelled
	Reasons []types.CancellationReason // of a cancelled one, as they came
	Err     error                      // nil if it was applied or cancelled

	// IsTokenSpent says that the next try must not have the token of this one: the token has an answer, or it is not known whose.
	IsTokenSpent bool

	IsInProgress bool // DynamoDB works on an earlier try with the same token
}

// Transact makes one request. It must ask for the consumed capacity, because an answer without any content proves nothing.
func Transact(
	ctx context.Context, api Transactor, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options),
) Transacted {
	out, err := api.TransactWriteItems(ctx, in, opts...)

	if err == nil && out != nil && len(out.ConsumedCapacity) > 0 {
		return Transacted{}
	}

	if err == nil {
		return Transacted{Outcome: protocol.Unknown, Err: protocol.ErrNoContent, IsTokenSpent: true}
	}

	if cancelled, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		return Transacted{Outcome: protocol.Refused, Reasons: cancelled.CancellationReasons, IsTokenSpent: true}
	}

	// The token was used before, for another transaction, so the answer does not say what became of this one. The chain of the error
	// ends here: OutcomeOf and IsTransient would read the code of the SDK's error as Rejected, which means that nothing was written.
	if api, ok := errors.AsType[smithy.APIError](err); ok && api.ErrorCode() == "IdempotentParameterMismatchException" {
		return Transacted{
			Outcome: protocol.Unknown, Err: fmt.Errorf("%w: %s", protocol.ErrNoContent, api.ErrorMessage()), IsTokenSpent: true,
		}
	}

	return Transacted{Outcome: OutcomeOf(err), Err: err, IsInProgress: Code(err) == "TransactionInProgressException"}
}
