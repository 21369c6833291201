package exception

import (
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

const (
	isOngoing    = "Transaction is ongoing for the item"
	overProvided = "The level of configured provisioned throughput for the table was exceeded"
	overCapacity = "Throughput exceeds the current capacity of your table or index"
)

const none = "None"

// NoReason returns the reason of a write that does not cancel its transaction.
func NoReason() types.CancellationReason { return types.CancellationReason{Code: new(none)} }

// IsReason reports whether a reason cancels its transaction.
func IsReason(reason types.CancellationReason) bool { return *reason.Code != none }

// ConditionReason returns the reason of a write whose condition does not hold. The item is nil if the request does not ask for
// it.
func ConditionReason(it map[string]types.AttributeValue) types.CancellationReason {
	reason := reasonOf("ConditionalCheckFailed", "The conditional request failed")
	reason.Item = it

	return reason
}

// ConflictReason returns the reason of a write whose item another transaction holds.
func ConflictReason() types.CancellationReason { return reasonOf("TransactionConflict", isOngoing) }

// ThroughputReason returns the reason of a write whose partition has no units left.
func ThroughputReason() types.CancellationReason {
	return reasonOf("ProvisionedThroughputExceeded", overProvided)
}

// ThrottledReason returns the reason of a write that exceeds the capacity of its table.
func ThrottledReason() types.CancellationReason { return reasonOf("ThrottlingError", overCapacity) }

// ValidationReason returns the reason of a write that does not fit its item.
func ValidationReason(err error) types.CancellationReason {
	if api, ok := errors.AsType[*smithy.GenericAPIError](err); ok {
		return reasonOf("ValidationError", api.Message)
	}

	return reasonOf("ValidationError", err.Error())
}

func reasonOf(code, message string) types.CancellationReason {
	return types.CancellationReason{Code: &code, Message: &message}
}

// Canceled returns the error of a transaction that these reasons cancel, one for each of its writes.
func Canceled(reasons []types.CancellationReason) error {
	codes := make([]string, len(reasons))
	for i, reason := range reasons {
		codes[i] = *reason.Code
	}

	return &types.TransactionCanceledException{
		Message:             new("Transaction cancelled, please refer cancellation reasons for specific reasons [" + strings.Join(codes, ", ") + "]"),
		CancellationReasons: reasons,
	}
}
