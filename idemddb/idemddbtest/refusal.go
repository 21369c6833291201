package idemddbtest

import (
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/exception"
)

// refusal is the error with which the service answers a request with this fault and applies nothing; nil for other faults.
func (f Fault) refusal(r Request) error {
	switch f {
	case Throttle:
		return exception.ThroughputExceeded()
	case ThrottleAccount:
		return exception.Throttled()
	case ServerError:
		return exception.InternalServer()
	case AccessDenied:
		return &smithy.GenericAPIError{Code: "AccessDeniedException", Message: "User is not authorized to perform: dynamodb:" + r.action()}
	case TransactionConflict:
		return r.conflict()
	case ThrottleReason:
		if r.Operation == transactWrite {
			return nil // the last part of the transaction gets it
		}

		return exception.Throttled()
	case CanceledWithoutReasons:
		if r.Operation == transactWrite {
			return &types.TransactionCanceledException{Message: new("Transaction cancelled")}
		}

		return r.conflict()
	case TransactionInProgress:
		return exception.TransactionInProgress()
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

	return exception.Validation("idemddbtest: %s is not a fault of a statement", f)
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
	case "SELECT":
		return "PartiQLSelect"
	}

	return r.Operation
}

// conflict returns the error of a request whose item another transaction holds. It returns nil for a transaction and for a call
// of statements, because one of their items has the conflict.
func (r Request) conflict() error {
	switch r.Operation {
	case transactWrite, "BatchExecuteStatement":
		return nil
	}

	return exception.Conflict()
}

// reason returns the reason with which a part with this fault cancels its transaction. Its code is None if the fault does not.
func (f Fault) reason() types.CancellationReason {
	switch f {
	case None, ConditionWithoutItem:
		return exception.NoReason()
	case TransactionConflict:
		return exception.ConflictReason()
	case Throttle:
		return exception.ThroughputReason()
	case ThrottleAccount:
		return exception.ThrottledReason()
	}

	return exception.ValidationReason(exception.Validation("idemddbtest: %s is not a fault of a part", f))
}

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
