package idemddbtest

import (
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// refusal is the error with which the service answers a request with this fault and applies nothing; nil for other faults.
func (f Fault) refusal(r Request) error {
	switch f {
	case Throttle:
		return &types.ProvisionedThroughputExceededException{Message: new("The level of configured provisioned throughput for the table was exceeded")}
	case ThrottleAccount:
		return &types.ThrottlingException{Message: new("Rate of requests exceeds the allowed throughput")}
	case ServerError:
		return errServer()
	case AccessDenied:
		return &smithy.GenericAPIError{Code: "AccessDeniedException", Message: "User is not authorized to perform: dynamodb:" + r.action()}
	case TransactionConflict:
		return r.conflict()
	case TransactionInProgress:
		return &types.TransactionInProgressException{Message: new("The transaction with the given request token is already in progress")}
	case ReplicatedWriteConflict:
		return &types.ReplicatedWriteConflictException{Message: new("Another Region is writing this item")}
	}

	return nil
}

// statementRefusal is the error in the response to a statement with this fault; nil for a fault that applies it.
func (f Fault) statementRefusal(r Request) error {
	switch f {
	case None, ServerErrorApplied, ConditionWithoutItem:
		return nil
	case Throttle, ThrottleAccount, ServerError, AccessDenied, TransactionConflict:
		return f.refusal(r)
	}

	return invalid("idemddbtest: %s is not a fault of a statement", f)
}

// action is the IAM action that the request needs. A call of statements needs the action of each; the first one is denied.
func (r Request) action() string {
	switch r.Operation {
	case "BatchExecuteStatement":
		if len(r.Items) > 0 {
			return r.Items[0].action()
		}
	case "INSERT":
		return "PartiQLInsert"
	case "UPDATE":
		return "PartiQLUpdate"
	}

	return r.Operation
}

// conflict is the error of a request whose item another transaction holds. A call of statements has none: its first statement has it.
func (r Request) conflict() error {
	switch r.Operation {
	case "TransactWriteItems":
		return errTransactionConflict(len(r.Items))
	case "BatchExecuteStatement":
		return nil
	}

	return &types.TransactionConflictException{Message: new("Transaction is ongoing for the item")}
}

func errTransactionConflict(parts int) error {
	reasons := make([]types.CancellationReason, parts)
	for i := range reasons {
		reasons[i].Code = new("None")
	}

	if parts > 0 {
		reasons[0] = types.CancellationReason{Code: new("TransactionConflict"), Message: new("Transaction is ongoing for the item")}
	}

	return &types.TransactionCanceledException{
		Message:             new("Transaction cancelled, please refer cancellation reasons for specific reasons [TransactionConflict]"),
		CancellationReasons: reasons,
	}
}

func errServer() error { return &types.InternalServerError{Message: new("Internal server error")} }

// stripItem takes the items out of a refusal.
func stripItem(err error) {
	if e, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		e.Item = nil
	}

	if e, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		for i := range e.CancellationReasons {
			e.CancellationReasons[i].Item = nil
		}
	}
}
